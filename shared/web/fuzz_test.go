package web_test

import (
	"encoding/json"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// Every input gets a documented answer in JSON, and never a 500.
func FuzzServer_Body(f *testing.F) {
	h := newHarness(f)
	own := h.token(f, "a", "things:read")
	for _, body := range []string{`{"name":"x"}`, `{"name":"x","tags":["a",1],"url":"%"}`, "[", `{"a.b[0]":{"~/":1}}`, "null", `{"name":1e999}`} {
		f.Add(body, "application/json")
	}
	f.Fuzz(func(t *testing.T, body, contentType string) {
		w := h.do("POST", "/companies/a/things", own, body, "Content-Type", contentType)
		if documented := []int{200, 400, 413, 415, 422}; !slices.Contains(documented, w.Code) {
			t.Fatalf("status = %d, want one of %v: %s", w.Code, documented, w.Body)
		}
		if !json.Valid(w.Body.Bytes()) {
			t.Fatalf("body is not JSON: %s", w.Body)
		}
	})
}

func FuzzServer_Request(f *testing.F) {
	h := newHarness(f)
	own := h.token(f, "a", "things:read")
	f.Add("/companies/a/things?limit=1", `W/"7"`, "Bearer x")
	f.Add("/companies/a%2fb/thing/%00", `"`, "Bearer")
	f.Add("/companies/a/things?cursor=AAAA&limit=9999999999999999999", "*", "Basic x")
	f.Fuzz(func(t *testing.T, target, tags, authorization string) {
		u, err := url.ParseRequestURI(target)
		if err != nil || !strings.HasPrefix(target, "/") {
			t.Skip()
		}
		for _, auth := range []string{authorization, "Bearer " + own} {
			r := httptest.NewRequest("GET", "/", nil)
			r.URL = u
			r.Header.Set("Authorization", auth)
			r.Header.Set("If-None-Match", tags)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			failed := strings.HasPrefix(u.Path, "/fail/")
			if w.Code >= 500 && !failed {
				t.Fatalf("status = %d, want one below 500: %s", w.Code, w.Body)
			}
			if w.Code < 300 && auth != "Bearer "+own && strings.HasPrefix(u.Path, "/companies") {
				t.Fatalf("%s let in to %s", auth, target)
			}
		}
	})
}
