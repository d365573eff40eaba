package auth_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/functions/auth"
	"orgops/shared/domain/company"
	"orgops/shared/identity/token"
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

// TestReset_Limit counts each asking as a try to log in.
func TestReset_Limit(t *testing.T) {
	t.Parallel()
	h, _ := harness(t)
	for range 10 {
		asks(h, h.A.Email)
	}
	h.Do("POST", "/auth/reset", "", map[string]string{"email": h.A.Email}).WantProblem(429, "quota-exceeded")
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
