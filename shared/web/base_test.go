package web_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"orgops/shared/web"
)

func TestWithBasePath(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	own := h.token(t, "a", "things:read")
	for _, tt := range []struct{ base, link string }{
		{"", `</companies/a/things?cursor=`},
		{"/live", `</live/companies/a/things?cursor=`},
		{"/orders/v1", `</orders/v1/companies/a/things?cursor=`},
	} {
		r := httptest.NewRequest("GET", "/companies/a/things", nil)
		r.Header.Set("Authorization", "Bearer "+own)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r.WithContext(web.WithBasePath(r.Context(), tt.base)))
		if link := w.Header().Get("Link"); !strings.HasPrefix(link, tt.link) {
			t.Errorf("base path %q: Link = %q, want it to begin with %q", tt.base, link, tt.link)
		}
		r = httptest.NewRequest("GET", "/companies/a/path", nil)
		r.Header.Set("Authorization", "Bearer "+own)
		w = httptest.NewRecorder()
		h.ServeHTTP(w, r.WithContext(web.WithBasePath(r.Context(), tt.base)))
		if got, want := w.Header().Get("Location"), tt.base+"/companies/a/here"; got != want {
			t.Errorf("base path %q: Location = %q, want %q", tt.base, got, want)
		}
	}
}
