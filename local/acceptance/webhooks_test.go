package acceptance_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"orgops/shared/testkit/errtest"
)

// asDocumented checks every event that a receiver got against the document's schema for its webhook.
func asDocumented(t *testing.T, got []received) {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash("testdata/openapi.golden.json"))
	errtest.Must(t, err)
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	errtest.Must(t, err)
	hooks, _ := doc.(map[string]any)["webhooks"].(map[string]any)
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	errtest.Must(t, compiler.AddResource("openapi.json", doc))
	for _, d := range got {
		if hooks[d.Type] == nil {
			t.Errorf("%s is not among the document's webhooks", d.Type)
			continue
		}
		at := "openapi.json#/webhooks/" + strings.ReplaceAll(d.Type, "/", "~1") + "/post/requestBody/content/application~1json/schema"
		schema, err := compiler.Compile(at)
		errtest.Must(t, err)
		if schema.Validate(map[string]any{}) == nil {
			t.Errorf("the schema of %s takes anything", d.Type)
		}
		event, err := jsonschema.UnmarshalJSON(bytes.NewReader(d.body))
		errtest.Must(t, err)
		if err := schema.Validate(event); err != nil {
			t.Errorf("%s: %v\n%s", d.Type, err, d.body)
		}
	}
}
