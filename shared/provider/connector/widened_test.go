package connector_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/provider/connector"
	"orgops/shared/testkit/errtest"
)

// sealing is a connector with secrets of an endpoint.
type sealing struct{ connector.Connector }

func (sealing) Schema() json.RawMessage {
	return json.RawMessage(`{"properties": {
		"url": {}, "port": {}, "most": {"x-certified": false}, "patterns": {}, "note": {"x-widens": false}, "secretHeaders": {"writeOnly": true}, "signingSecret": {"writeOnly": true, "x-widens": false}
	}}`)
}

func TestWidened(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, before, request string
		want                  []string
	}{
		{"the same", `{"url":"a"}`, `{"url":"a"}`, []string{}},
		{"another value, and one that does not count", `{"url":"a"}`, `{"url":"b","note":"n"}`, []string{"url"}},
		{"all instead of a category", `{"patterns":["memory.*"]}`, `{"patterns":["*"]}`, []string{"patterns"}},
		{"a category of all", `{"patterns":["*"]}`, `{"patterns":["memory.*","goal.updated"]}`, []string{}},
		{"another category with the same beginning", `{"patterns":["memory.*"]}`, `{"patterns":["memory"]}`, []string{"patterns"}},
		{"secrets, which cannot be compared", `{"url":"a"}`, `{"url":"a","secretHeaders":{"X-Key":"k"},"signingSecret":"s"}`, []string{"secretHeaders"}},
		{"a smaller limit", `{"most":5}`, `{"most":4}`, []string{}},
		{"a greater limit", `{"most":5}`, `{"most":6}`, []string{"most"}},
		{"no limit", `{"most":5}`, `{}`, []string{"most"}},
		{"a smaller port", `{"port":5432}`, `{"port":1433}`, []string{"port"}},
		{"a greater port", `{"port":5432}`, `{"port":6432}`, []string{"port"}},
		{"the same port", `{"port":5432}`, `{"port":5432}`, []string{}},
		{"a damaged configuration", ``, `{"url":"a"}`, []string{"url"}},
		{"fields of a former schema", `{"url":"a","old":1}`, `{"url":"a"}`, []string{"old"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := connector.Widened(sealing{}, json.RawMessage(tt.before), json.RawMessage(tt.request))
			errtest.Must(t, err)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
		})
	}
}
