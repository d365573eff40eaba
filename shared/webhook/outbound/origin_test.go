package outbound_test

import (
	"errors"
	"net/http"
	"testing"

	"orgops/shared/webhook/outbound"
)

func TestOrigin(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"https://example.com/a?b":        "https://example.com:443",
		"HTTPS://EXAMPLE.com.:443":       "https://example.com:443",
		"https://example.com:0443/":      "https://example.com:443",
		"http://example.com":             "http://example.com:80",
		"https://example.com:8443":       "https://example.com:8443",
		"http://[0:0:0:0:0:0:0:1]:8080/": "http://::1:8080",
		"http://[::ffff:203.0.113.7]/":   "http://203.0.113.7:80",
		"https:///path":                  "",
		"a path":                         "",
		"https://exa mple.com":           "",
	} {
		if got := outbound.Origin(url); got != want {
			t.Errorf("Origin(%q) = %q, want %q", url, got, want)
		}
	}
}

// TestClient_Do_origin sends requests to the origin of the context only.
func TestClient_Do_origin(t *testing.T) {
	t.Parallel()
	c := outbound.New(outbound.Options{Transport: simulated{}})
	ctx := outbound.WithOrigin(t.Context(), outbound.Origin("https://api.example.com/v1"))
	for url, want := range map[string]error{
		"https://api.example.com:443/v2?cursor=a": nil,
		"https://api.example.com.evil.test/":      outbound.ErrOrigin,
		"http://api.example.com/v1":               outbound.ErrOrigin,
		"https://api.example.com:8443/v1":         outbound.ErrOrigin,
		"https://example.com/v1":                  outbound.ErrOrigin,
	} {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.Do(req)
		if resp != nil {
			resp.Body.Close()
		}
		if !errors.Is(err, want) {
			t.Errorf("%s: err = %v, want %v", url, err, want)
		}
	}
}
