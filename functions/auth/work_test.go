package auth_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/functions/auth"
	"orgops/shared/domain/company"
	"orgops/shared/domain/user"
	"orgops/shared/identity/token"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
	"orgops/shared/web"
)

// counting is a store that counts what is asked of it.
type counting struct {
	store.Store
	gets, queries, commits, ops atomic.Int64
}

func (s *counting) Get(ctx context.Context, p store.Partition, key string) (store.Item, error) {
	s.gets.Add(1)
	return s.Store.Get(ctx, p, key)
}

func (s *counting) Query(ctx context.Context, p store.Partition, q store.Query) (store.Page, error) {
	s.queries.Add(1)
	return s.Store.Query(ctx, p, q)
}

func (s *counting) Commit(ctx context.Context, ops ...store.Op) error {
	s.commits.Add(1)
	s.ops.Add(int64(len(ops)))
	return s.Store.Commit(ctx, ops...)
}

func (s *counting) take() [4]int64 {
	return [4]int64{s.gets.Swap(0), s.queries.Swap(0), s.commits.Swap(0), s.ops.Swap(0)}
}

// TestLogin_SameWork checks that a refused login costs the same reads and writes for every kind of address, also when the same
// address is tried again, and beyond the limit of the records.
func TestLogin_SameWork(t *testing.T) {
	t.Parallel()
	h := webtest.New(t)
	st := &counting{Store: h.Store}
	h.Server = web.New(web.Options{
		Title: "test", Verifier: h.Verifier, Vault: h.Vault, Audit: webtest.Record,
		Tenant: func(companyID string) store.Company { return store.For(st, companyID) },
	})
	now := later()
	auth.Register(h.API(), auth.Deps{Store: st, Hasher: h.Hasher, Keys: token.AtHand{Signs: h.Signer, Verifies: h.Verifier.Keys}, Now: func() time.Time { return now }})
	c := store.For(h.Store, h.A.ID)
	dora, _, err := company.AddUser(t.Context(), h.Store, h.Hasher, h.A.ID, company.NewUser{Email: "dora@acme.test", Role: user.Member, Password: webtest.Password}, time.Now())
	errtest.Must(t, err)
	_, _, err = company.ChangeUser(t.Context(), h.Store, c, dora, 1, company.Change{Disabled: new(true)}, time.Now())
	errtest.Must(t, err)
	invited, err := company.NewInvitation(h.A.ID, h.A.UserID, company.NewUser{Email: "ina@acme.test", Role: user.Member}, time.Now())
	errtest.Must(t, err)
	errtest.Must(t, company.Invite(t.Context(), h.Store, c, invited))
	_, err = company.SignIn(t.Context(), h.Store, c, company.Identity{Key: store.IdentityKey(h.A.ID, "i", "s"), Email: "sid@acme.test", Role: user.Member}, time.Now())
	errtest.Must(t, err)
	work := map[string][][4]int64{}
	for n := range 12 {
		for _, email := range []string{h.A.Email, "nobody@acme.test", "dora@acme.test", "ina@acme.test", "sid@acme.test"} {
			pass := "wrong password"
			if email == "dora@acme.test" {
				pass = webtest.Password
			}
			st.take()
			if got := loginFrom(h, fmt.Sprintf("198.51.100.%d:1", n), email, pass).Code; got != 401 {
				t.Fatalf("%s: status = %d, want 401", email, got)
			}
			work[email] = append(work[email], st.take())
		}
	}
	for email, got := range work {
		if diff := cmp.Diff(work[h.A.Email], got); diff != "" {
			t.Errorf("gets, queries, commits and writes of %s differ (-wrong password +got):\n%s", email, diff)
		}
	}
}

