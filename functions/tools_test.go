package functions_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/go-cmp/cmp"

	"orgops/functions/mcp"
	"orgops/shared/testkit/errtest"
	"orgops/shared/web"
)

// TestTools checks that the MCP endpoint describes its tools as the operations are registered. With -update it rewrites the file.
func TestTools(t *testing.T) {
	t.Parallel()
	const file = "mcp/operations.json"
	want := describeTools(t)
	if *update {
		errtest.Must(t, os.WriteFile(file, want, 0o600))
	}
	got, err := os.ReadFile(file)
	errtest.Must(t, err)
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs; run the test with -update (-want +got):\n%s", file, diff)
	}
}

// describeTools returns the operations that are tools or resources, a line each, in the order of their registration.
func describeTools(t *testing.T) []byte {
	t.Helper()
	operations, doc := registered(t)
	resources := mcp.Resources()
	var lines [][]byte
	for _, op := range operations {
		tool, isTool := web.ToolOf(op)
		if _, isResource := resources[op.OperationID]; !isTool && !isResource {
			continue
		}
		o := mcp.Operation{
			Name: op.OperationID, Title: op.Summary, Description: op.Description, Method: op.Method, Bound: web.IsBound(op),
			Path: strings.TrimPrefix(op.Path, "/companies/{companyId}"), Arguments: map[string]mcp.Place{},
		}
		for _, needs := range op.Security {
			o.Scopes = append(o.Scopes, needs["bearer"])
		}
		s := slimming{schemas: doc["components"].(map[string]any)["schemas"].(map[string]any)}
		described := doc["paths"].(map[string]any)[op.Path].(map[string]any)[strings.ToLower(op.Method)].(map[string]any)
		input := s.arguments(described, &o)
		if isTool {
			o.Tool = &tool
			o.Input = encode(t, input)
			o.Output = encode(t, s.answer(described, op))
		}
		lines = append(lines, encode(t, o))
	}
	return append(append([]byte("[\n"), bytes.Join(lines, []byte(",\n"))...), "\n]\n"...)
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	b := &bytes.Buffer{}
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	errtest.Must(t, e.Encode(v))
	return bytes.TrimSpace(b.Bytes())
}

// registered returns every operation, and the OpenAPI document as JSON.
func registered(t *testing.T) (operations []*huma.Operation, doc map[string]any) {
	t.Helper()
	s := serverOf(t)
	encoded, err := json.Marshal(s.Document())
	errtest.Must(t, err)
	errtest.Must(t, json.Unmarshal(encoded, &doc))
	return s.Operations(), doc
}

// slimming makes schemas for a language model, which pays for each word.
type slimming struct{ schemas map[string]any }

// arguments returns the schema of a tool's arguments, and says where each goes.
func (s slimming) arguments(op map[string]any, o *mcp.Operation) map[string]any {
	properties, required := map[string]any{}, []string{}
	add := func(name string, place mcp.Place, schema any, description any, needed bool) {
		slim := s.slim(schema, 3, true).(map[string]any)
		if text, ok := description.(string); ok {
			slim["description"] = text
		}
		properties[name], o.Arguments[name] = slim, place
		if needed {
			required = append(required, name)
		}
	}
	parameters, _ := op["parameters"].([]any)
	for _, each := range parameters {
		p := each.(map[string]any)
		name, in := p["name"].(string), p["in"].(string)
		needed, _ := p["required"].(bool)
		place := mcp.Place{In: in, Name: name}
		switch {
		case name == "companyId", name == "If-None-Match", name == "Idempotency-Key" && !needed:
			continue
		case in == "header":
			name, needed = map[string]string{"If-Match": "ifMatch", "Idempotency-Key": "idempotencyKey"}[name], name == "If-Match"
		case name == "executiveId":
			needed = false // the executive's own, if it acts
		}
		add(name, place, p["schema"], p["description"], needed)
	}
	if body, ok := op["requestBody"].(map[string]any); ok {
		schema := s.resolve(body["content"].(map[string]any)["application/json"].(map[string]any)["schema"].(map[string]any))
		needs, _ := schema["required"].([]any)
		members := schema["properties"].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(members)) {
			add(name, mcp.Place{In: "body"}, members[name], members[name].(map[string]any)["description"], slices.Contains(needs, any(name)))
		}
	}
	out := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}

// answer returns the schema of a tool's answer.
func (s slimming) answer(op map[string]any, registered *huma.Operation) map[string]any {
	responses := op["responses"].(map[string]any)
	for _, status := range []string{"200", "201", "202"} {
		response, ok := responses[status].(map[string]any)
		if !ok {
			continue
		}
		content, _ := response["content"].(map[string]any)
		if media, ok := content["application/json"].(map[string]any); ok {
			schema := s.slim(media["schema"], 3, false).(map[string]any)
			members := schema["properties"].(map[string]any)
			members["trusted"] = map[string]any{"const": false}
			if members["approvalId"] != nil { // the form of an action that waits; see mcp.shown
				members["status"], members["actionId"], members["url"] = map[string]any{"type": "string"}, map[string]any{"type": "string"}, map[string]any{"type": "string"}
			}
			return schema
		}
	}
	panic(registered.OperationID + " has no answer")
}

func (s slimming) resolve(schema map[string]any) map[string]any {
	if ref, ok := schema["$ref"].(string); ok {
		return s.schemas[ref[strings.LastIndex(ref, "/")+1:]].(map[string]any)
	}
	return schema
}

// slim returns what a model needs of a schema: types and names, and of arguments also the enumerations and numbers. The operation
// checks the rest. Below a depth, any object or list fits.
func (s slimming) slim(schema any, depth int, argument bool) any {
	given, ok := schema.(map[string]any)
	if !ok {
		return schema
	}
	full := s.resolve(given)
	out := map[string]any{}
	keep := []string{"type"}
	if argument {
		keep = append(keep, "enum", "minimum", "maximum")
	}
	for _, word := range keep {
		if v, ok := full[word]; ok {
			out[word] = v
		}
	}
	if depth == 0 {
		return out
	}
	if properties, ok := full["properties"].(map[string]any); ok {
		slimmed := map[string]any{}
		for name, p := range properties {
			slimmed[name] = s.slim(p, depth-1, argument)
		}
		out["properties"] = slimmed
	}
	if items, ok := full["items"].(map[string]any); ok {
		out["items"] = s.slim(items, depth-1, argument)
	}
	return out
}
