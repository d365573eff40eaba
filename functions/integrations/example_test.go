package integrations_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestConfigure_DocumentedExamples sends each documented example to its provider, unchanged. The webhook's comes first.
func TestConfigure_DocumentedExamples(t *testing.T) {
	t.Parallel()
	s := setup(t)
	raw, err := json.Marshal(s.API().OpenAPI().Paths["/companies/{companyId}/integrations/{provider}"].Post.RequestBody)
	if err != nil {
		t.Fatal(err)
	}
	var body struct {
		Content map[string]struct {
			Examples json.RawMessage
		}
	}
	if err := json.Unmarshal(raw, &body); err != nil {
		t.Fatal(err)
	}
	given := body.Content["application/json"].Examples
	if !bytes.HasPrefix(given, []byte(`{"webhook":`)) {
		t.Errorf("the examples begin with %.20s, want the webhook's first", given)
	}
	var examples map[string]struct{ Value map[string]any }
	if err := json.Unmarshal(given, &examples); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(registry().Kinds(), slices.Sorted(maps.Keys(examples))); diff != "" {
		t.Errorf("examples of connectors (-want +got):\n%s", diff)
	}
	for provider, example := range examples {
		s.do("POST", "/"+provider, example.Value).Want(201)
	}
}
