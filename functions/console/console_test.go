package console_test

import (
	"compress/gzip"
	"io"
	"regexp"
	"strings"
	"testing"

	"orgops/functions/console"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
)

func setup(t *testing.T) *webtest.Harness {
	t.Helper()
	h := webtest.New(t)
	console.Register(h.API(), console.Embedded())
	return h
}

// assets returns the files that the page names.
func assets(page string) []string {
	var names []string
	for _, found := range regexp.MustCompile(`(?:src|href)="([^"]+)"`).FindAllStringSubmatch(page, -1) {
		names = append(names, found[1])
	}
	return names
}

func TestRegister_Page(t *testing.T) {
	t.Parallel()
	h := setup(t)
	page := string(h.Do("GET", console.Path, "", nil).Want(200).Body)
	if again := string(h.Do("GET", console.Path+"index.html", "", nil).Want(200).Body); again != page {
		t.Errorf("index.html = %.200s, want the page %.200s", again, page)
	}
	names := assets(page)
	if len(names) < 3 {
		t.Fatalf("the page names %q, want its script, its style sheet and its icon", names)
	}
	for _, name := range names {
		if strings.Contains(name, "/") {
			t.Errorf("the page names %q, want a name without a folder or a host, since the stage is part of the path", name)
		}
		if len(h.Do("GET", console.Path+name, "", nil).Want(200).Body) == 0 {
			t.Errorf("%s is empty", name)
		}
	}
	if found := regexp.MustCompile(`(?i)<script>|<style|style=|\son[a-z]+=`).FindString(page); found != "" {
		t.Errorf("the page has %q, want nothing inline", found)
	}
	h.Do("GET", console.Path+"nothing.js", "", nil).WantProblem(404, "not-found")
	h.Do("POST", console.Path, "", nil).WantProblem(405, "method-not-allowed")
}

func TestRegister_Headers(t *testing.T) {
	t.Parallel()
	h := setup(t)
	types := map[string]string{
		"": "text/html; charset=utf-8", "index.html": "text/html; charset=utf-8", "app.js": "text/javascript; charset=utf-8",
		"app.css": "text/css; charset=utf-8", "icon.svg": "image/svg+xml", "licenses.txt": "text/plain; charset=utf-8",
	}
	for name, contentType := range types {
		r := h.Do("GET", console.Path+name, "", nil).Want(200)
		for header, want := range map[string]string{
			"Content-Type": contentType, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-cache",
			"Cross-Origin-Opener-Policy": "same-origin",
		} {
			if got := r.Header.Get(header); got != want {
				t.Errorf("%s: %s = %q, want %q", name, header, got, want)
			}
		}
		policy := r.Header.Get("Content-Security-Policy")
		for _, want := range []string{
			"default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "frame-ancestors 'none'",
			"base-uri 'none'", "form-action 'none'", "require-trusted-types-for 'script'",
		} {
			if !strings.Contains(policy, want) {
				t.Errorf("%s: policy = %q, want one with %q", name, policy, want)
			}
		}
		for _, refused := range []string{"unsafe", "http", "data:", "*"} {
			if strings.Contains(policy, refused) {
				t.Errorf("%s: policy = %q, want one without %q", name, policy, refused)
			}
		}
	}
}

// TestRegister_Held checks that a browser that holds a file gets 304 without a body.
func TestRegister_Held(t *testing.T) {
	t.Parallel()
	h := setup(t)
	for _, name := range []string{"", "app.js"} {
		etag := h.Do("GET", console.Path+name, "", nil).Want(200).Header.Get("ETag")
		if body := h.Do("GET", console.Path+name, "", nil, "If-None-Match", etag).Want(304).Body; len(body) > 0 {
			t.Errorf("%s: a 304 has %d bytes, want none", name, len(body))
		}
		h.Do("GET", console.Path+name, "", nil, "If-None-Match", `"other"`).Want(200)
	}
}

// TestRegister_Base checks that the address without a slash leads to a page whose address has none at its end.
func TestRegister_Base(t *testing.T) {
	t.Parallel()
	if got, want := setup(t).Do("GET", "/console", "", nil).Want(302).Header.Get("Location"), "/console/index.html"; got != want {
		t.Errorf("Location = %q, want %q", got, want)
	}
}

// TestRegister_Size checks what a browser loads before the first answer of the API.
func TestRegister_Size(t *testing.T) {
	t.Parallel()
	h := setup(t)
	total, requests := 0, 0
	load := func(name string) string {
		r := h.Do("GET", console.Path+name, "", nil, "Accept-Encoding", "br;q=1, gzip;q=0.8").Want(200)
		if got := r.Header.Get("Content-Encoding"); got != "gzip" {
			t.Errorf("%s: Content-Encoding = %q, want gzip", name, got)
		}
		total, requests = total+len(r.Body), requests+1
		z, err := gzip.NewReader(strings.NewReader(string(r.Body)))
		errtest.Must(t, err)
		plain, err := io.ReadAll(z)
		errtest.Must(t, err)
		return string(plain)
	}
	for _, name := range assets(load("")) {
		load(name)
	}
	t.Logf("%d requests, %d bytes", requests, total)
	if total > 40_000 {
		t.Errorf("the first view takes %d bytes, want at most 40,000", total)
	}
	if requests > 4 {
		t.Errorf("the first view takes %d requests, want at most 4, so that the login and the first facts make 8", requests)
	}
	for _, header := range []string{"", "gzip;q=0", "br"} {
		if got := h.Do("GET", console.Path+"app.js", "", nil, "Accept-Encoding", header).Want(200).Header.Get("Content-Encoding"); got != "" {
			t.Errorf("Accept-Encoding %q: Content-Encoding = %q, want none", header, got)
		}
	}
}
