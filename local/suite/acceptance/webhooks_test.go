package acceptance_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"orgops/shared/testkit/errtest"
)

// webhooks holds the document, and the schema of each of its webhooks by the event's type.
type webhooks struct {
	document document
	schemas  map[string]*jsonschema.Schema
}

var documented = sync.OnceValues(readWebhooks)

func readWebhooks() (w webhooks, err error) {
	text, err := os.ReadFile(goldenDocument)
	if err != nil {
		return w, err
	}
	if err := json.Unmarshal(text, &w.document); err != nil {
		return w, err
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return w, err
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource("openapi.json", doc); err != nil {
		return w, err
	}
	w.schemas = map[string]*jsonschema.Schema{}
	for name := range w.document.Webhooks {
		at := "openapi.json#/webhooks/" + name + "/post/requestBody/content/application~1json/schema"
		if w.schemas[name], err = compiler.Compile(at); err != nil {
			return w, err
		}
		if w.schemas[name].Validate(map[string]any{}) == nil {
			return w, fmt.Errorf("the schema of %s takes anything", name)
		}
	}
	return w, nil
}

// differences says how a delivery's body differs from the document's schema of its webhook.
func (w webhooks) differences(kind string, body []byte) []string {
	schema := w.schemas[kind]
	if schema == nil {
		return []string{kind + " is not among the document's webhooks"}
	}
	event, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return []string{err.Error()}
	}
	if err := schema.Validate(event); err != nil {
		return []string{err.Error()}
	}
	return w.document.unknown(kind, w.document.Webhooks[kind].Post.RequestBody.Content["application/json"].Schema, event)
}

// asDocumented checks a delivery that a receiver got against the document. The document must list every member.
func asDocumented(t *testing.T, got received) {
	t.Helper()
	w, err := documented()
	if err != nil {
		t.Errorf("the document's webhooks: %v", err)
		return
	}
	for _, difference := range w.differences(got.Type, got.body) {
		t.Errorf("a delivery differs from the document: %s\n%s", difference, got.body)
	}
}

// TestDocument_Webhooks checks what asDocumented refuses.
func TestDocument_Webhooks(t *testing.T) {
	t.Parallel()
	w, err := documented()
	errtest.Must(t, err)
	event := func(kind, data string) string {
		return `{"id":"0198c5f2-7c1e-7d33-9a1b-2f6f0c0a9b11","type":"` + kind + `","timestamp":"2026-02-23T10:00:00Z",` +
			`"companyId":"0198c5f0-1f7a-7a52-8d3e-6d1c5a1e2b90","data":` + data + `}`
	}
	guide, err := os.ReadFile("../../process/guides/receive.md")
	errtest.Must(t, err)
	shown := regexp.MustCompile("(?s)```json sample\n(.*?)```").FindSubmatch(guide)
	if shown == nil {
		t.Fatal(`the guide has no block "json sample"`)
	}
	if got := w.differences("orgops.sample", shown[1]); len(got) > 0 {
		t.Errorf("the guide's sample differs from the document: %v", got)
	}
	for _, tt := range []struct{ name, kind, body, want string }{
		{"a sample without its message", "orgops.sample", event("orgops.sample", `{"provider":"webhook"}`), "missing property 'message'"},
		{"a member of the data", "memory.created", event("memory.created", `{"title":"t","colour":"red"}`), "memory.created.data has colour"},
		{"a member of the envelope", "memory.created", strings.Replace(event("memory.created", `{}`), "{", `{"colour":"red",`, 1), "memory.created has colour"},
		{"another event's schema", "memory.created", event("goal.updated", `{}`), "value must be one of"},
		{"another event", "memory.deleted", event("memory.deleted", `{}`), "is not among the document's webhooks"},
	} {
		if got := strings.Join(w.differences(tt.kind, []byte(tt.body)), "; "); !strings.Contains(got, tt.want) {
			t.Errorf("%s: differences = %q, want %q in it", tt.name, got, tt.want)
		}
	}
}
