package process_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"orgops/local/process"
	"orgops/shared/run/config"
	"orgops/shared/testkit/errtest"
)

// TestOpen_Executives checks that EXECUTIVES_ENABLED=false leaves the routes of the Executive Runtime out of the process and of
// its OpenAPI document. They are then unknown paths: 404, not 401.
func TestOpen_Executives(t *testing.T) {
	t.Parallel()
	tests := []struct {
		setting    string
		status     int
		documented bool
	}{
		{"", http.StatusUnauthorized, true},
		{"true", http.StatusUnauthorized, true},
		{"false", http.StatusNotFound, false},
	}
	for _, tt := range tests {
		c, err := config.Read(func(name string) string { return map[string]string{"EXECUTIVES_ENABLED": tt.setting}[name] })
		errtest.Must(t, err)
		c.Data = t.TempDir()
		p, err := process.Open(t.Context(), c, slog.New(slog.DiscardHandler))
		errtest.Must(t, err)
		get := func(path string) *httptest.ResponseRecorder {
			out := httptest.NewRecorder()
			p.Handler.ServeHTTP(out, httptest.NewRequest(http.MethodGet, path, nil))
			return out
		}
		for _, path := range []string{"/companies/a/executives", "/companies/a/executives/b/actions"} {
			if got := get(path).Code; got != tt.status {
				t.Errorf("EXECUTIVES_ENABLED=%q: GET %s: status = %d, want %d", tt.setting, path, got, tt.status)
			}
		}
		document := get("/openapi.json").Body.String()
		if !strings.Contains(document, "list-integrations") {
			t.Fatalf("EXECUTIVES_ENABLED=%q: the document has no list-integrations, want the other groups", tt.setting)
		}
		for _, name := range []string{"/executives", "list-executives"} {
			if got := strings.Contains(document, name); got != tt.documented {
				t.Errorf("EXECUTIVES_ENABLED=%q: the document has %s: %t, want %t", tt.setting, name, got, tt.documented)
			}
		}
		errtest.Must(t, p.Close())
	}
}

func TestRead_Executives(t *testing.T) {
	t.Parallel()
	if _, err := config.Read(func(name string) string { return map[string]string{"EXECUTIVES_ENABLED": "no"}[name] }); err == nil {
		t.Error("EXECUTIVES_ENABLED=no is accepted, want an error")
	}
}