// TestLogin_OfSource limits the tries from one network for all addresses together.
func TestLogin_OfSource(t *testing.T) {
	t.Parallel()
	h, clock := harness(t)
	statuses := map[int]int{}
	var last *httptest.ResponseRecorder
	for n := range 110 {
		last = loginFrom(h, "198.51.100.7:1024", fmt.Sprintf("user%d@acme.test", n), "wrong password")
		statuses[last.Code]++
	}
	if diff := cmp.Diff(map[int]int{401: 100, 429: 10}, statuses); diff != "" {
		t.Errorf("statuses differ (-want +got):\n%s", diff)
	}
	if got, want := last.Header().Get("RateLimit-Policy"), `"login-source";q=100;w=60`; got != want {
		t.Errorf("RateLimit-Policy = %s, want %s", got, want)
	}
	if got := loginFrom(h, "198.51.100.8:1024", h.A.Email, webtest.Password).Code; got != 200 {
		t.Errorf("status from another network = %d, want 200", got)
	}
	clock.Advance(time.Minute)
	if got := loginFrom(h, "198.51.100.7:1024", h.A.Email, webtest.Password).Code; got != 200 {
		t.Errorf("status a minute later = %d, want 200", got)
	}
}

// TestChangePassword_AtOnce lets one of several changes with the same current password win.
func TestChangePassword_AtOnce(t *testing.T) {
	t.Parallel()
	h, _ := harness(t)
	statuses := make([]int, 5)
	var wg sync.WaitGroup
	for n := range statuses {
		wg.Go(func() {
			body := map[string]string{"current": webtest.Password, "new": fmt.Sprintf("nine quiet otters read %d maps", n)}
			statuses[n] = h.Do("POST", "/auth/password", h.A.Token, body).Status
		})
	}
	wg.Wait()
	won := 0
	for n, status := range statuses {
		if status != 204 {
			continue
		}
		won++
		login(h, h.A.Email, fmt.Sprintf("nine quiet otters read %d maps", n)).Want(200)
	}
	if won != 1 {
		t.Errorf("statuses = %v, want one 204", statuses)
	}
}

// TestTries_OfSource limits the invitations and codes that one network tries, together with its logins.
func TestTries_OfSource(t *testing.T) {
	t.Parallel()
	for path, body := range map[string]string{
		"/auth/invitation": `{"token":"0198c5f2-0000-7000-8000-000000000001.5MZ2NXQ4RBL6T3WUK7VYJ2CDPE","password":"nine quiet otters read maps"}`,
		"/auth/token":      `{"grant_type":"authorization_code","code":"0198c5f2-0000-7000-8000-000000000001.5MZ2NXQ4RBL6T3WUK7VYJ2CDPE","code_verifier":"dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"}`,
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			h, clock := harness(t)
			want := map[string]int{"/auth/invitation": 401, "/auth/token": 400}[path]
			from := func(address string) *httptest.ResponseRecorder {
				r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
				r.Header.Set("Content-Type", "application/json")
				r.RemoteAddr = address
				w := httptest.NewRecorder()
				h.Server.ServeHTTP(w, r)
				return w
			}
			for n := range 100 {
				if got := from("198.51.100.7:1024").Code; got != want {
					t.Fatalf("try %d: status = %d, want %d", n+1, got, want)
				}
			}
			refused := from("198.51.100.7:4096")
			if refused.Code != 429 {
				t.Errorf("status = %d, want 429", refused.Code)
			}
			got := [3]string{refused.Header().Get("Retry-After"), refused.Header().Get("RateLimit-Policy"), refused.Header().Get("Content-Type")}
			if want := [3]string{"45", `"login-source";q=100;w=60`, "application/problem+json"}; got != want {
				t.Errorf("header = %q, want %q", got, want)
			}
			if got := loginFrom(h, "198.51.100.7:1024", h.A.Email, webtest.Password).Code; got != 429 {
				t.Errorf("status of a login from there = %d, want 429", got)
			}
			if got := from("198.51.100.8:1024").Code; got != want {
				t.Errorf("status from another network = %d, want %d", got, want)
			}
			clock.Advance(time.Minute)
			if got := from("198.51.100.7:1024").Code; got != want {
				t.Errorf("status a minute later = %d, want %d", got, want)
			}
		})
	}
}
