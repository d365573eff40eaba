package docs_test

import (
	"regexp"
	"strings"
	"testing"

	"orgops/functions/auth"
	"orgops/functions/console"
	"orgops/local/process/docs"
	"orgops/shared/identity/token"
	"orgops/shared/testkit/webtest"
)

func TestRegister(t *testing.T) {
	t.Parallel()
	h := webtest.New(t)
	auth.Register(h.API(), auth.Deps{Store: h.Store, Hasher: h.Hasher, Keys: token.AtHand{Signs: h.Signer, Verifies: h.Verifier.Keys}})
	docs.Register(h.Server)
	var doc struct {
		OpenAPI string
		Paths   map[string]any
	}
	h.Do("GET", "/openapi.json", "", nil).Want(200).JSON(&doc)
	if doc.Paths["/auth/login"] == nil {
		t.Errorf("paths = %v, want /auth/login among them", doc.Paths)
	}
	if body := h.Do("GET", "/openapi.yaml", "", nil).Want(200).Body; !strings.HasPrefix(string(body), "components:") && !strings.Contains(string(body), "openapi: 3.1.0") {
		t.Errorf("openapi.yaml = %.100s, want a document of OpenAPI 3.1.0", body)
	}
	for _, path := range []string{docs.Path, docs.Path + "/"} {
		r := h.Do("GET", path, "", nil).Want(200)
		page := string(r.Body)
		for _, want := range []string{"/openapi.json", "persistAuthorization: false"} {
			if !strings.Contains(page, want) {
				t.Errorf("the page lacks %q: %.300s", want, page)
			}
		}
		if found := regexp.MustCompile(`(?i)(src|href)="(https?:)?//[^"]*"`).FindString(page); found != "" {
			t.Errorf("the page loads from another host: %s", found)
		}
		csp := r.Header.Get("Content-Security-Policy")
		if want := "default-src 'none'"; !strings.Contains(csp, want) {
			t.Errorf("policy = %q, want one with %q", csp, want)
		}
		if strings.Contains(csp, "http") {
			t.Errorf("policy = %q, want one without other hosts", csp)
		}
		for _, asset := range regexp.MustCompile(`(?:src|href)="(/[^"]+)"`).FindAllStringSubmatch(page, -1) {
			if len(h.Do("GET", asset[1], "", nil).Want(200).Body) == 0 {
				t.Errorf("%s is empty", asset[1])
			}
		}
	}
	h.Do("GET", docs.Path+"/nothing.js", "", nil).Want(404)
}

func TestRegister_home(t *testing.T) {
	t.Parallel()
	h := webtest.New(t)
	docs.Register(h.Server)
	for _, method := range []string{"GET", "HEAD"} {
		if got := h.Do(method, "/", "", nil).Want(302).Header.Get("Location"); got != console.Path {
			t.Errorf("%s / redirects to %q, want %q", method, got, console.Path)
		}
	}
	h.Do("POST", "/", "", nil).WantProblem(405, "method-not-allowed")
}
