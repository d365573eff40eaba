package sso_test

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"orgops/shared/domain/audit"
	"orgops/shared/domain/company"
	domain "orgops/shared/domain/sso"
	"orgops/shared/domain/suspension"
	"orgops/shared/domain/user"
	"orgops/shared/identity/token"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/ssotest"
	"orgops/shared/testkit/webtest"
)

// configOf returns a configuration with the provider and a redirect.
func configOf(p *ssotest.Provider) object {
	config := p.Config()
	config["redirects"] = []string{redirect}
	return config
}

// TestOIDC signs a user in twice. The first sign-in makes the user; the second finds the user although the address changed.
func TestOIDC(t *testing.T) {
	t.Parallel()
	s, p := setup(t), ssotest.NewProvider(t)
	s.configure(configOf(p), nil).Want(200)
	b := s.browser()
	first := s.claims(codeOf(t, b.finish(p.Authorize(b.start(nil)))))
	want := token.Claims{Subject: first.Subject, Company: s.A.ID, Plan: "enterprise", Role: "member", Scopes: user.Member.Scopes()}
	if diff := gocmp.Diff(want, token.Claims{Subject: first.Subject, Company: first.Company, Plan: first.Plan, Role: first.Role, Scopes: first.Scopes}); diff != "" {
		t.Errorf("claims (-want +got):\n%s", diff)
	}
	made := s.user(first.Subject)
	if diff := gocmp.Diff(user.User{
		ID: first.Subject, Email: "grace@acme.test", Name: "Grace Hopper", Role: user.Member, State: user.Active,
		Identity: store.IdentityKey(s.A.ID, p.URL, "grace"), CreatedAt: made.CreatedAt,
	}, made); diff != "" {
		t.Errorf("user (-want +got):\n%s", diff)
	}
	if p.Secret != "s3cret" {
		t.Errorf("client secret = %q, want that of the configuration, in the header", p.Secret)
	}
	p.Claims = object{"email": "hopper@acme.test"}
	if got := s.claims(codeOf(t, b.finish(p.Authorize(b.start(nil))))).Subject; got != first.Subject {
		t.Errorf("the second sign-in is user %s, want %s", got, first.Subject)
	}
}

// TestOIDC_AddressElsewhere signs a user in whose e-mail address has a login in another company, and leaves that login alone.
func TestOIDC_AddressElsewhere(t *testing.T) {
	t.Parallel()
	s, p := setup(t), ssotest.NewProvider(t)
	s.configure(configOf(p), nil).Want(200)
	before, err := s.Store.Get(t.Context(), store.Login(s.B.Email), user.LoginKey(s.B.ID))
	errtest.Must(t, err)
	p.Claims = object{"sub": "eve", "email": s.B.Email}
	b := s.browser()
	claims := s.claims(codeOf(t, b.finish(p.Authorize(b.start(nil)))))
	if claims.Company != s.A.ID {
		t.Errorf("the token is of company %s, want %s", claims.Company, s.A.ID)
	}
	after, err := s.Store.Get(t.Context(), store.Login(s.B.Email), user.LoginKey(s.B.ID))
	errtest.Must(t, err)
	if diff := gocmp.Diff(before, after); diff != "" {
		t.Errorf("the login of the other company differs (-before +after):\n%s", diff)
	}
}

// TestOIDC_Suspended writes nothing into a suspended company: no sign-in begins, goes on or ends in a token.
func TestOIDC_Suspended(t *testing.T) {
	t.Parallel()
	s, p := setup(t), ssotest.NewProvider(t)
	s.configure(configOf(p), nil).Want(200)
	c, b := store.For(s.Store, s.A.ID), s.browser()
	code := codeOf(t, b.finish(p.Authorize(b.start(nil))))
	p.Claims = object{"sub": "new", "email": "new@acme.test"}
	under := p.Authorize(b.start(nil))
	_, err := suspension.Suspend(t.Context(), c, "unpaid", s.now())
	errtest.Must(t, err)
	before, _, err := company.ListUsers(t.Context(), c, "", 100)
	errtest.Must(t, err)
	b.finish(under)
	b.send("GET", "/auth/sso/"+s.A.ID+"/start?code_challenge_method=S256&code_challenge="+domain.Challenge(verifier), nil).WantProblem(403, "suspended")
	s.exchange(code, nil).WantProblem(403, "suspended")
	after, _, err := company.ListUsers(t.Context(), c, "", 100)
	errtest.Must(t, err)
	if diff := gocmp.Diff(before, after); diff != "" {
		t.Errorf("users differ (-before +after):\n%s", diff)
	}
}

