package integrations_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestUnicode refuses every body with text that is not valid Unicode, and names its place.
func TestUnicode(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.configure("webhook", "https://example.com/hook")
	s.configured("github", map[string]any{"repository": "octo/app"}, 201)
	tests := []struct{ method, path, body, pointer string }{
		{"POST", "/webhook", `{"url":"https://example.com/hook","events":["memory.*"],"description":"\ud800"}`, "/description"},
		{"POST", "/webhook", `{"url":"https://example.com/hook","events":["memory.*"],"headers":{"X-A":"b","X-C":"\udfff"}}`, "/headers/X-C"},
		{"POST", "/webhook", "{\"url\":\"https://example.com/hook\",\"events\":[\"\xff\"]}", "/events/0"},
		{"POST", "/github", `{"repository":"octo/app","signingSecret":"a secret \uD83D"}`, "/signingSecret"},
		{"PUT", "/github/credentials", `{"credentials":{"token":"\ud800"}}`, "/credentials/token"},
		{"PUT", "/github/credentials", `{"credentials":{"\ud800":"t"}}`, "/credentials/\ufffd"},
		{"POST", "/github/secret", `{"signingSecret":"a secret \udc00"}`, "/signingSecret"},
		{"PUT", "/github/mapping", `{"rules":[{"when":"true","action":"memory.upsert","with":{"title":"\ud800"}}]}`, "/rules/0/with/title"},
		{"POST", "/github/mapping/preview", `{"payload":{"a":["\ud800"]}}`, "/payload/a/0"},
		{"POST", "/webhook/recover", `{"since":"\ud800"}`, "/since"},
	}
	for _, tt := range tests {
		p := s.do(tt.method, tt.path, tt.body).WantProblem(400, "malformed")
		var pointers []string
		for _, problem := range p.Errors {
			pointers = append(pointers, problem.Pointer)
		}
		if diff := cmp.Diff([]string{tt.pointer}, pointers); diff != "" {
			t.Errorf("%s %s %s: pointers (-want +got):\n%s", tt.method, tt.path, tt.body, diff)
		}
	}
	s.do("GET", "/webhook/deliveries?event=%ff", nil).WantProblem(422, "invalid")
}

// TestMapping_Unicode refuses an expression whose text jq would read as U+FFFD.
func TestMapping_Unicode(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.configured("github", map[string]any{"repository": "octo/app"}, 201)
	rule := map[string]any{"when": "true", "action": "memory.upsert", "with": map[string]string{"externalId": `"\ud800"`, "kind": `"k"`, "title": `"t"`}}
	p := s.do("PUT", "/github/mapping", map[string]any{"rules": []any{rule}}).WantProblem(422, "invalid")
	if got, want := p.Errors[0].Pointer, "/rules/0/with/externalId"; got != want {
		t.Errorf("the problem is at %s, want %s", got, want)
	}
}
