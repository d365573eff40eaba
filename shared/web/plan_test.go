package web_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/identity/token"
	"orgops/shared/testkit/errtest"
	"orgops/shared/web"
)

// TestServer_Plan refuses requests beyond a plan's limits as the gateway does. Requests without rights count for no company.
func TestServer_Plan(t *testing.T) {
	t.Parallel()
	var counted []string
	limit, wait := "", time.Duration(0)
	h := newHarnessWith(t, web.Options{Plan: func(company, plan, agent string) (string, time.Duration) {
		counted = append(counted, company+" "+plan+agent)
		return limit, wait
	}})
	own := h.token(t, "a", "things:read")
	get := func(path string, status int) map[string]string {
		t.Helper()
		w := h.do("GET", path, own, "")
		if w.Code != status {
			t.Fatalf("%s: status = %d, want %d: %s", path, w.Code, status, w.Body)
		}
		told := map[string]string{}
		for _, name := range []string{"Retry-After", "RateLimit", "RateLimit-Policy"} {
			told[name] = w.Header().Get(name)
		}
		if status == 429 {
			told["kind"] = problem(t, w).Type
		}
		return told
	}
	get("/companies/a/thing/1", 200)
	get("/companies/b/thing/1", 403)
	const policy = `"second";q=5;w=1, "day";q=20000;w=86400`
	limit, wait = "second", time.Second
	want := map[string]string{"kind": "/problems/quota-exceeded", "Retry-After": "1", "RateLimit": `"second";r=0;t=1`, "RateLimit-Policy": policy}
	if diff := cmp.Diff(want, get("/companies/a/thing/1", 429)); diff != "" {
		t.Errorf("beyond the rate (-want +got):\n%s", diff)
	}
	limit, wait = "day", time.Hour
	want["Retry-After"], want["RateLimit"] = "3600", `"day";r=0;t=3600`
	if diff := cmp.Diff(want, get("/companies/a/thing/1", 429)); diff != "" {
		t.Errorf("beyond the day's requests (-want +got):\n%s", diff)
	}
	var err error
	own, err = h.signer.Issue(token.Claims{Subject: "bot", Client: "bot", Company: "a", Plan: "free", Scopes: []string{"things:read"}, Depends: map[string]int64{}})
	errtest.Must(t, err)
	limit, wait = "agent-second", time.Second
	want["Retry-After"], want["RateLimit"], want["RateLimit-Policy"] = "1", `"agent-second";r=0;t=1`, `"agent-second";q=2;w=1, "agent-day";q=10000;w=86400, `+policy
	if diff := cmp.Diff(want, get("/companies/a/thing/1", 429)); diff != "" {
		t.Errorf("an agent beyond its rate (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a free", "a free", "a free", "a freebot"}, counted); diff != "" {
		t.Errorf("counted requests (-want +got):\n%s", diff)
	}
}
