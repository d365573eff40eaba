package integrations_test

import (
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sourceOf returns a configuration of a provider that fetches from a URL, and its credentials.
func sourceOf(provider, url string) (config map[string]any, credentials map[string]string) {
	if provider == "github" {
		return map[string]any{"repository": "octo/app", "baseUrl": url}, map[string]string{"token": "s3cr3t"}
	}
	return map[string]any{"url": url, "itemsPath": "", "idPath": "/id", "titlePath": "/title", "target": "memory", "auth": "bearer"},
		map[string]string{"token": "s3cr3t"}
}

// TestConfigure_Origin ends the stored credentials when a configuration would send them to another origin, and keeps them with
// every other change.
func TestConfigure_Origin(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, from, to string
		kept           bool
	}{
		{"the same", "https://one.example.com/v1", "https://one.example.com/v1", true},
		{"another path and query", "https://one.example.com/v1", "https://one.example.com/v2?a=b", true},
		{"the default port", "https://one.example.com/v1", "https://one.example.com:443/v1", true},
		{"other letter case", "https://one.example.com/v1", "HTTPS://One.Example.COM/v1", true},
		{"the root's dot", "https://one.example.com/v1", "https://one.example.com./v1", true},
		{"another host", "https://one.example.com/v1", "https://two.example.com/v1", false},
		{"a host below", "https://one.example.com/v1", "https://a.one.example.com/v1", false},
		{"another port", "https://one.example.com/v1", "https://one.example.com:8443/v1", false},
		{"another scheme", "https://localhost/v1", "http://localhost/v1", false},
		{"another scheme, the same port", "https://localhost:8443/v1", "http://localhost:8443/v1", false},
	}
	for _, provider := range []string{"http", "github"} {
		for _, tt := range tests {
			t.Run(provider+" "+tt.name, func(t *testing.T) {
				t.Parallel()
				if provider == "github" && strings.Contains(tt.to, "?") {
					tt.to, _, _ = strings.Cut(tt.to, "?")
				}
				s := setup(t)
				config, credentials := sourceOf(provider, tt.from)
				s.configured(provider, config, 201)
				s.do("PUT", "/"+provider+"/credentials", map[string]any{"credentials": credentials}).Want(204)
				config, _ = sourceOf(provider, tt.to)
				var names []string
				if i := s.configured(provider, config, 200); i.Credentials != nil {
					names = i.Credentials.Names
				}
				var want []string
				wantStored := map[string]string(nil)
				if tt.kept {
					want, wantStored = []string{"token"}, credentials
				}
				if diff := cmp.Diff(want, names); diff != "" {
					t.Errorf("credentials (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(wantStored, s.secrets(provider).Values); diff != "" {
					t.Errorf("credentials in the vault (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// TestConfigure_OriginKeepsSigning keeps the signing secrets when the origin changes: only signatures leave the service.
func TestConfigure_OriginKeepsSigning(t *testing.T) {
	t.Parallel()
	s := setup(t)
	config, credentials := sourceOf("github", "https://one.example.com")
	config["signingSecret"] = "as typed there"
	s.configured("github", config, 201)
	s.do("PUT", "/github/credentials", map[string]any{"credentials": credentials}).Want(204)
	other, _ := sourceOf("github", "https://two.example.com")
	s.configured("github", other, 200)
	got := s.secrets("github")
	if got, want := [2]int{len(got.Values), len(got.Signing)}, [2]int{0, 1}; got != want {
		t.Errorf("%v credentials and signing secrets are stored, want %v", got, want)
	}
	s.configured("github", config, 200) // back: what ended does not come again
	if got := s.get("github").Credentials; got != nil {
		t.Errorf("credentials %v after the way back, want none", got)
	}
}

// TestCertify_Origin shows that the stored token reaches only the server that it was stored for.
func TestCertify_Origin(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{"http", "github"} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			s := setup(t)
			first, second := receive(t, always(http.StatusOK)), receive(t, always(http.StatusOK))
			config, credentials := sourceOf(provider, first.URL)
			s.configured(provider, config, 201)
			s.do("PUT", "/"+provider+"/credentials", map[string]any{"credentials": credentials}).Want(204)
			s.certify(provider)
			if got := first.count(func(h http.Header) bool { return h.Get("Authorization") == "Bearer s3cr3t" }); got == 0 {
				t.Error("the first server saw no request with the token, want some")
			}
			moved := maps.Clone(config)
			for _, field := range []string{"url", "baseUrl"} {
				if _, ok := moved[field]; ok {
					moved[field] = second.URL
				}
			}
			s.configured(provider, moved, 200)
			s.wantCheck(s.certify(provider), "credentials", "not-applicable", "needs the credential token")
			if got := second.count(func(http.Header) bool { return true }); got != 0 {
				t.Errorf("the second server saw %d requests, want none", got)
			}
		})
	}
}

// count counts the requests whose header a condition holds for.
func (r *receiver) count(is func(http.Header) bool) (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range r.got {
		if is(h) {
			n++
		}
	}
	return n
}