// TestOIDC_UserInfo reads the e-mail address where a provider keeps it out of the ID token.
func TestOIDC_UserInfo(t *testing.T) {
	t.Parallel()
	s, p := setup(t), ssotest.NewProvider(t)
	s.configure(configOf(p), nil).Want(200)
	p.Claims = object{"email": nil, "email_verified": nil, "name": nil}
	p.Info = object{"sub": "grace", "email": "grace@acme.test", "email_verified": true}
	b := s.browser()
	if got := s.user(s.claims(codeOf(t, b.finish(p.Authorize(b.start(nil))))).Subject).Email; got != "grace@acme.test" {
		t.Errorf("e-mail = %q, want that of the UserInfo endpoint", got)
	}
	p.Info = object{"sub": "another", "email": "grace@acme.test", "email_verified": true}
	b.finish(p.Authorize(b.start(nil))).WantProblem(401, "unauthenticated")
}

// TestOIDC_Rotation refuses no sign-in when the provider replaces its key, although the former key is in memory.
func TestOIDC_Rotation(t *testing.T) {
	t.Parallel()
	s, p := setup(t), ssotest.NewProvider(t)
	s.configure(configOf(p), nil).Want(200)
	b := s.browser()
	for range 5 {
		codeOf(t, b.finish(p.Authorize(b.start(nil))))
		p.Rotate()
	}
}

// TestOIDC_Attacks plays each attack on a sign-in by OpenID Connect. Before each, the same provider signs a user in, so that
// the attack alone explains the refusal.
func TestOIDC_Attacks(t *testing.T) {
	t.Parallel()
	attacks := []struct {
		name   string
		status int
		detail string // in the answer
		play   attack
	}{
		{"wrong nonce", 401, "nonce", lie(func(p *ssotest.Provider) { p.Claims = object{"nonce": "another"} })},
		{"no nonce", 401, "nonce", lie(func(p *ssotest.Provider) { p.Claims = object{"nonce": nil} })},
		{"wrong audience", 401, "expected audience", lie(func(p *ssotest.Provider) { p.Claims = object{"aud": "another-client"} })},
		{"another audience too, without azp", 401, "another client", lie(func(p *ssotest.Provider) { p.Claims = object{"aud": []string{"orgops", "another"}} })},
		{"wrong authorized party", 401, "another client", lie(func(p *ssotest.Provider) { p.Claims = object{"azp": "another-client"} })},
		{"wrong issuer in the token", 401, "different provider", lie(func(p *ssotest.Provider) { p.Claims = object{"iss": "https://another.example.com"} })},
		{"expired token", 401, "is expired", lie(func(p *ssotest.Provider) { p.Claims = object{"exp": time.Now().Add(-time.Minute).Unix()} })},
		{"token of the future", 401, "nbf", lie(func(p *ssotest.Provider) { p.Claims = object{"nbf": time.Now().Add(time.Hour).Unix()} })},
		{"no subject", 401, "no subject", lie(func(p *ssotest.Provider) { p.Claims = object{"sub": nil} })},
		{"wrong at_hash", 401, "at_hash", lie(func(p *ssotest.Provider) { p.Claims = object{"at_hash": "AAAAAAAAAAAAAAAAAAAAAA"} })},
		{"algorithm none", 401, "algorithm", lie(func(p *ssotest.Provider) { p.Sign = (*ssotest.Provider).Unsigned })},
		{"HMAC with the public key", 401, "algorithm", lie(func(p *ssotest.Provider) { p.Sign = (*ssotest.Provider).Confused })},
		{"key of a stranger", 401, "signature", lie(func(p *ssotest.Provider) { p.Sign = (*ssotest.Provider).Foreign })},
		{"e-mail not verified", 403, "email_verified", lie(func(p *ssotest.Provider) { p.Claims = object{"sub": "eve", "email_verified": false} })},
		{"e-mail verification missing", 403, "email_verified", lie(func(p *ssotest.Provider) { p.Claims = object{"sub": "eve", "email_verified": nil} })},
		{"e-mail of a founder", 403, "password", lie(func(p *ssotest.Provider) { p.Claims = object{"sub": "eve", "email": "ada@acme.test"} })},
		{"e-mail that is none", 403, "usable", lie(func(p *ssotest.Provider) { p.Claims = object{"sub": "eve", "email": "eve"} })},
		{"provider's own refusal", 401, "access_denied", answered(func(q url.Values) { q.Del("code"); q.Set("error", "access_denied") })},
		{"mixed-up issuer", 401, "issuer", answered(func(q url.Values) { q.Set("iss", "https://another.example.com") })},
		{"issuer left out", 401, "issuer", answered(func(q url.Values) { q.Del("iss") })},
		{"no code", 401, "no code", answered(func(q url.Values) { q.Del("code") })},
		{"code of another sign-in", 401, "exchange the code", anotherCode},
		{"no state", 401, "unknown", answered(func(q url.Values) { q.Del("state") })},
		{"made-up state", 401, "unknown", answered(func(q url.Values) { q.Set("state", q.Get("state")[:40]+"AAAAAAAAAAAAAAAAAAAAAAA") })},
		{"state of another company", 401, "unknown", stateOfAnotherCompany},
		{"state of another browser", 401, "another browser", stateOfAnotherBrowser},
		{"answer played again", 401, "was used", playedAgain},
		{"state after its time", 401, "expired", stateAfterItsTime},
		{"provider replaced during the sign-in", 401, "changed", providerReplaced},
	}
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			s, p := setup(t), ssotest.NewProvider(t)
			s.configure(configOf(p), nil).Want(200)
			b := s.browser()
			codeOf(t, b.finish(p.Authorize(b.start(nil))))
			problem := refusal(t, a.play(s, p), a.status)
			if !strings.Contains(problem, a.detail) {
				t.Errorf("detail = %q, want one with %q", problem, a.detail)
			}
		})
	}
	t.Logf("%d attacks", len(attacks))
}

