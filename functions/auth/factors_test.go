package auth_test

import (
	"encoding/base32"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/functions/auth"
	"orgops/functions/operations"
	"orgops/shared/domain/audit"
	"orgops/shared/domain/company"
	"orgops/shared/domain/notice"
	"orgops/shared/domain/user"
	"orgops/shared/identity/token"
	"orgops/shared/identity/totp"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/clocktest"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
)

// person is a person with a second factor, as an authenticator app knows it.
type person struct {
	*webtest.Harness
	t        *testing.T
	clock    *clocktest.Clock
	email    string
	factorID string
	key      []byte
	recovery []string
	session  string // that has proved the factor
}

// enrols gives a person who logs in with webtest.Password a second factor.
func enrols(t *testing.T, h *webtest.Harness, clock *clocktest.Clock, email string) *person {
	t.Helper()
	p := &person{Harness: h, t: t, clock: clock, email: email}
	p.enrol(signIn(h, email, webtest.Password))
	return p
}

// enrol enrols a factor with a session.
func (p *person) enrol(bearer string) {
	p.t.Helper()
	var begun auth.Enrolment
	p.Do("POST", "/auth/factors", bearer, map[string]string{"kind": "totp", "name": "Phone"}).Want(201).JSON(&begun)
	key, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(begun.Secret)
	errtest.Must(p.t, err)
	p.factorID, p.key = begun.ID, key
	var done struct {
		RecoveryCodes []string
		Session       entered
	}
	p.Do("POST", "/auth/factors/"+p.factorID+"/confirm", bearer, map[string]string{"code": p.code()}).Want(200).JSON(&done)
	p.recovery, p.session = done.RecoveryCodes, done.Session.Token
}

// code returns the code that the app shows now.
func (p *person) code() string { return totp.At(p.key, p.clock.Now()) }

// next waits for the next code.
func (p *person) next() string {
	p.clock.Advance(30 * time.Second)
	return p.code()
}

// wrong returns a code that is wrong now.
func (p *person) wrong() string {
	for n := range 10 {
		if code := fmt.Sprintf("%06d", n); code != p.code() && code != totp.At(p.key, p.clock.Now().Add(30*time.Second)) && code != totp.At(p.key, p.clock.Now().Add(-30*time.Second)) {
			return code
		}
	}
	panic("ten codes are right")
}

// challenged logs in with the password and returns the challenge.
func (p *person) challenged() string {
	p.t.Helper()
	got := login(p.Harness, p.email, webtest.Password).WantProblem(401, "second-factor-required")
	if got.Challenge == nil {
		p.t.Fatal("a problem without a challenge, want one")
	}
	return got.Challenge.ID
}

func (p *person) answer(challenge, code string) *webtest.Response {
	return p.Do("POST", "/auth/challenge", "", map[string]string{"challenge": challenge, "code": code})
}

// signIn logs in with both factors.
func (p *person) signIn() entered {
	p.t.Helper()
	return read(p.answer(p.challenged(), p.next()).Want(200))
}

