package auth_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/functions/auth"
	"orgops/shared/base/id"
	"orgops/shared/base/version"
	"orgops/shared/domain/company"
	"orgops/shared/domain/user"
	"orgops/shared/identity/token"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/clocktest"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/metrictest"
	"orgops/shared/testkit/webtest"
)

// later returns a time in the future, because the store removes expired items by the machine's clock.
func later() time.Time { return time.Now().Truncate(time.Minute).Add(time.Hour) }

func harness(t *testing.T) (*webtest.Harness, *clocktest.Clock) {
	t.Helper()
	h := webtest.New(t)
	c := clocktest.At(later().Add(15 * time.Second))
	auth.Register(h.API(), auth.Deps{Store: h.Store, Hasher: h.Hasher, Vault: h.Vault, Keys: token.AtHand{Signs: h.Signer, Verifies: h.Verifier.Keys}, Issuers: []string{issuer}, Now: c.Now})
	return h, c
}

// TestLogin_Measured counts the logins refused by the limit, and not those with a wrong password.
func TestLogin_Measured(t *testing.T) {
	t.Parallel()
	h := webtest.New(t)
	now := later()
	metrics, log := metrictest.New(func() time.Time { return now })
	auth.Register(h.API(), auth.Deps{
		Store: h.Store, Hasher: h.Hasher, Keys: token.AtHand{Signs: h.Signer, Verifies: h.Verifier.Keys}, Metrics: metrics, Now: func() time.Time { return now },
	})
	for n := range 12 {
		want := 401
		if n >= 10 {
			want = 429
		}
		login(h, "nobody@acme.test", "wrong password").Want(want)
	}
	metrics.Flush("")
	if diff := cmp.Diff(map[string]float64{"LoginsLimited": 2}, metrictest.Sums(t, log.String())); diff != "" {
		t.Errorf("metrics differ (-want +got):\n%s", diff)
	}
}

func login(h *webtest.Harness, email, password string) *webtest.Response {
	return h.Do("POST", "/auth/login", "", map[string]string{"email": email, "password": password})
}

func TestLogin(t *testing.T) {
	t.Parallel()
	h, clock := harness(t)
	var got struct {
		AccessToken string `json:"access_token"`
		TokenType   string `json:"token_type"`
		ExpiresIn   int    `json:"expires_in"`
		Scope       string `json:"scope"`
		CompanyID   string `json:"company_id"`
	}
	r := login(h, "  "+strings.ToUpper(h.A.Email), webtest.Password).Want(200).JSON(&got)
	if cache := r.Header.Get("Cache-Control"); cache != "no-store" {
		t.Errorf("Cache-Control %q, want no-store", cache)
	}
	answer := got
	answer.TokenType, answer.ExpiresIn, answer.CompanyID = "Bearer", 3600, h.A.ID
	answer.Scope = strings.Join(user.Founder.Scopes(), " ")
	if diff := cmp.Diff(answer, got); diff != "" {
		t.Errorf("answer differs (-want +got):\n%s", diff)
	}
	claims, err := h.Verifier.Verify(got.AccessToken)
	if err != nil {
		t.Fatal(err)
	}
	want := token.Claims{Subject: h.A.UserID, Company: h.A.ID, Plan: "free", Role: "founder", Scopes: user.Founder.Scopes(), AuthTime: clock.Now(), Methods: []string{"pwd"}}
	claims.ID, claims.IssuedAt, claims.Expires = "", time.Time{}, time.Time{}
	if diff := cmp.Diff(want, claims); diff != "" {
		t.Errorf("claims differ (-want +got):\n%s", diff)
	}
}

func TestLogin_Refused(t *testing.T) {
	t.Parallel()
	h, _ := harness(t)
	wrong := login(h, h.A.Email, "wrong password")
	unknown := login(h, "nobody@acme.test", "wrong password")
	wrong.WantProblem(401, "unauthenticated")
	unknown.WantProblem(401, "unauthenticated")
	for _, r := range []*webtest.Response{wrong, unknown} {
		r.Header.Del("X-Request-Id")
	}
	instance := regexp.MustCompile(`urn:uuid:[0-9a-f-]+`)
	if a, b := instance.ReplaceAll(wrong.Body, nil), instance.ReplaceAll(unknown.Body, nil); !bytes.Equal(a, b) {
		t.Errorf("body for an unknown address:\n%s\nwant that for a wrong password:\n%s", b, a)
	}
	if diff := cmp.Diff(wrong.Header, unknown.Header); diff != "" {
		t.Errorf("header for an unknown address differs from that for a wrong password (-want +got):\n%s", diff)
	}
	if got := wrong.Header.Get("WWW-Authenticate"); got != "Bearer" {
		t.Errorf("WWW-Authenticate %q, want Bearer", got)
	}
	for _, secret := range []string{"wrong password", "acme.test"} {
		if log := h.Log.String(); strings.Contains(log, secret) {
			t.Errorf("the log has %q, want it without:\n%s", secret, log)
		}
	}
}

