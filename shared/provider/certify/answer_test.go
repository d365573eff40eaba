package certify_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"orgops/shared/domain/finding"
	"orgops/shared/domain/integration"
	"orgops/shared/provider/httplist"
	"orgops/shared/testkit/errtest"
	"orgops/shared/webhook/outbound"
)

// TestExaminer_Run_wrongCredentials answers wrong credentials in the ways of providers.
func TestExaminer_Run_wrongCredentials(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		status int
		body   string
		result finding.Status
		says   string
	}{
		{"unauthorized", 401, "", finding.Pass, "refused with wrong ones"},
		{"a bad request", 400, `{"error":"token"}`, finding.Pass, "refused with wrong ones"},
		{"not found", 404, "", finding.Pass, "refused with wrong ones"},
		{"a sign-in", 302, "", finding.Pass, "refused with wrong ones"},
		{"an error in a 200", 200, `{"error":"invalid_auth"}`, finding.Pass, "refused with wrong ones"},
		{"an error next to an empty list", 200, `{"ok":false,"data":[]}`, finding.Pass, "refused with wrong ones"},
		{"a web page", 200, `<html>Sign in`, finding.Pass, "refused with wrong ones"},
		{"fewer items", 200, `{"data":[]}`, finding.Warn, "2 items with the stored credentials, and 0 with wrong ones"},
		{"the same items", 200, `{"data":[{"id":1},{"id":2}]}`, finding.Fail, "configure it without authentication"},
		{"down", 500, "", finding.Fail, "certify again later"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") == "Bearer right" {
					_, _ = io.WriteString(w, `{"data":[{"id":1},{"id":2}]}`)
					return
				}
				w.Header().Set("Location", "/login")
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
			}))
			defer server.Close()
			list := httplist.New(outbound.New(outbound.Options{AllowLoopback: true}), time.Now)
			config := fmt.Sprintf(`{"url":%q,"itemsPath":"/data","idPath":"/id","titlePath":"/title","target":"memory","auth":"bearer"}`, server.URL)
			secrets := integration.Secrets{Values: map[string]string{"token": "right"}}
			r, err := examiner(list).Run(t.Context(), candidate(t, httplist.Kind, config, secrets, integration.SyncPull, integration.MemoryUpsert))
			errtest.Must(t, err)
			checkResult(t, r, "credentials", tt.result, tt.says)
			if want := tt.result != finding.Fail; r.Passed != want {
				t.Errorf("passed = %t, want %t", r.Passed, want)
			}
		})
	}
}