// TestFactor enrols a second factor and logs in with it. A recovery code stands in for it, each code counts once, and the factor is
// removed by a session that has proved it.
func TestFactor(t *testing.T) {
	t.Parallel()
	h, clock := harness(t)
	held := signIn(h, h.A.Email, webtest.Password)
	p := enrols(t, h, clock, h.A.Email)
	if got := len(p.recovery); got != 10 {
		t.Fatalf("%d recovery codes, want 10", got)
	}
	got := p.signIn()
	claims, err := h.Verifier.Verify(got.Token)
	errtest.Must(t, err)
	if diff := cmp.Diff([]string{"mfa", "otp", "pwd"}, claims.Methods); diff != "" {
		t.Errorf("methods differ (-want +got):\n%s", diff)
	}
	var list auth.FactorList
	h.Do("GET", "/auth/factors", held, nil).Want(200).JSON(&list) // no session ended
	if diff := cmp.Diff([]any{1, "Phone", "totp", 10}, []any{len(list.Factors), list.Factors[0].Name, list.Factors[0].Kind, list.RecoveryCodes}); diff != "" {
		t.Errorf("list differs (-want +got):\n%s", diff)
	}
	challenge := p.challenged()
	p.answer(challenge, p.code()).WantProblem(401, "unauthenticated") // it was used
	p.answer(challenge, strings.ToLower(p.recovery[3])).Want(200)
	p.answer(p.challenged(), p.recovery[3]).WantProblem(401, "unauthenticated")
	session := read(p.answer(p.challenged(), strings.ReplaceAll(p.recovery[4], "-", " ")).Want(200)).Token
	h.Do("GET", "/auth/factors", session, nil).Want(200).JSON(&list)
	if list.RecoveryCodes != 8 {
		t.Errorf("%d recovery codes are left, want 8", list.RecoveryCodes)
	}
	var renewed auth.NewRecoveryCodes
	for range 2 {
		h.Do("POST", "/auth/recovery-codes", session, nil, "Idempotency-Key", "k").Want(201).JSON(&renewed)
	}
	kept, err := store.For(h.Store, h.A.ID).Query(t.Context(), store.Query{Prefix: "IDEMPOTENCY#"})
	errtest.Must(t, err)
	var answer struct{ Body []byte }
	errtest.Must(t, kept.Items[0].Decode(&answer))
	if len(answer.Body) == 0 {
		t.Error("no answer is kept, want a sealed answer")
	}
	if strings.Contains(string(answer.Body), renewed.RecoveryCodes[0]) {
		t.Errorf("kept answer = %q, want a sealed answer", answer.Body)
	}
	p.answer(p.challenged(), p.recovery[5]).WantProblem(401, "unauthenticated")
	p.answer(p.challenged(), renewed.RecoveryCodes[5]).Want(200)
	h.Do("DELETE", "/auth/factors/"+unknownFactor, session, nil).WantProblem(404, "not-found")
	h.Do("DELETE", "/auth/factors/"+p.factorID, session, nil).Want(204)
	h.Do("POST", "/auth/recovery-codes", session, nil).WantProblem(409, "conflict")
	login(h, h.A.Email, webtest.Password).Want(200)
}

// unknownFactor is the id of no factor.
const unknownFactor = "0198c5f2-7a00-7000-8000-00000000000b"

// TestFactor_Enrolment changes nothing before the first code, which comes in time, and refuses a session that is not fresh.
func TestFactor_Enrolment(t *testing.T) {
	t.Parallel()
	h, clock := harness(t)
	session := signIn(h, h.A.Email, webtest.Password)
	p := &person{Harness: h, t: t, clock: clock, email: h.A.Email}
	begin := func(bearer string, status int) (begun auth.Enrolment) {
		t.Helper()
		r := h.Do("POST", "/auth/factors", bearer, map[string]string{"kind": "totp"}).Want(status)
		if status == 201 {
			r.JSON(&begun)
			p.key, _ = base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(begun.Secret)
		}
		return begun
	}
	confirm := func(factorID, code string) *webtest.Response {
		return h.Do("POST", "/auth/factors/"+factorID+"/confirm", session, map[string]string{"code": code})
	}
	first := begin(session, 201)
	confirm(first.ID, p.wrong()).WantProblem(422, "invalid")
	second := begin(session, 201)
	confirm(first.ID, p.code()).WantProblem(404, "not-found")
	login(h, h.A.Email, webtest.Password).Want(200)
	clock.Advance(4 * time.Minute)
	confirm(second.ID, p.code()).Want(200)
	confirm(second.ID, p.next()).WantProblem(401, "unauthenticated") // the session has not proved the factor
	begin(h.A.Token, 401)                                            // a token that tells no login
	old := signIn(h, h.B.Email, webtest.Password)
	clock.Advance(auth.MaxProofAge + time.Second)
	r := h.Do("POST", "/auth/factors", old, map[string]string{"kind": "totp"})
	r.WantProblem(401, "unauthenticated")
	if got, want := r.Header.Get("WWW-Authenticate"), `Bearer error="insufficient_user_authentication", max_age="300"`; got != want {
		t.Errorf("WWW-Authenticate = %s, want %s", got, want)
	}
}

// TestFactor_Late refuses the first code after ten minutes, with a fresh session.
func TestFactor_Late(t *testing.T) {
	t.Parallel()
	h, clock := harness(t)
	var begun auth.Enrolment
	h.Do("POST", "/auth/factors", signIn(h, h.A.Email, webtest.Password), map[string]string{"kind": "totp"}).Want(201).JSON(&begun)
	clock.Advance(company.EnrolmentKept + time.Second)
	h.Do("POST", "/auth/factors/"+begun.ID+"/confirm", signIn(h, h.A.Email, webtest.Password), map[string]string{"code": "000000"}).WantProblem(404, "not-found")
}