func TestLogin_BadInput(t *testing.T) {
	t.Parallel()
	h, _ := harness(t)
	tests := []struct {
		name, body string
		status     int
		kind       string
	}{
		{"no body", "", 400, "malformed"},
		{"empty object", "{}", 422, "invalid"},
		{"number for a password", `{"email":"a@b.c","password":424242}`, 422, "invalid"},
		{"unknown field", `{"email":"a@b.c","password":"x","remember":true}`, 422, "invalid"},
		{"oversized body", `{"email":"` + strings.Repeat("a", 16<<10) + `"}`, 413, "too-large"},
		{"oversized password", `{"email":"a@b.c","password":"` + strings.Repeat("424242", 200) + `"}`, 422, "invalid"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := h.In(t).Do("POST", "/auth/login", "", tt.body)
			r.WantProblem(tt.status, tt.kind)
			if strings.Contains(string(r.Body), "424242") {
				t.Errorf("answer %s, want one without the password", r.Body)
			}
		})
	}
}

func TestLogin_Limit(t *testing.T) {
	t.Parallel()
	for _, email := range []string{"ada@acme.test", "nobody@acme.test"} {
		t.Run(email, func(t *testing.T) {
			t.Parallel()
			h, clock := harness(t)
			for range 10 {
				login(h, email, "wrong password").WantProblem(401, "unauthenticated")
			}
			r := login(h, email, webtest.Password)
			r.WantProblem(429, "quota-exceeded")
			got := map[string]string{}
			for _, name := range []string{"Retry-After", "RateLimit", "RateLimit-Policy"} {
				got[name] = r.Header.Get(name)
			}
			want := map[string]string{"Retry-After": "45", "RateLimit": `"login";r=0;t=45`, "RateLimit-Policy": `"login";q=10;w=60`}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("header differs (-want +got):\n%s", diff)
			}
			login(h, "bob@beta.test", webtest.Password).Want(200)
			clock.Advance(time.Minute)
			if email == h.A.Email {
				login(h, email, webtest.Password).Want(200)
			}
		})
	}
}

// loginFrom logs in from a network address, with headers that claim other ones.
func loginFrom(h *webtest.Harness, address, email, password string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", "/auth/login", strings.NewReader(fmt.Sprintf(`{"email":%q,"password":%q}`, email, password)))
	r.Header.Set("Content-Type", "application/json")
	for _, name := range []string{"X-Forwarded-For", "X-Real-Ip", "Forwarded", "True-Client-Ip"} {
		r.Header.Set(name, id.New())
	}
	r.RemoteAddr = address
	w := httptest.NewRecorder()
	h.Server.ServeHTTP(w, r)
	return w
}

// TestLogin_Source lets a user in whose address was tried too often from another network.
func TestLogin_Source(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ attacker, near, far string }{
		{"198.51.100.7:1024", "198.51.100.7:4096", "198.51.100.8:1024"},
		{"198.51.100.7", "198.51.100.7", "203.0.113.1"}, // as a gateway reports it
		{"[2001:db8:0:1::1]:1024", "[2001:db8:0:1:ffff::2]:1024", "[2001:db8:0:2::1]:1024"},
		{"[::ffff:198.51.100.7]:1024", "198.51.100.7:1024", "[::ffff:198.51.100.8]:1024"},
	} {
		h, _ := harness(t)
		for range 10 {
			if got := loginFrom(h, tt.attacker, h.A.Email, "wrong password").Code; got != 401 {
				t.Errorf("%s: status = %d, want 401", tt.attacker, got)
			}
		}
		for address, want := range map[string]int{tt.attacker: 429, tt.near: 429, tt.far: 200} {
			if got := loginFrom(h, address, h.A.Email, webtest.Password).Code; got != want {
				t.Errorf("after ten wrong passwords from %s: status from %s = %d, want %d", tt.attacker, address, got, want)
			}
		}
	}
}

// TestLogin_Sources limits the tries from many networks together.
func TestLogin_Sources(t *testing.T) {
	t.Parallel()
	h, _ := harness(t)
	statuses := map[int]int{}
	for n := range 110 {
		statuses[loginFrom(h, fmt.Sprintf("198.51.100.%d:1024", n/5), h.A.Email, "wrong password").Code]++
	}
	if diff := cmp.Diff(map[int]int{401: 100, 429: 10}, statuses); diff != "" {
		t.Errorf("statuses differ (-want +got):\n%s", diff)
	}
	refused := loginFrom(h, "203.0.113.1:1024", h.A.Email, webtest.Password)
	got := map[string]string{}
	for _, name := range []string{"Retry-After", "RateLimit", "RateLimit-Policy"} {
		got[name] = refused.Header().Get(name)
	}
	want := map[string]string{"Retry-After": "45", "RateLimit": `"login-email";r=0;t=45`, "RateLimit-Policy": `"login-email";q=100;w=60`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("header differs (-want +got):\n%s", diff)
	}
}

