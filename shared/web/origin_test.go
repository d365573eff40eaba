package web_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/web"
)

const page = "https://dashboard.example.com"

// shared returns the CORS headers of an answer.
func shared(h http.Header) map[string]string {
	found := map[string]string{}
	for _, name := range slices.Collect(maps.Keys(h)) {
		if strings.HasPrefix(name, "Access-Control-") || name == "Vary" {
			found[strings.TrimPrefix(name, "Access-Control-")] = strings.Join(h[name], ", ")
		}
	}
	return found
}

func TestOrigins(t *testing.T) {
	t.Parallel()
	const exposed = web.ExposedHeaders
	tests := []struct {
		name    string
		origins web.Origins
		origin  string
		want    map[string]string
	}{
		{"none", nil, page, map[string]string{}},
		{"any", web.Origins{"*"}, page, map[string]string{"Allow-Origin": "*", "Expose-Headers": exposed}},
		{"any, without an origin", web.Origins{"*"}, "", map[string]string{"Allow-Origin": "*", "Expose-Headers": exposed}},
		{"one of two", web.Origins{"https://a.example", page}, page, map[string]string{"Allow-Origin": page, "Expose-Headers": exposed, "Vary": "Origin"}},
		{"another", web.Origins{page}, "https://evil.example", map[string]string{"Vary": "Origin"}},
		{"allowed origin as a prefix", web.Origins{page}, page + ".evil.example", map[string]string{"Vary": "Origin"}},
		{"another scheme", web.Origins{page}, "http://dashboard.example.com", map[string]string{"Vary": "Origin"}},
		{"null", web.Origins{page}, "null", map[string]string{"Vary": "Origin"}},
		{"without an origin", web.Origins{page}, "", map[string]string{"Vary": "Origin"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newHarnessWith(t, web.Options{Origins: tt.origins})
			for _, path := range []string{"/companies/a/things", "/nothing", "/fail/panic"} { // every request is refused
				if diff := cmp.Diff(tt.want, shared(h.do("GET", path, "", "", "Origin", tt.origin).Header())); diff != "" {
					t.Errorf("%s (-want +got):\n%s", path, diff)
				}
			}
		})
	}
}

func TestServer_Options(t *testing.T) {
	t.Parallel()
	const things = "/companies/a/things"
	tests := []struct {
		name    string
		origins web.Origins
		path    string
		headers []string
		status  int
		allow   string
		want    map[string]string
	}{
		{
			"a page asks", web.Origins{"*"}, things, []string{"Origin", page, "Access-Control-Request-Method", "PUT"}, 204, "GET, HEAD, POST, PUT, OPTIONS",
			map[string]string{
				"Allow-Origin": "*", "Allow-Methods": "GET, HEAD, POST, PUT, OPTIONS", "Max-Age": "7200",
				"Allow-Headers": "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match",
			},
		},
		{
			"a page of another origin asks", web.Origins{page}, things, []string{"Origin", "https://evil.example", "Access-Control-Request-Method", "PUT"},
			204, "GET, HEAD, POST, PUT, OPTIONS", map[string]string{"Vary": "Origin"},
		},
		{
			"pages are not let in", nil, things, []string{"Origin", page, "Access-Control-Request-Method", "PUT"},
			204, "GET, HEAD, POST, PUT, OPTIONS", map[string]string{},
		},
		{
			"a program asks", web.Origins{"*"}, "/fail/plain", nil, 204, "GET, HEAD, OPTIONS",
			map[string]string{"Allow-Origin": "*", "Expose-Headers": web.ExposedHeaders},
		},
		{
			"of what is not there", web.Origins{"*"}, "/nothing", []string{"Origin", page, "Access-Control-Request-Method", "GET"}, 404, "",
			map[string]string{"Allow-Origin": "*", "Expose-Headers": web.ExposedHeaders},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newHarnessWith(t, web.Options{Origins: tt.origins}).do("OPTIONS", tt.path, "", "", tt.headers...)
			if w.Code != tt.status {
				t.Errorf("status = %d, want %d: %s", w.Code, tt.status, w.Body)
			}
			if got := w.Header().Get("Allow"); got != tt.allow {
				t.Errorf("Allow = %q, want %q", got, tt.allow)
			}
			if tt.status == 204 && w.Body.Len() > 0 {
				t.Errorf("body of a 204 = %s, want none", w.Body)
			}
			if diff := cmp.Diff(tt.want, shared(w.Header())); diff != "" {
				t.Errorf("headers (-want +got):\n%s", diff)
			}
		})
	}
}
