package mapping_test

import (
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/provider/connector"
	"orgops/shared/provider/mapping"
	"orgops/shared/testkit/errtest"
)

// TestGuide runs every example of the guide: a mapping with a payload and the actions that it gives, and a mapping that is
// refused with its problems.
func TestGuide(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("README.md")
	errtest.Must(t, err)
	blocks := regexp.MustCompile("(?s)```json (\\w+)\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	current, run := map[string]string{}, 0
	for _, block := range blocks {
		kind, content := block[1], block[2]
		switch kind {
		case "mapping":
			current = map[string]string{"config": current["config"]}
		case "actions":
			run++
			guideActions(t, current, content)
		case "problems":
			run++
			_, err := mapping.Parse(json.RawMessage(current["refused"]))
			wantJSON(t, content, problemsOf(t, err))
		}
		current[kind] = content
	}
	if run != 5 {
		t.Errorf("ran %d examples, want 5", run)
	}
}

// guideActions applies an example's mapping to its payload and compares the actions.
func guideActions(t *testing.T, example map[string]string, want string) {
	t.Helper()
	m, err := mapping.Parse(json.RawMessage(example["mapping"]))
	errtest.Must(t, err)
	given, headers := map[string]string{}, http.Header{}
	if example["headers"] != "" {
		errtest.Must(t, json.Unmarshal([]byte(example["headers"]), &given))
	}
	for name, value := range given {
		headers.Set(name, value)
	}
	payload, err := mapping.Payload([]byte(example["payload"]))
	errtest.Must(t, err)
	matches, err := m.Apply(t.Context(), mapping.Arrival{Header: headers, Payload: payload, Config: json.RawMessage(example["config"])})
	errtest.Must(t, err)
	all := []map[string]any{}
	for _, a := range mapping.Actions(matches) {
		all = append(all, shown(t, a))
	}
	wantJSON(t, want, all)
}

// shown returns an action's fields as the guide shows them.
func shown(t *testing.T, a connector.Action) map[string]any {
	t.Helper()
	draft := any(a.Note)
	var updated *time.Time
	switch {
	case a.Memory != nil:
		draft, updated = a.Memory, a.Memory.UpdatedAt
	case a.Goal != nil:
		draft, updated = a.Goal, a.Goal.UpdatedAt
	}
	raw, err := json.Marshal(draft)
	errtest.Must(t, err)
	fields := map[string]any{}
	errtest.Must(t, json.Unmarshal(raw, &fields))
	fields["action"] = string(a.Port)
	if updated != nil {
		fields["updatedAt"] = updated.Format(time.RFC3339)
	}
	if a.Note != nil && a.Note.Once != "" {
		fields["once"] = a.Note.Once
	}
	return fields
}

func problemsOf(t *testing.T, err error) []map[string]string {
	t.Helper()
	all := []map[string]string{}
	for _, p := range faultOf(t, err).Problems {
		all = append(all, map[string]string{"pointer": p.Pointer, "detail": p.Detail})
	}
	return all
}

// wantJSON compares a value with a JSON text.
func wantJSON(t *testing.T, want string, got any) {
	t.Helper()
	raw, err := json.Marshal(got)
	errtest.Must(t, err)
	var a, b any
	errtest.Must(t, json.Unmarshal([]byte(want), &a))
	errtest.Must(t, json.Unmarshal(raw, &b))
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("example differs (-want +got):\n%s", diff)
	}
}