// TestFactor_Removal needs a fresh session that has proved a factor: neither a stolen token of before nor the password alone removes it.
func TestFactor_Removal(t *testing.T) {
	t.Parallel()
	h, clock := harness(t)
	before := signIn(h, h.A.Email, webtest.Password)
	p := enrols(t, h, clock, h.A.Email)
	remove := func(bearer string) *webtest.Response {
		return h.Do("DELETE", "/auth/factors/"+p.factorID, bearer, nil)
	}
	remove(before).WantProblem(401, "unauthenticated")
	remove(h.B.Token).WantProblem(401, "unauthenticated")
	clock.Advance(auth.MaxProofAge + time.Second)
	remove(p.session).WantProblem(401, "unauthenticated")
	other := enrols(t, h, clock, h.B.Email)
	remove(other.session).WantProblem(404, "not-found")
	remove(p.signIn().Token).Want(204)
}

// TestChallenge_Attacks refuses a challenge that is used, old, of another person, or older than the password.
func TestChallenge_Attacks(t *testing.T) {
	t.Parallel()
	h, clock := harness(t)
	p, other := enrols(t, h, clock, h.A.Email), enrols(t, h, clock, h.B.Email)
	used := p.challenged()
	p.answer(used, p.next()).Want(200)
	p.answer(used, p.next()).WantProblem(401, "unauthenticated")
	p.answer(p.challenged(), other.code()).WantProblem(401, "unauthenticated")
	old := p.challenged()
	clock.Advance(company.ChallengeKept)
	p.answer(old, p.code()).WantProblem(401, "unauthenticated")
	p.answer("unknown", p.code()).WantProblem(401, "unauthenticated")
	stale := p.challenged()
	changePassword(h, p.signIn().Token, webtest.Password, another).Want(204)
	p.answer(stale, p.next()).WantProblem(401, "unauthenticated")
	wrong := login(h, p.email, webtest.Password)
	wrong.WantProblem(401, "unauthenticated") // the wrong password tells nothing of the factor
}

// TestChallenge_BruteForce refuses every code after ten wrong ones within an hour, also the right code, and for every challenge.
func TestChallenge_BruteForce(t *testing.T) {
	t.Parallel()
	h, clock := harness(t)
	p := enrols(t, h, clock, h.A.Email)
	for n := range company.MaxWrongCodes {
		if n == company.MaxWrongCodes-1 {
			p.signIn() // a right code between them changes nothing
		}
		p.answer(p.challenged(), p.wrong()).WantProblem(401, "unauthenticated")
		clock.Advance(20 * time.Second)
	}
	r := p.answer(p.challenged(), p.next())
	r.WantProblem(429, "quota-exceeded")
	if got, want := r.Header.Get("Retry-After"), fmt.Sprint(3600-10*20-2*30); got != want {
		t.Errorf("Retry-After = %s, want %s", got, want)
	}
	p.answer(p.challenged(), p.recovery[0]).WantProblem(429, "quota-exceeded")
	clock.Advance(company.WrongKept)
	p.answer(p.challenged(), p.code()).Want(200)
}

// TestChallenge_AtOnce has many tries at once with one right code: one gets a token.
func TestChallenge_AtOnce(t *testing.T) {
	t.Parallel()
	h, clock := harness(t)
	p := enrols(t, h, clock, h.A.Email)
	challenges, code := []string{p.challenged(), p.challenged()}, p.next()
	var mu sync.Mutex
	var tries sync.WaitGroup
	got := map[int]int{}
	for n := range 8 {
		tries.Go(func() {
			status := p.answer(challenges[n%2], code).Status
			mu.Lock()
			defer mu.Unlock()
			got[status]++
		})
	}
	tries.Wait()
	if got[http.StatusOK] != 1 {
		t.Errorf("statuses = %v, want one 200", got)
	}
	if refused := got[http.StatusUnauthorized] + got[http.StatusConflict]; refused != 7 {
		t.Errorf("statuses = %v, want 401 or 409 for the others", got)
	}
}