// TestLogin_TriesDoNotPileUp checks that repeated tries leave a single item to read at a login.
func TestLogin_TriesDoNotPileUp(t *testing.T) {
	t.Parallel()
	h, clock := harness(t)
	for range 5 {
		login(h, h.A.Email, "wrong password").WantProblem(401, "unauthenticated")
		clock.Advance(time.Minute)
	}
	page, err := h.Store.Query(t.Context(), store.Login(h.A.Email), store.Query{})
	if err != nil {
		t.Fatal(err)
	}
	if len(page.Items) > 3 { // the person, the login and the tries
		t.Errorf("%d items, want at most 3", len(page.Items))
	}
}

// TestLogin_LimitAcrossClocks checks that a process with a slow clock does not reset the count.
func TestLogin_LimitAcrossClocks(t *testing.T) {
	t.Parallel()
	h, clock := harness(t)
	clock.Advance(time.Minute)
	for range 10 {
		login(h, h.A.Email, "wrong password").WantProblem(401, "unauthenticated")
	}
	clock.Advance(-time.Minute)
	login(h, h.A.Email, webtest.Password).WantProblem(429, "quota-exceeded")
	clock.Advance(2 * time.Minute)
	login(h, h.A.Email, webtest.Password).Want(200)
}

// TestLogin_LimitAtOnce checks that concurrent tries cannot exceed the limit.
func TestLogin_LimitAtOnce(t *testing.T) {
	t.Parallel()
	h, _ := harness(t)
	statuses := make([]int, 30)
	var wg sync.WaitGroup
	for i := range statuses {
		wg.Go(func() { statuses[i] = login(h, h.A.Email, fmt.Sprint("wrong", i)).Status })
	}
	wg.Wait()
	counts := map[int]int{}
	for _, s := range statuses {
		counts[s]++
	}
	if diff := cmp.Diff(map[int]int{401: 10, 429: 20}, counts); diff != "" {
		t.Errorf("statuses differ (-want +got):\n%s", diff)
	}
}

// TestLogin_Integration binds the token of an integration's user to the provider. A user who was stored without a provider
// gets no scope.
func TestLogin_Integration(t *testing.T) {
	t.Parallel()
	h, _ := harness(t)
	in := company.NewUser{Email: "bot@acme.test", Role: user.Integration, Provider: "github", Password: webtest.Password}
	_, _, err := company.AddUser(t.Context(), h.Store, h.Hasher, h.A.ID, in, time.Now())
	errtest.Must(t, err)
	session := func() token.Claims {
		t.Helper()
		var got struct {
			AccessToken string `json:"access_token"`
		}
		login(h, in.Email, in.Password).Want(200).JSON(&got)
		claims, err := h.Verifier.Verify(got.AccessToken)
		errtest.Must(t, err)
		return token.Claims{Provider: claims.Provider, Scopes: claims.Scopes}
	}
	scopes := []string{"memory:read", "memory:write", "integrations:read", "integrations:write"}
	if diff := cmp.Diff(token.Claims{Provider: "github", Scopes: scopes}, session()); diff != "" {
		t.Errorf("claims (-want +got):\n%s", diff)
	}
	partition := store.Login(in.Email)
	item, err := h.Store.Get(t.Context(), partition, user.LoginKey(h.A.ID))
	errtest.Must(t, err)
	var stored user.Login
	errtest.Must(t, json.Unmarshal(item.Body, &stored))
	stored.Provider = ""
	errtest.Must(t, h.Store.Commit(t.Context(), partition.Entry(user.LoginKey(h.A.ID), user.LoginEntity, item.Version, stored)))
	if diff := cmp.Diff(token.Claims{Scopes: []string{}}, session()); diff != "" {
		t.Errorf("claims without a provider (-want +got):\n%s", diff)
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	h, _ := harness(t)
	r := h.Do("GET", "/.well-known/jwks.json", "", nil).Want(200)
	keys, err := token.ParseJWKS(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(h.Verifier.Keys().JWKS(), keys.JWKS()); diff != "" {
		t.Errorf("keys differ (-want +got):\n%s", diff)
	}
	for name, want := range map[string]string{"Content-Type": "application/jwk-set+json", "Cache-Control": "public, max-age=300"} {
		if got := r.Header.Get(name); got != want {
			t.Errorf("%s %q, want %q", name, got, want)
		}
	}
	if strings.Contains(string(r.Body), `"d"`) {
		t.Errorf("published %s, want no private key", r.Body)
	}
}

func TestLiveness(t *testing.T) {
	t.Parallel()
	h, _ := harness(t)
	var got auth.Liveness
	h.Do("GET", "/healthz", "", nil).Want(200).JSON(&got)
	built := version.Get()
	want := auth.Liveness{Status: "pass", Version: built.Release, Commit: built.Commit}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("liveness differs (-want +got):\n%s", diff)
	}
	if r := h.Do("HEAD", "/healthz", "", nil).Want(200); len(r.Body) > 0 {
		t.Errorf("HEAD answers the body %q, want none", r.Body)
	}
}
