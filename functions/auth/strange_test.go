package auth_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/notice"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
)

// Agents of the tests.
const (
	firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0"
	newer   = "Mozilla/5.0 (X11; Linux x86_64; rv:146.0) Gecko/20100101 Firefox/146.0"
	chrome  = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36"
	hostile = "evil\"><script>alert(1)</script>\r\nBcc: x@evil.test"
)

// comesFrom logs in from a network with a browser.
func comesFrom(t *testing.T, h *webtest.Harness, email, password, address, agent string) int {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/auth/login", strings.NewReader(`{"email":"`+email+`","password":"`+password+`"}`))
	r.Header.Set("Content-Type", "application/json")
	r.Header["User-Agent"] = []string{agent}
	r.RemoteAddr = address
	w := httptest.NewRecorder()
	h.Server.ServeHTTP(w, r)
	return w.Code
}

// told lists what the notices of new sign-ins say of browser and network.
func told(t *testing.T, h *webtest.Harness) (all []string) {
	t.Helper()
	for item, err := range store.For(h.Store, h.A.ID).Items(t.Context(), store.Query{Prefix: notice.Prefix}) {
		errtest.Must(t, err)
		var n notice.Stored
		errtest.Must(t, item.Decode(&n))
		said := n.Name
		for _, f := range n.Content.Facts[1:] {
			said += ", " + f.Value
		}
		all = append(all, said)
	}
	return all
}

// TestLogin_Strange tells a person of a login from a network or a browser that was not used before, once, and of no failed one.
func TestLogin_Strange(t *testing.T) {
	t.Parallel()
	h, clock := harness(t)
	const home, away = "198.51.100.7:1", "203.0.113.9:1"
	for _, step := range []struct{ address, agent, password string }{
		{home, firefox, webtest.Password},   // the first one is not told
		{home, newer, webtest.Password},     // nor a newer version
		{away, firefox, "a wrong password"}, // nor a login with a wrong password
		{away, firefox, webtest.Password},
		{away, firefox, webtest.Password},
		{home, chrome, webtest.Password},
		{home, hostile, webtest.Password},
	} {
		clock.Advance(1e9)
		want := 200
		if step.password != webtest.Password {
			want = 401
		}
		if got := comesFrom(t, h, h.A.Email, step.password, step.address, step.agent); got != want {
			t.Fatalf("status = %d, want %d", got, want)
		}
	}
	want := []string{
		"new-sign-in, Firefox on Linux, 203.0.113.9", "new-sign-in, Chrome on Windows, 198.51.100.7", "new-sign-in, the program evil, 198.51.100.7",
	}
	if diff := cmp.Diff(want, told(t, h)); diff != "" {
		t.Errorf("notices differ (-want +got):\n%s", diff)
	}
}

// TestLogin_Strange_Companies knows a network and a browser in every company of the person.
func TestLogin_Strange_Companies(t *testing.T) {
	t.Parallel()
	h, clock := harness(t)
	joins(t, h, h.B.ID, h.A.Email, webtest.Password)
	for _, companyID := range []string{h.B.ID, h.A.ID, h.B.ID} {
		clock.Advance(1e9)
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/auth/login",
			strings.NewReader(`{"email":"`+h.A.Email+`","password":"`+webtest.Password+`","company":"`+companyID+`"}`))
		r.Header.Set("Content-Type", "application/json")
		r.Header["User-Agent"], r.RemoteAddr = []string{firefox}, "198.51.100.7:1"
		w := httptest.NewRecorder()
		h.Server.ServeHTTP(w, r)
		if w.Code != 200 {
			t.Fatalf("status = %d, want 200: %s", w.Code, w.Body)
		}
	}
	if got := told(t, h); len(got) != 0 {
		t.Errorf("notices = %q, want none: the person came from there before", got)
	}
}

// TestLogin_Strange_Kept forgets a network after 90 days without a login, and stores no address.
func TestLogin_Strange_Kept(t *testing.T) {
	t.Parallel()
	h, clock := harness(t)
	for range 3 {
		comesFrom(t, h, h.A.Email, webtest.Password, "198.51.100.7:1", firefox)
		clock.Advance(60 * 24 * 3600 * 1e9)
	}
	if got := told(t, h); len(got) != 0 {
		t.Errorf("notices = %q, want none: the network was used every 60 days", got)
	}
	page, err := h.Store.Query(t.Context(), store.Login(h.A.Email), store.Query{Prefix: user.ProvenKey})
	errtest.Must(t, err)
	for _, item := range page.Items {
		if strings.Contains(string(item.Body), "198.51.100.7") {
			t.Errorf("the person's item holds the address: %s", item.Body)
		}
	}
}