// refusal returns the detail of an answer that refuses a sign-in. It leads nowhere.
func refusal(t *testing.T, r *webtest.Response, status int) string {
	t.Helper()
	if got := r.Header.Get("Location"); got != "" {
		t.Errorf("the sign-in leads to %s, want a refusal", got)
	}
	return r.WantProblem(status, map[int]string{401: "unauthenticated", 403: "forbidden"}[status]).Detail
}

// attack plays an attack and returns the last answer.
type attack func(s *service, p *ssotest.Provider) *webtest.Response

// lie signs in at a provider that was changed.
func lie(change func(*ssotest.Provider)) attack {
	return func(s *service, p *ssotest.Provider) *webtest.Response {
		change(p)
		b := s.browser()
		return b.finish(p.Authorize(b.start(nil)))
	}
}

// answered signs in with an answer that was changed on its way through the browser.
func answered(change func(url.Values)) attack {
	return func(s *service, p *ssotest.Provider) *webtest.Response {
		b := s.browser()
		answer := p.Authorize(b.start(nil))
		query := answer.Query()
		change(query)
		answer.RawQuery = query.Encode()
		return b.finish(answer)
	}
}

// anotherCode injects the code of an attacker's sign-in into the victim's.
func anotherCode(s *service, p *ssotest.Provider) *webtest.Response {
	eve := s.browser()
	stolen := p.Authorize(eve.start(nil)).Query().Get("code")
	return answered(func(q url.Values) { q.Set("code", stolen) })(s, p)
}

func stateOfAnotherCompany(s *service, p *ssotest.Provider) *webtest.Response {
	return answered(func(q url.Values) { q.Set("state", s.B.ID+q.Get("state")[len(s.A.ID):]) })(s, p)
}

// stateOfAnotherBrowser leads a victim to the end of the attacker's sign-in, so that the victim would work as the attacker.
func stateOfAnotherBrowser(s *service, p *ssotest.Provider) *webtest.Response {
	eve, victim := s.browser(), s.browser()
	victim.start(nil)
	return victim.finish(p.Authorize(eve.start(nil)))
}

func playedAgain(s *service, p *ssotest.Provider) *webtest.Response {
	b := s.browser()
	answer := p.Authorize(b.start(nil))
	codeOf(s.t, b.finish(answer))
	before := p.Exchanged
	r := b.finish(answer)
	if p.Exchanged != before {
		s.t.Error("the code was sent to the provider again, want a refusal before that")
	}
	return r
}

// stateAfterItsTime ends a sign-in on a service whose clock has gone on.
func stateAfterItsTime(s *service, p *ssotest.Provider) *webtest.Response {
	b := s.browser()
	answer := p.Authorize(b.start(nil))
	s.passed.Add(int64(11 * time.Minute))
	return b.finish(answer)
}

