package trial

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/base/text"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/inbox"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/mapping"
)

// MaxTests limits the tests of a mapping.
const MaxTests = 20

// MappingTest holds an arrival and the actions that a mapping must give for it.
type MappingTest struct {
	Name    string            `json:"name" minLength:"1" maxLength:"100" doc:"what it shows" example:"a new ticket becomes a memory"`
	Headers map[string]string `json:"headers,omitempty" maxProperties:"100" doc:"the arrival's headers" example:"{\"X-GitHub-Event\":\"issues\"}"`
	Payload json.RawMessage   `json:"payload" doc:"the arrival's body"`
	Actions []ExpectedAction  `json:"actions" maxItems:"30" nullable:"false" doc:"the actions in order; empty: the mapping must ignore the arrival"`
}

// ExpectedAction holds an action that a test expects.
type ExpectedAction struct {
	Action integration.Port `json:"action" enum:"memory.upsert,goal.update,timeline.note" doc:"what the arrival asks for"`
	Fields json.RawMessage  `json:"fields,omitempty" doc:"the fields that are compared, by name; null: the action has no such field"`
}

// Receiver holds what decides about an arrival next to the mapping.
type Receiver struct {
	Connector connector.Inbound
	Config    json.RawMessage
	Place     *integration.Place
}

// Read maps an arrival.
func (r Receiver) Read(ctx context.Context, m *mapping.Mapping, header http.Header, body []byte) (Mapped, error) {
	arrival, err := mapping.Read(r.Connector, r.Config, r.Place, header, body)
	if err != nil {
		return Mapped{}, err
	}
	return Map(ctx, m, arrival)
}

// Run applies a mapping to a test's arrival and lists the differences from what the test expects, with pointers below the test. Policies are
// not asked, because they change without the mapping.
func (r Receiver) Run(ctx context.Context, m *mapping.Mapping, t MappingTest) ([]fault.FieldError, error) {
	mapped, err := r.Read(ctx, m, Headers(t.Headers), t.Payload)
	if refused, ok := Refused(err); ok {
		return []fault.FieldError{{Detail: "the arrival is refused" + because(refused.Problem)}}, nil
	}
	if err != nil {
		return nil, err
	}
	if len(mapped.Actions) != len(t.Actions) {
		detail := fmt.Sprintf("the mapping gives %d actions, but the test expects %d", len(mapped.Actions), len(t.Actions))
		if mapped.Ignored != "" {
			detail += ": " + mapped.Ignored
		}
		return []fault.FieldError{{Pointer: "/actions", Detail: detail}}, nil
	}
	problems := []fault.FieldError{}
	for n, want := range t.Actions {
		found, err := want.differences(mapped.Actions[n])
		if err != nil {
			return nil, err
		}
		problems = append(problems, fault.Below("/actions/"+strconv.Itoa(n), found)...)
	}
	return problems, nil
}

func because(p *inbox.MappingProblem) (reason string) {
	if len(p.Errors) == 0 {
		return ": " + p.Detail
	}
	for _, p := range p.Errors {
		reason += ": " + p.Pointer + " " + p.Detail
	}
	return reason
}

// Headers returns headers that are given by their names.
func Headers(given map[string]string) http.Header {
	h := make(http.Header, len(given))
	for name, value := range given {
		h.Set(name, value)
	}
	return h
}

// differences compares an action with what a test expects.
func (e ExpectedAction) differences(a connector.Action) ([]fault.FieldError, error) {
	if a.Port != e.Action {
		return []fault.FieldError{{Pointer: "/action", Detail: fmt.Sprintf("is %s, but the test expects %s", a.Port, e.Action)}}, nil
	}
	raw, err := Fields(a)
	if err != nil {
		return nil, err
	}
	var got, want map[string]any
	if err := json.Unmarshal(raw, &got); err != nil {
		return nil, err
	}
	if bad := len(e.Fields) > 0 && json.Unmarshal(e.Fields, &want) != nil; bad {
		return []fault.FieldError{{Pointer: "/fields", Detail: "must be an object with the fields by name"}}, nil
	}
	var problems []fault.FieldError
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if !reflect.DeepEqual(got[name], want[name]) {
			detail := fmt.Sprintf("is %s, but the test expects %s", shown(got[name]), shown(want[name]))
			problems = append(problems, fault.FieldError{Pointer: "/fields" + fault.Pointer(name), Detail: detail})
		}
	}
	return problems, nil
}

// shown returns a value as JSON, cut to what an error can hold.
func shown(v any) string {
	raw, _ := json.Marshal(v) // decoded JSON always encodes
	return text.Truncate(string(raw), 200)
}

// Fields returns every field that a mapping gives for the item of an action, as JSON.
func Fields(a connector.Action) (json.RawMessage, error) {
	switch {
	case a.Memory != nil:
		return json.Marshal(struct {
			*memory.Draft
			UpdatedAt *time.Time `json:"updatedAt,omitempty"`
		}{a.Memory, a.Memory.UpdatedAt})
	case a.Goal != nil:
		return json.Marshal(struct {
			*goal.Draft
			UpdatedAt *time.Time `json:"updatedAt,omitempty"`
		}{a.Goal, a.Goal.UpdatedAt})
	case a.Note != nil:
		return json.Marshal(struct {
			*connector.NoteDraft
			Once string `json:"once,omitempty"`
		}{a.Note, a.Note.Once})
	}
	return json.RawMessage("{}"), nil
}
