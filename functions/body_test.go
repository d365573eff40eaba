package functions_test

import (
	"net/http"
	"testing"

	"github.com/danielgtaylor/huma/v2"
)

// TestBody_Fields checks that every operation with a body refuses unknown fields. Package web refuses those of an operation without one.
func TestBody_Fields(t *testing.T) {
	t.Parallel()
	doc := document(t)
	checked := 0
	for path, item := range doc.Paths {
		for method, op := range map[string]*huma.Operation{http.MethodPost: item.Post, http.MethodPut: item.Put, http.MethodPatch: item.Patch} {
			if op == nil || op.RequestBody == nil || op.RequestBody.Content["application/json"] == nil {
				continue
			}
			schema := op.RequestBody.Content["application/json"].Schema
			if schema.Ref != "" {
				schema = doc.Components.Schemas.SchemaFromRef(schema.Ref)
			}
			if schema == nil || len(schema.AnyOf) > 0 || schema.Properties == nil || op.OperationID == "receive-webhook" { // a connector's own schema, or a provider's webhook
				continue
			}
			checked++
			if schema.AdditionalProperties != false {
				t.Errorf("%s %s takes unknown fields, want them refused", method, path)
			}
		}
	}
	if checked < 10 {
		t.Errorf("%d bodies were checked, want at least 10", checked)
	}
}