// providerReplaced changes the issuer while a user is at the former one.
func providerReplaced(s *service, p *ssotest.Provider) *webtest.Response {
	b := s.browser()
	answer := p.Authorize(b.start(nil))
	s.configure(ssotest.NewProvider(s.t).Config(), nil).Want(200)
	return b.finish(answer)
}

// TestOIDC_Start refuses a start that could lead astray, and marks the cookie so that no other site can use it.
func TestOIDC_Start(t *testing.T) {
	t.Parallel()
	s, p := setup(t), ssotest.NewProvider(t)
	s.configure(configOf(p), nil).Want(200)
	start := func(company, query string) *webtest.Response {
		return s.Do("GET", "/auth/sso/"+company+"/start?code_challenge="+domain.Challenge(verifier)+"&code_challenge_method=S256"+query, "", nil)
	}
	for _, open := range []string{
		"https://evil.example.com/", "https://dashboard.example.com/signed-in/..", "https://dashboard.example.com/signed-in?next=x",
		"https://dashboard.example.com.evil.example.com/signed-in", "//evil.example.com", "javascript:alert(1)", "/console/",
	} {
		start(s.A.ID, "&redirect_uri="+url.QueryEscape(open)).WantProblem(422, "invalid")
	}
	start(s.B.ID, "").WantProblem(404, "not-found")
	start("0197a0b4-6c1e-7c3e-9a57-3f1f0d6f2c11", "").WantProblem(404, "not-found")
	s.Do("GET", "/auth/sso/"+s.A.ID+"/start", "", nil).WantProblem(422, "invalid")
	s.Do("GET", "/auth/sso/"+s.A.ID+"/start?code_challenge="+verifier+"&code_challenge_method=plain", "", nil).WantProblem(422, "invalid")
	r := start(s.A.ID, "").Want(302)
	_, attributes, _ := strings.Cut(r.Header.Get("Set-Cookie"), ";")
	if got, want := attributes, " Path=/; Max-Age=600; HttpOnly; Secure; SameSite=Lax"; got != want {
		t.Errorf("attributes of the cookie = %q, want %q", got, want)
	}
	query := location(t, r).Query()
	for name, want := range map[string]string{"response_type": "code", "scope": "openid email profile", "code_challenge_method": "S256", "redirect_uri": callback, "client_id": "orgops"} {
		if got := query.Get(name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
	s.plan("pro")
	start(s.A.ID, "").WantProblem(404, "not-found")
}

// TestOIDC_Tabs lets two tabs of one browser sign in at the same time.
func TestOIDC_Tabs(t *testing.T) {
	t.Parallel()
	s, p := setup(t), ssotest.NewProvider(t)
	s.configure(configOf(p), nil).Want(200)
	b := s.browser()
	one, two := p.Authorize(b.start(nil)), p.Authorize(b.start(nil))
	codeOf(t, b.finish(one))
	codeOf(t, b.finish(two))
}

// TestOIDC_Redirect ends a sign-in at a registered redirect, with code and state in the query.
func TestOIDC_Redirect(t *testing.T) {
	t.Parallel()
	s, p := setup(t), ssotest.NewProvider(t)
	s.configure(configOf(p), nil).Want(200)
	b := s.browser()
	end := location(t, b.finish(p.Authorize(b.start(url.Values{"redirect_uri": {redirect}}))).Want(302))
	code := end.Query().Get("code")
	end.RawQuery = ""
	if got := end.String(); got != redirect {
		t.Errorf("the sign-in ended at %s, want %s", got, redirect)
	}
	s.exchange(code, nil).WantProblem(400, "malformed")
	s.exchange(code, object{"redirect_uri": redirect}).Want(200)
}

// TestCode exchanges a code once, within a minute, with the verifier and the redirect of the sign-in.
func TestCode(t *testing.T) {
	t.Parallel()
	s, p := setup(t), ssotest.NewProvider(t)
	s.configure(configOf(p), nil).Want(200)
	b := s.browser()
	sign := func() string { return codeOf(t, b.finish(p.Authorize(b.start(nil)))) }
	code := sign()
	company, secret := domain.Split(code)
	for name, with := range map[string]object{
		"another verifier": {"code_verifier": strings.Repeat("A", 43)}, "a redirect": {"redirect_uri": redirect},
		"another company": {"code": s.B.ID + "." + secret}, "no company": {"code": "." + secret}, "another secret": {"code": company + "." + domain.Secret()},
		"a key": {"code": company + ".#"}, "nothing": {"code": ""},
	} {
		if got := s.exchange(code, with).Status; got != 400 {
			t.Errorf("%s: status = %d, want 400", name, got)
		}
	}
	s.claims(code)
	s.exchange(code, nil).WantProblem(400, "malformed")
	late := sign()
	s.passed.Add(int64(61 * time.Second))
	s.exchange(late, nil).WantProblem(400, "malformed")
}

// TestCode_AtOnce exchanges one code from many callers: one gets a token.
func TestCode_AtOnce(t *testing.T) {
	t.Parallel()
	s, p := setup(t), ssotest.NewProvider(t)
	s.configure(configOf(p), nil).Want(200)
	b := s.browser()
	code := codeOf(t, b.finish(p.Authorize(b.start(nil))))
	var wg sync.WaitGroup
	var issued atomic.Int64
	for range 20 {
		wg.Go(func() {
			if s.exchange(code, nil).Status == 200 {
				issued.Add(1)
			}
		})
	}
	wg.Wait()
	if got := issued.Load(); got != 1 {
		t.Errorf("%d tokens, want 1", got)
	}
}

// TestDisabled refuses a user who was disabled, before the sign-in and before the exchange, and admits the user again later.
func TestDisabled(t *testing.T) {
	t.Parallel()
	s, p := setup(t), ssotest.NewProvider(t)
	s.configure(configOf(p), nil).Want(200)
	b := s.browser()
	userID := s.claims(codeOf(t, b.finish(p.Authorize(b.start(nil))))).Subject
	code := codeOf(t, b.finish(p.Authorize(b.start(nil))))
	disabled, enabled := true, false
	s.change(userID, company.Change{Disabled: &disabled})
	s.exchange(code, nil).WantProblem(400, "malformed")
	b.finish(p.Authorize(b.start(nil))).WantProblem(403, "forbidden")
	s.change(userID, company.Change{Disabled: &enabled})
	codeOf(t, b.finish(p.Authorize(b.start(nil))))
}

// TestAudit records who signed in, and the refused ones of a sign-in that began.
func TestAudit(t *testing.T) {
	t.Parallel()
	s, p := setup(t), ssotest.NewProvider(t)
	s.configure(configOf(p), nil).Want(200)
	b := s.browser()
	claims := s.claims(codeOf(t, b.finish(p.Authorize(b.start(nil)))))
	p.Claims = object{"nonce": "another"}
	b.finish(p.Authorize(b.start(nil))).Want(401)
	s.Do("DELETE", s.path(), s.A.Token, nil).Want(204)
	page, err := store.For(s.Store, s.A.ID).Query(t.Context(), store.Query{Prefix: audit.Prefix})
	errtest.Must(t, err)
	var got []audit.Record
	for _, item := range page.Items {
		var r audit.Record
		errtest.Must(t, item.Decode(&r))
		got = append(got, audit.Record{Actor: audit.Actor{UserID: r.Actor.UserID, Role: r.Actor.Role}, Operation: r.Operation, Resource: r.Resource, Outcome: r.Outcome, Status: r.Status})
	}
	grace := audit.Actor{UserID: claims.Subject, Role: "member"}
	founder := audit.Actor{UserID: s.A.UserID}
	want := []audit.Record{
		{Actor: founder, Operation: "put-sso", Resource: "operations/sso", Outcome: "success"},
		{Actor: grace, Operation: "finish-oidc-sign-in", Resource: "operations/users/" + claims.Subject, Outcome: "success"},
		{Actor: grace, Operation: "issue-token", Resource: "auth/token", Outcome: "success"},
		{Operation: "finish-oidc-sign-in", Resource: "auth/sso/callback", Outcome: "denied", Status: 401},
		{Actor: founder, Operation: "delete-sso", Resource: "operations/sso", Outcome: "success"},
	}
	for _, records := range [][]audit.Record{want, got} { // of one millisecond in any order
		slices.SortFunc(records, func(a, b audit.Record) int {
			return cmp.Or(strings.Compare(a.Operation, b.Operation), strings.Compare(a.Outcome, b.Outcome))
		})
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	for _, secret := range []string{"s3cret", verifier} {
		if log := s.Log.String(); strings.Contains(log, secret) {
			t.Errorf("the log has %q, want it without:\n%s", secret, log)
		}
	}
}
