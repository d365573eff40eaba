package acceptance_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"orgops/shared/testkit/errtest"
)

// document is what these tests read of the OpenAPI document.
type document struct {
	Paths      map[string]map[string]operationObject
	Components struct{ Schemas map[string]*schemaObject }
	Webhooks   map[string]struct {
		Post struct {
			RequestBody struct {
				Content map[string]struct{ Schema *schemaObject }
			}
		}
	}
}

type operationObject struct {
	Summary, Description string
	Parameters           []struct {
		Name, Description string
		Schema            *schemaObject
	}
	Responses map[string]struct {
		Content map[string]struct {
			Schema            *schemaObject
			Example, Examples json.RawMessage
		}
	}
}

type schemaObject struct {
	Ref                  string `json:"$ref"`
	Description          string
	Enum                 []string
	Properties           map[string]*schemaObject
	Items                *schemaObject
	AdditionalProperties json.RawMessage
}

func readDocument(t *testing.T) document {
	t.Helper()
	golden, err := os.ReadFile(goldenDocument)
	errtest.Must(t, err)
	var d document
	errtest.Must(t, json.Unmarshal(golden, &d))
	return d
}

// TestDocument_Described checks that the document describes everything that it names.
func TestDocument_Described(t *testing.T) {
	t.Parallel()
	d := readDocument(t)
	for name, schema := range d.Components.Schemas {
		if schema.Description == "" {
			t.Errorf("schema %s has no description; give it one in functions/descriptions.go", name)
		}
		for property, s := range schema.Properties {
			if s.Description == "" {
				t.Errorf("property %s.%s has no description", name, property)
			}
		}
	}
	for path, operations := range d.Paths {
		for method, op := range operations {
			if op.Summary == "" {
				t.Errorf("%s %s has no summary", method, path)
			}
			if op.Description == "" {
				t.Errorf("%s %s has no description", method, path)
			}
			for _, p := range op.Parameters {
				if p.Description == "" {
					t.Errorf("parameter %s of %s %s has no description", p.Name, method, path)
				}
			}
		}
	}
}

// TestDocument_Enumerations checks that no enumeration occurs twice: a shared one has a name.
func TestDocument_Enumerations(t *testing.T) {
	t.Parallel()
	d, seen := readDocument(t), map[string]string{}
	once := func(at string, s *schemaObject) {
		if s == nil || len(s.Enum) < 2 {
			return
		}
		values := strings.Join(s.Enum, ",")
		if other, twice := seen[values]; twice {
			t.Errorf("%s and %s list the same values %s; name them in functions/schemas.go", other, at, values)
		}
		seen[values] = at
	}
	for name, schema := range d.Components.Schemas {
		once(name, schema)
		for property, s := range schema.Properties {
			once(name+"."+property, s)
		}
	}
	for path, operations := range d.Paths {
		for method, op := range operations {
			for _, p := range op.Parameters {
				once(method+" "+path+" "+p.Name, p.Schema)
			}
		}
	}
}

// TestDocument_Examples checks that each answer with a body has an example, without a member that the document lacks.
func TestDocument_Examples(t *testing.T) {
	t.Parallel()
	d := readDocument(t)
	for path, operations := range d.Paths {
		for method, op := range operations {
			for status, response := range op.Responses {
				for media, content := range response.Content {
					at := strings.Join([]string{method, path, status, media}, " ")
					var example any
					if err := json.Unmarshal(content.Example, &example); err != nil {
						t.Errorf("%s has no example: %v", at, err)
					}
					for _, unknown := range d.unknown(at, content.Schema, example) {
						t.Errorf("the example of %s", unknown)
					}
				}
			}
		}
	}
}

// unknown lists the members of a value that its schema does not list.
func (d document) unknown(at string, s *schemaObject, value any) []string {
	if s == nil {
		return nil
	}
	if name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok {
		return d.unknown(at, d.Components.Schemas[name], value)
	}
	var found []string
	switch v := value.(type) {
	case []any:
		for _, item := range v {
			found = append(found, d.unknown(at+"[]", s.Items, item)...)
		}
	case map[string]any:
		if s.Properties == nil {
			return nil // a map, or an object of a provider
		}
		for name, member := range v {
			if s.Properties[name] == nil {
				found = append(found, fmt.Sprintf("%s has %s; the document has %v", at, name, slices.Sorted(maps.Keys(s.Properties))))
			}
			found = append(found, d.unknown(at+"."+name, s.Properties[name], member)...)
		}
	}
	return found
}
