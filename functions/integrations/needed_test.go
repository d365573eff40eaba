package integrations_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/provider/httplist"
)

// TestCredentials_needless refuses credentials of a manifest that has no authentication.
func TestCredentials_needless(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.put("tickets", ticketManifest("https://api.example.com", `"auth":{"type":"bearer"},`, ""))
	s.configured("tickets", map[string]any{"team": "a"}, 201)
	s.do("PUT", "/tickets/credentials", map[string]any{"credentials": map[string]string{"token": "s3cr3t"}}).WantProblem(409, "conflict")
}

// TestCredentials_needed takes exactly the credentials that the configuration needs, and keeps those that are stored when it refuses.
func TestCredentials_needed(t *testing.T) {
	t.Parallel()
	token := map[string]string{"token": "s3cr3t"}
	pair := map[string]string{"username": "u", "password": "s3cr3t"}
	tests := map[string]struct {
		auth     string
		good     map[string]string // nil: the configuration needs none
		bad      map[string]string
		pointers []string
	}{
		"none":   {"", nil, token, nil},
		"basic":  {"basic", pair, token, []string{"/credentials/username", "/credentials/password", "/credentials/token"}},
		"half":   {"basic", pair, map[string]string{"username": "u"}, []string{"/credentials/password"}},
		"bearer": {"bearer", token, map[string]string{"token": "t", "password": "p"}, []string{"/credentials/password"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := setup(t)
			config := map[string]any{"url": "https://api.example.com/things", "itemsPath": "", "idPath": "/id", "titlePath": "/t", "target": "memory"}
			if tt.auth != "" {
				config["auth"] = tt.auth
			}
			s.configured(httplist.Kind, config, 201)
			if tt.good == nil {
				s.do("PUT", "/http/credentials", map[string]any{"credentials": tt.bad}).WantProblem(409, "conflict")
			} else {
				s.do("PUT", "/http/credentials", map[string]any{"credentials": tt.good}).Want(204)
				wantPointer(t, s.do("PUT", "/http/credentials", map[string]any{"credentials": tt.bad}), tt.pointers...)
			}
			if diff := cmp.Diff(tt.good, s.secrets(httplist.Kind).Values); diff != "" {
				t.Errorf("stored credentials differ (-want +got):\n%s", diff)
			}
		})
	}
}