// TestFactor_Reset replaces the password and neither removes the factor nor skips it. A person of the address with a factor stays apart
// from one without, so that no factor leads to what another one protects.
func TestFactor_Reset(t *testing.T) {
	t.Parallel()
	h, clock := harness(t)
	const email = "sam@stranger.test"
	squat := &person{Harness: h, t: t, clock: clock, email: email}
	joins(t, h, h.B.ID, email, another)
	squat.enrol(signIn(h, email, another))
	own := founds(t, h, "Stranger", email, webtest.Password)
	clock.Advance(time.Minute)
	p := enrols(t, h, clock, email)
	asks(h, email)
	code, err := company.NewResetCode(t.Context(), h.Store, email, clock.Now())
	errtest.Must(t, err)
	resets(h, code.Code, webtest.Password).Want(200)
	clock.Advance(time.Minute)
	p.answer(p.challenged(), squat.code()).WantProblem(401, "unauthenticated")
	want := entered{Status: 200, CompanyID: own.CompanyID, Companies: []auth.Membership{{ID: own.CompanyID, Name: "Stranger", Role: user.Founder}}}
	if diff := cmp.Diff(want, p.signIn().where()); diff != "" {
		t.Errorf("answer differs (-want +got):\n%s", diff)
	}
	_, err = company.SetPassword(t.Context(), h.Store, h.Hasher, email, webtest.Password, clock.Now())
	errtest.Must(t, err)
	clock.Advance(time.Minute)
	p.signIn()
}

// TestFactor_Squatter has a company make a person of a stranger's address, with a factor. A reset by the stranger leads to the stranger's
// own company without that factor.
func TestFactor_Squatter(t *testing.T) {
	t.Parallel()
	h, clock := harness(t)
	const email = "sam@stranger.test"
	joins(t, h, h.B.ID, email, webtest.Password)
	enrols(t, h, clock, email)
	joins(t, h, h.A.ID, email, another)
	asks(h, email)
	code, err := company.NewResetCode(t.Context(), h.Store, email, clock.Now())
	errtest.Must(t, err)
	resets(h, code.Code, "eight loud otters read maps").Want(200)
	clock.Advance(time.Minute)
	want := entered{Status: 200, CompanyID: h.A.ID, Companies: []auth.Membership{{ID: h.A.ID, Name: "Acme", Role: user.Member}}}
	if diff := cmp.Diff(want, enter(h, map[string]string{"email": email, "password": "eight loud otters read maps"}).where()); diff != "" {
		t.Errorf("answer differs (-want +got):\n%s", diff)
	}
}

// TestFactor_Downgrade leads past the factor neither by an invitation nor by a switch of the company, with a session that has not proved it.
func TestFactor_Downgrade(t *testing.T) {
	t.Parallel()
	h, clock := harness(t)
	before := signIn(h, h.A.Email, webtest.Password)
	p := enrols(t, h, clock, h.A.Email)
	invitation := invites(t, h, h.B.ID, h.A.Email)
	accept(h, invitation, webtest.Password).WantProblem(401, "second-factor-required")
	by := func(bearer string) *webtest.Response {
		return h.Do("POST", "/auth/invitation", "", map[string]string{"token": invitation}, "Authorization", "Bearer "+bearer)
	}
	by(before).WantProblem(401, "second-factor-required")
	session, err := h.Verifier.Verify(p.session)
	errtest.Must(t, err)
	clock.Advance(time.Minute)
	claims, err := h.Verifier.Verify(read(by(p.session).Want(200)).Token)
	errtest.Must(t, err)
	if !claims.Expires.Equal(session.Expires) {
		t.Errorf("the token of the invitation ends at %v, want the end of the session, %v", claims.Expires, session.Expires)
	}
	if diff := cmp.Diff([]string{"mfa", "otp", "pwd"}, claims.Methods); diff != "" {
		t.Errorf("methods differ (-want +got):\n%s", diff)
	}
	if got := refused(switches(h, before, h.B.ID).Want(400)).Code; got != "invalid_target" {
		t.Errorf("code of a switch without the factor = %q, want invalid_target", got)
	}
	after, err := h.Verifier.Verify(read(switches(h, p.session, h.B.ID).Want(200)).Token)
	errtest.Must(t, err)
	if diff := cmp.Diff(claims.Methods, after.Methods); diff != "" {
		t.Errorf("methods after a switch differ (-want +got):\n%s", diff)
	}
	if !after.AuthTime.Equal(claims.AuthTime) {
		t.Errorf("auth_time after a switch = %v, want that of the session, %v", after.AuthTime, claims.AuthTime)
	}
	p.signIn()
}

