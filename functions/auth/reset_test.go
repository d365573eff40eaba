package auth_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/functions/auth"
	"orgops/shared/domain/company"
	"orgops/shared/domain/notice"
	"orgops/shared/identity/token"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
)

func asks(h *webtest.Harness, email string) {
	h.Do("POST", "/auth/reset", "", map[string]string{"email": email}).Want(202)
}

func resets(h *webtest.Harness, code, pass string) *webtest.Response {
	return h.Do("POST", "/auth/reset/"+code, "", map[string]string{"password": pass})
}

// TestReset sets a new password with a code, once. The tokens of the person end, and the earlier password too.
func TestReset(t *testing.T) {
	t.Parallel()
	h, clock := harness(t)
	joins(t, h, h.B.ID, h.A.Email, webtest.Password)
	held := signIn(h, h.A.Email, webtest.Password)
	if _, err := company.NewResetCode(t.Context(), h.Store, h.A.Email, clock.Now()); err == nil {
		t.Error("a code for a reset that was not asked for, want none")
	}
	asks(h, h.A.Email)
	code, err := company.NewResetCode(t.Context(), h.Store, h.A.Email, clock.Now())
	errtest.Must(t, err)
	if got, want := code.ExpiresAt, clock.Now().Add(30*time.Minute).UTC(); !got.Equal(want) {
		t.Errorf("the code expires at %v, want %v", got, want)
	}
	asks(h, h.A.Email) // and does not end the code
	for _, method := range []string{"GET", "HEAD"} {
		h.Do(method, "/auth/reset/"+code.Code, "", nil).Want(405)
	}
	resets(h, code.Code, "ada@acme-2026").WantProblem(422, "invalid") // and does not use the code up
	for _, r := range recorded(t, h, h.A.ID) {
		if strings.Contains(r.Resource, code.Code) {
			t.Errorf("the record of %s holds the code", r.Operation)
		}
	}
	var done auth.PasswordReset
	resets(h, code.Code, another).Want(200).JSON(&done)
	if done.Companies != 2 {
		t.Errorf("companies = %d, want 2", done.Companies)
	}
	resets(h, code.Code, "eight loud otters read maps").WantProblem(401, "unauthenticated")
	h.Forget()
	h.Do("POST", "/auth/sign-out", held, nil).WantProblem(401, "unauthenticated")
	login(h, h.A.Email, webtest.Password).Want(401)
	signIn(h, h.A.Email, another)
}

// TestReset_Refused refuses an expired code, a code that a newer code replaced, and codes that never were.
func TestReset_Refused(t *testing.T) {
	t.Parallel()
	h, clock := harness(t)
	asked := func() string {
		t.Helper()
		asks(h, h.A.Email)
		code, err := company.NewResetCode(t.Context(), h.Store, h.A.Email, clock.Now())
		errtest.Must(t, err)
		return code.Code
	}
	replaced := asked()
	expired := asked()
	resets(h, replaced, another).WantProblem(401, "unauthenticated")
	resets(h, "5MZ2NXQ4RBL6T3WUK7VYJ2CDPE", another).WantProblem(401, "unauthenticated")
	clock.Advance(30 * time.Minute)
	resets(h, expired, another).WantProblem(401, "unauthenticated")
	asks(h, h.A.Email)
	clock.Advance(31 * time.Minute)
	if _, err := company.NewResetCode(t.Context(), h.Store, h.A.Email, clock.Now()); err == nil {
		t.Error("a code for a reset that was asked for 31 minutes ago, want none")
	}
	signIn(h, h.A.Email, webtest.Password)
}

// TestReset_Limit limits what one address and one network ask for in an hour, because each asking brings a mail.
func TestReset_Limit(t *testing.T) {
	t.Parallel()
	h, clock := harness(t)
	for range company.MaxResets {
		asks(h, h.A.Email)
	}
	ask := func(email string) *webtest.Response {
		return h.Do("POST", "/auth/reset", "", map[string]string{"email": email})
	}
	refused := ask(h.A.Email)
	refused.WantProblem(429, "quota-exceeded")
	if got, want := refused.Header.Get("Ratelimit-Policy"), `"reset";q=3;w=3600`; got != want {
		t.Errorf("RateLimit-Policy = %s, want %s", got, want)
	}
	code, err := company.NewResetCode(t.Context(), h.Store, h.A.Email, clock.Now())
	errtest.Must(t, err)
	resets(h, code.Code, another).Want(200)
	ask(h.A.Email).WantProblem(429, "quota-exceeded") // a reset that was used still counts
	for n := range company.MaxResetsOfSource - company.MaxResets {
		asks(h, fmt.Sprintf("nobody%d@acme.test", n))
	}
	refused = ask("ida@acme.test")
	refused.WantProblem(429, "quota-exceeded")
	if got, want := refused.Header.Get("Ratelimit-Policy"), `"reset-source";q=20;w=3600`; got != want {
		t.Errorf("RateLimit-Policy = %s, want %s", got, want)
	}
	clock.Advance(time.Hour)
	asks(h, h.A.Email)
}

// TestReset_Notice notes who is to get the code, and holds no code: it is made when the mail is sent.
func TestReset_Notice(t *testing.T) {
	t.Parallel()
	h, _ := harness(t)
	asks(h, h.A.Email)
	asks(h, "nobody@acme.test")
	for companyID, want := range map[string]string{h.A.ID: h.A.UserID, notice.Nowhere: ""} {
		var got []notice.Stored
		for item, err := range store.For(h.Store, companyID).Items(t.Context(), store.Query{Prefix: notice.Prefix}) {
			errtest.Must(t, err)
			var n notice.Stored
			errtest.Must(t, item.Decode(&n))
			got = append(got, n)
		}
		if len(got) != 1 {
			t.Fatalf("company %s: %d notices, want 1", companyID, len(got))
		}
		if want == "" {
			want = got[0].UserID // no one's
		}
		if diff := cmp.Diff([]string{want, notice.PasswordReset, ""}, []string{got[0].UserID, got[0].Name, string(got[0].Code)}); diff != "" {
			t.Errorf("company %s: user, name and code differ (-want +got):\n%s", companyID, diff)
		}
	}
}

// TestReset_SameWork answers the same, after the same work, for a known address and an unknown one.
func TestReset_SameWork(t *testing.T) {
	t.Parallel()
	h := webtest.New(t)
	st := &counting{Store: h.Store}
	auth.Register(h.API(), auth.Deps{Store: st, Hasher: h.Hasher, Keys: token.AtHand{Signs: h.Signer, Verifies: h.Verifier.Keys}})
	work, answers := map[string][][4]int64{}, map[string]string{}
	for range 2 {
		for _, email := range []string{h.A.Email, "nobody@acme.test"} {
			st.take()
			answers[email] = string(h.Do("POST", "/auth/reset", "", map[string]string{"email": email}).Want(202).Body)
			work[email] = append(work[email], st.take())
		}
	}
	if diff := cmp.Diff(work[h.A.Email], work["nobody@acme.test"]); diff != "" {
		t.Errorf("gets, queries, commits and writes differ (-known +unknown):\n%s", diff)
	}
	if diff := cmp.Diff(answers[h.A.Email], answers["nobody@acme.test"]); diff != "" {
		t.Errorf("answers differ (-known +unknown):\n%s", diff)
	}
}
