package web_test

import (
	"fmt"
	"net/http/httptest"
	"regexp"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/web"
)

// TestServer_OnDemand checks that an operation made with its first request answers like any other, also for concurrent
// first requests.
func TestServer_OnDemand(t *testing.T) {
	t.Parallel()
	tests := []struct{ method, path, body string }{
		{"GET", "/companies/a/thing/7", ""},
		{"HEAD", "/companies/a/thing/7", ""},
		{"GET", "/companies/b/thing/7", ""},
		{"GET", "/companies/a/things?limit=2", ""},
		{"GET", "/companies/a/things?limit=0", ""},
		{"GET", "/companies/a/things?sort=up", ""},
		{"POST", "/companies/a/things", `{"name":"one","tags":["a"]}`},
		{"POST", "/companies/a/things", `{"name":"","count":11,"colour":"red"}`},
		{"PUT", "/companies/a/things", ""},
		{"DELETE", "/companies/a/things", ""},
		{"GET", "/fail/notfound", ""},
		{"GET", "/nowhere", ""},
	}
	eager, lazy := newHarness(t), newHarnessWith(t, web.Options{OnDemand: true})
	for _, tt := range tests {
		want := eager.do(tt.method, tt.path, eager.token(t, "a", "things:read"), tt.body)
		bearer := lazy.token(t, "a", "things:read")
		answers := make([]*httptest.ResponseRecorder, 4)
		var asking sync.WaitGroup
		for i := range answers {
			asking.Go(func() { answers[i] = lazy.do(tt.method, tt.path, bearer, tt.body) })
		}
		asking.Wait()
		for _, got := range answers {
			if diff := cmp.Diff(masked(want), masked(got)); diff != "" {
				t.Errorf("%s %s: answer (-want +got):\n%s", tt.method, tt.path, diff)
			}
		}
	}
}

// masked returns an answer's status, Allow and body without the parts that differ from answer to answer.
func masked(r *httptest.ResponseRecorder) string {
	body := regexp.MustCompile(`urn:uuid:[0-9a-f-]+|"nextCursor":"[^"]+"`).ReplaceAllString(r.Body.String(), "…")
	return fmt.Sprintf("%d\nAllow: %s\n%s", r.Code, r.Header().Get("Allow"), body)
}
