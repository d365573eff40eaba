package integrations_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	kinds "orgops/shared/domain/event"
	"orgops/shared/testkit/errtest"
)

type eventType struct {
	Name, Category, Description string
	Version                     int
	Schema, Example, Versions   json.RawMessage
}

// compiled compiles the schema of an event as JSON Schema 2020-12, with its formats.
func (e eventType) compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(e.Schema))
	errtest.Must(t, err)
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	errtest.Must(t, c.AddResource(e.Name, doc))
	s, err := c.Compile(e.Name)
	if err != nil {
		t.Fatalf("schema of %s: %v", e.Name, err)
	}
	return s
}

// TestEventTypes checks that the catalogue has each event, with an example that its schema allows.
func TestEventTypes(t *testing.T) {
	t.Parallel()
	s := setup(t)
	var all struct{ Items []eventType }
	s.Do("GET", "/companies/"+s.A.ID+"/event-types", s.A.Token, nil).Want(http.StatusOK).JSON(&all)
	var names []string
	for _, e := range all.Items {
		names = append(names, e.Name)
		example, err := jsonschema.UnmarshalJSON(bytes.NewReader(e.Example))
		errtest.Must(t, err)
		schema := e.compiled(t)
		if err := schema.Validate(example); err != nil {
			t.Errorf("example of %s: %v", e.Name, err)
		}
		other := map[string]any{}
		errtest.Must(t, json.Unmarshal(e.Example, &other))
		other["type"] = "another.event"
		if schema.Validate(other) == nil {
			t.Errorf("the schema of %s allows an event of another type", e.Name)
		}
		got := [3]any{e.Category, e.Version, e.Description == ""}
		if want := [3]any{kinds.Category(e.Name), 1, false}; got != want {
			t.Errorf("%s has the category and version, and lacks a description: %v, want %v", e.Name, got, want)
		}
	}
	if diff := cmp.Diff(kinds.Names(), names); diff != "" {
		t.Errorf("events differ (-want +got):\n%s", diff)
	}
	var one eventType
	s.Do("GET", "/companies/"+s.A.ID+"/event-types/goal.updated", s.A.Token, nil).Want(http.StatusOK).JSON(&one)
	if want := all.Items[slices.Index(names, "goal.updated")]; !cmp.Equal(want, one) {
		t.Errorf("the event differs from that of the list:\n%s", cmp.Diff(want, one))
	}
	s.Do("GET", "/companies/"+s.A.ID+"/event-types/goal.deleted", s.A.Token, nil).Want(http.StatusNotFound)
}
