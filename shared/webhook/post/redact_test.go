package post_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"orgops/shared/testkit/errtest"
	"orgops/shared/webhook/post"
)

// TestSend_Redacted shows no secret header that an endpoint sends back, neither whole nor cut, in any form that it may have.
func TestSend_Redacted(t *testing.T) {
	t.Parallel()
	const token = `t0k"en-` + "0123456789"
	written, err := json.Marshal("Bearer " + token)
	errtest.Must(t, err)
	tests := []struct{ name, body, want string }{
		{"whole", "got Bearer " + token + "!", "got [redacted]!"},
		{"without its scheme", "no such token: " + token, "no such token: [redacted]"},
		{"as JSON", `{"authorization":` + string(written) + `}`, `{"authorization":"[redacted]"}`},
		{"twice", token + token, "[redacted][redacted]"},
		{"none", "fine", "fine"},
		{"cut by the end of the excerpt", strings.Repeat("x", 1020) + token + strings.Repeat("y", 3000), strings.Repeat("x", 1005)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			url := receiver(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(tt.body)) })
			to, err := post.NewTarget(url, []string{secret}, nil, map[string]string{"Authorization": "Bearer " + token})
			errtest.Must(t, err)
			o := post.Send(t.Context(), localClient(), to, post.Message{ID: "e1", Body: []byte(`{}`), Timeout: 10 * time.Second}, time.Now)
			if !strings.HasPrefix(o.Excerpt, tt.want) {
				t.Errorf("excerpt %q, want one that begins with %q", o.Excerpt, tt.want)
			}
			if strings.Contains(o.Excerpt, token[:4]) {
				t.Errorf("excerpt %q, want none of the token in it", o.Excerpt)
			}
		})
	}
}