// executiveToken issues an executive's own token.
func executiveToken(t *testing.T, h *webtest.Harness, companyID string) string {
	t.Helper()
	text, err := h.Signer.Issue(token.Claims{
		Subject: unknownFactor, Executive: unknownFactor, Client: unknownFactor, Company: companyID, Scopes: []string{user.ScopeExecutivesAct}, Depends: map[string]int64{},
	})
	errtest.Must(t, err)
	return text
}

// TestFactor_Consent lets a third party outlive only a session that has proved the person's factor. A grant of before goes on until the
// company requires a factor.
func TestFactor_Consent(t *testing.T) {
	t.Parallel()
	m := newMachines(t)
	agent := m.document(nil)
	before := signIn(m.Harness, m.A.Email, webtest.Password)
	weak := agent.got(agent.exchange(agent.consent(before, nil, nil).Get("code"), nil))
	p := enrols(t, m.Harness, m.clock, m.A.Email)
	body := agent.request(object{"allow": true, "scopes": []string{"memory:read"}})
	r := m.Do("POST", "/auth/consent", before, body)
	r.WantProblem(401, "unauthenticated")
	if got, want := r.Header.Get("WWW-Authenticate"), `Bearer error="insufficient_user_authentication"`; got != want {
		t.Errorf("WWW-Authenticate = %s, want %s", got, want)
	}
	strong := agent.got(agent.exchange(agent.consent(p.session, nil, nil).Get("code"), nil))
	weak = agent.got(agent.refreshed(weak.Refresh, nil))
	errtest.Must(t, company.RequireSecondFactor(t.Context(), store.For(m.Store, m.A.ID), true))
	m.wantRefused("a grant of a session without a factor", agent.refreshed(weak.Refresh, nil), 400, "invalid_grant")
	agent.got(agent.refreshed(strong.Refresh, nil))
}

// TestFactor_Told records an enrolment in each company of the person, and tells the person.
func TestFactor_Told(t *testing.T) {
	t.Parallel()
	h, clock := harness(t)
	joins(t, h, h.B.ID, h.A.Email, webtest.Password)
	p := &person{Harness: h, t: t, clock: clock, email: h.A.Email}
	p.enrol(enter(h, map[string]string{"email": h.A.Email, "password": webtest.Password, "company": h.A.ID}).Token)
	clock.Advance(time.Second)
	h.Do("DELETE", "/auth/factors/"+p.factorID, p.session, nil).Want(204)
	for companyID, want := range map[string][]string{h.A.ID: {"begin-factor", "confirm-factor", "remove-factor"}, h.B.ID: {"confirm-factor", "remove-factor"}} {
		var got []string
		for _, r := range recorded(t, h, companyID) {
			if strings.HasSuffix(r.Operation, "-factor") {
				got = append(got, r.Operation)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("records of %s differ (-want +got):\n%s", companyID, diff)
		}
	}
	wantTold(t, h, h.A.ID, "A second factor was added to your login", "A second factor was removed from your login")
	wantTold(t, h, h.B.ID)
}

// wantTold checks the subjects of the notices about a user's own access that a company's users were sent, the oldest first.
func wantTold(t *testing.T, h *webtest.Harness, companyID string, want ...string) {
	t.Helper()
	var told []string
	for item, err := range store.For(h.Store, companyID).Items(t.Context(), store.Query{Prefix: notice.Prefix}) {
		errtest.Must(t, err)
		var n notice.Stored
		errtest.Must(t, item.Decode(&n))
		if n.Kind == notice.Security {
			told = append(told, n.Subject)
		}
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("notices differ (-want +got):\n%s", diff)
	}
}

// TestFactor_RecoveryTold tells a person of a recovery code that was used, and of none that was wrong.
func TestFactor_RecoveryTold(t *testing.T) {
	t.Parallel()
	h, clock := harness(t)
	p := enrols(t, h, clock, h.A.Email)
	clock.Advance(time.Second)
	challenge := p.challenged()
	p.answer(challenge, "AAAA-AAAA-AAAA-AAAA").WantProblem(401, "unauthenticated")
	wantTold(t, h, h.A.ID, "A second factor was added to your login")
	p.answer(challenge, p.recovery[3]).Want(200)
	wantTold(t, h, h.A.ID, "A second factor was added to your login", "A recovery code was used to sign in")
}

// TestFactor_Required lets a user without a second factor only enrol one, and into the company by no other way. A sign-in through the
// company's identity provider counts.
func TestFactor_Required(t *testing.T) {
	t.Parallel()
	h, clock := harness(t)
	operations.Register(h.API(), operations.Deps{Store: h.Store, Vault: h.Vault, Now: clock.Now})
	joins(t, h, h.B.ID, h.A.Email, webtest.Password)
	require := func(bearer string, required bool) *webtest.Response {
		return h.Do("PUT", "/companies/"+h.B.ID+"/operations/second-factor", bearer, map[string]bool{"required": required})
	}
	require(h.UserToken(h.B.ID, h.B.UserID, user.Operator), true).WantProblem(403, "insufficient-scope")
	without := signIn(h, h.B.Email, webtest.Password)
	require(without, true).WantProblem(409, "conflict")
	require(enrols(t, h, clock, h.B.Email).session, true).Want(200)
	require(without, false).WantProblem(409, "conflict")

	weak := func(companyID string) (got struct {
		Token    string `json:"access_token"`
		Scope    string
		Required bool `json:"enrolment_required"`
	}) {
		t.Helper()
		h.Do("POST", "/auth/login", "", map[string]string{"email": h.A.Email, "password": webtest.Password, "company": companyID}).Want(200).JSON(&got)
		return got
	}
	at := weak(h.B.ID)
	if diff := cmp.Diff([]any{"", true}, []any{at.Scope, at.Required}); diff != "" {
		t.Errorf("scope and requirement differ (-want +got):\n%s", diff)
	}
	h.Do("GET", "/companies/"+h.B.ID+"/operations/second-factor", at.Token, nil).WantProblem(403, "insufficient-scope")
	elsewhere := weak(h.A.ID)
	if elsewhere.Required {
		t.Error("the other company requires a second factor, want no requirement")
	}
	if got := refused(switches(h, elsewhere.Token, h.B.ID).Want(400)).Code; got != "invalid_target" {
		t.Errorf("code of a switch without a factor = %q, want invalid_target", got)
	}
	if got := enter(h, map[string]string{"email": h.A.Email, "password": webtest.Password}).CompanyID; got != h.A.ID {
		t.Errorf("after a refused switch a login leads to %s, want %s as before", got, h.A.ID)
	}
	fresh := invites(t, h, h.B.ID, "mia@acme.test")
	var accepted struct {
		Required bool `json:"enrolment_required"`
	}
	accept(h, fresh, another).Want(200).JSON(&accepted)
	if !accepted.Required {
		t.Error("an accepted invitation gives every scope, want the enrolment first")
	}
	const kind = "urn:ietf:params:oauth:token-type:access_token"
	acts := map[string]string{
		"grant_type": "urn:ietf:params:oauth:grant-type:token-exchange", "subject_token": at.Token, "subject_token_type": kind, "actor_token_type": kind,
		"actor_token": executiveToken(t, h, h.B.ID),
	}
	if got := h.Do("POST", "/auth/token", "", acts).WantProblem(400, "malformed").Detail; !strings.Contains(got, "no scopes") {
		t.Errorf("an executive that acts for the user: %s, want a refusal because the user has no scopes", got)
	}
	p := &person{Harness: h, t: t, clock: clock, email: h.A.Email}
	p.enrol(at.Token)
	h.Do("GET", "/companies/"+h.B.ID+"/mission-control/health", p.session, nil).Want(404) // the route is not mounted here, and the guard let the session pass
	claims, err := h.Verifier.Verify(p.session)
	errtest.Must(t, err)
	if diff := cmp.Diff(user.Member.Scopes(), claims.Scopes); diff != "" {
		t.Errorf("scopes after the enrolment differ (-want +got):\n%s", diff)
	}
}

// recorded returns the audit records of a company.
func recorded(t *testing.T, h *webtest.Harness, companyID string) (all []audit.Record) {
	t.Helper()
	for item, err := range store.For(h.Store, companyID).Items(t.Context(), store.Query{Prefix: audit.Prefix}) {
		errtest.Must(t, err)
		var r audit.Record
		errtest.Must(t, item.Decode(&r))
		all = append(all, r)
	}
	return all
}
