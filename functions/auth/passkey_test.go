package auth_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/functions/auth"
	"orgops/shared/base/fault"
	"orgops/shared/domain/company"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/clocktest"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/passkeytest"
	"orgops/shared/testkit/webtest"
)

// keyholder is a founder with a passkey as the second factor.
type keyholder struct {
	*webtest.Harness
	t        *testing.T
	clock    *clocktest.Clock
	key      *passkeytest.Passkey
	factorID string
	session  string // that has proved the passkey
	recovery []string
}

func (k *keyholder) begin(bearer string) (begun auth.Enrolment) {
	k.t.Helper()
	k.Do("POST", "/auth/factors", bearer, object{"kind": "passkey", "name": "Laptop"}).Want(201).JSON(&begun)
	return begun
}

func (k *keyholder) confirm(bearer, factorID string, credential object) *webtest.Response {
	return k.Do("POST", "/auth/factors/"+factorID+"/confirm", bearer, object{"credential": credential})
}

// newKeyholder enrols a passkey of company A's founder.
func newKeyholder(t *testing.T) *keyholder {
	t.Helper()
	h, clock := harness(t)
	k := &keyholder{Harness: h, t: t, clock: clock, key: passkeytest.New(t, issuer)}
	bearer := signIn(h, h.A.Email, webtest.Password)
	begun := k.begin(bearer)
	var done struct {
		RecoveryCodes []string
		Session       entered
	}
	k.confirm(bearer, begun.ID, k.key.Create(*begun.PublicKey)).Want(200).JSON(&done)
	k.factorID, k.session, k.recovery = begun.ID, done.Session.Token, done.RecoveryCodes
	return k
}

// challenged logs in with the password and returns the challenge.
func (k *keyholder) challenged() fault.Challenge {
	k.t.Helper()
	got := login(k.Harness, k.A.Email, webtest.Password).WantProblem(401, "second-factor-required")
	return *got.Challenge
}

func (k *keyholder) answer(challenge fault.Challenge, credential object) *webtest.Response {
	return k.Do("POST", "/auth/challenge", "", object{"challenge": challenge.ID, "credential": credential})
}

// signIn logs in with both factors and returns the token.
func (k *keyholder) signIn() string {
	k.t.Helper()
	challenge := k.challenged()
	return read(k.answer(challenge, k.key.Get(*challenge.PublicKey)).Want(200)).Token
}

// TestPasskey enrols a passkey and logs in with it. It is a second factor like any other.
func TestPasskey(t *testing.T) {
	t.Parallel()
	k := newKeyholder(t)
	if got := len(k.recovery); got != 10 {
		t.Errorf("%d recovery codes, want 10", got)
	}
	challenge := k.challenged()
	if diff := cmp.Diff([]string{"passkey", "recovery-code"}, challenge.Factors); diff != "" {
		t.Errorf("factors differ (-want +got):\n%s", diff)
	}
	session := read(k.answer(challenge, k.key.Get(*challenge.PublicKey)).Want(200)).Token
	claims, err := k.Verifier.Verify(session)
	errtest.Must(t, err)
	if diff := cmp.Diff([]string{"mfa", "pop", "pwd"}, claims.Methods); diff != "" {
		t.Errorf("methods differ (-want +got):\n%s", diff)
	}
	var list auth.FactorList
	k.Do("GET", "/auth/factors", session, nil).Want(200).JSON(&list)
	if diff := cmp.Diff([]any{1, "Laptop", "passkey", k.clock.Now().UTC()}, []any{len(list.Factors), list.Factors[0].Name, list.Factors[0].Kind, list.Factors[0].LastUsedAt}); diff != "" {
		t.Errorf("list differs (-want +got):\n%s", diff)
	}
	k.Do("POST", "/auth/challenge", "", object{"challenge": k.challenged().ID, "code": k.recovery[0]}).Want(200)
	k.Do("DELETE", "/auth/factors/"+k.factorID, session, nil).Want(204)
	login(k.Harness, k.A.Email, webtest.Password).Want(200)
}

// TestPasskey_Required lets a user with a passkey into a company that requires a second factor, and one without after the enrolment of a
// passkey. The company's tokens then have the scopes of the role.
func TestPasskey_Required(t *testing.T) {
	t.Parallel()
	k := newKeyholder(t)
	joins(t, k.Harness, k.A.ID, "mia@acme.test", another)
	errtest.Must(t, company.RequireSecondFactor(t.Context(), store.For(k.Store, k.A.ID), true))
	k.wantScopes(k.signIn(), user.Founder)

	weak := signIn(k.Harness, "mia@acme.test", another)
	claims, err := k.Verifier.Verify(weak)
	errtest.Must(t, err)
	if len(claims.Scopes) > 0 {
		t.Errorf("scopes without a passkey = %v, want none", claims.Scopes)
	}
	begun, own := k.begin(weak), passkeytest.New(t, issuer)
	var done struct{ Session entered }
	k.confirm(weak, begun.ID, own.Create(*begun.PublicKey)).Want(200).JSON(&done)
	k.wantScopes(done.Session.Token, user.Member)
	asked := login(k.Harness, "mia@acme.test", another).WantProblem(401, "second-factor-required").Challenge
	k.wantScopes(read(k.answer(*asked, own.Get(*asked.PublicKey)).Want(200)).Token, user.Member)
}

// wantScopes checks that a token has the scopes of a role.
func (k *keyholder) wantScopes(bearer string, role user.Role) {
	k.t.Helper()
	claims, err := k.Verifier.Verify(bearer)
	errtest.Must(k.t, err)
	if diff := cmp.Diff(role.Scopes(), claims.Scopes); diff != "" {
		k.t.Errorf("scopes differ (-want +got):\n%s", diff)
	}
}

// TestPasskey_Refused refuses what is not a new signature of the person's own passkey, on the service's own page. A challenge ends with
// any of them.
func TestPasskey_Refused(t *testing.T) {
	t.Parallel()
	k := newKeyholder(t)
	stranger := passkeytest.New(t, issuer)
	elsewhere := *k.key
	elsewhere.Origin = "https://orgops.test.evil.example"
	replayed := k.challenged()
	signed := k.key.Get(*replayed.PublicKey)
	k.answer(replayed, signed).Want(200)
	for name, credential := range map[string]func(fault.PasskeyRequest) object{
		"a stranger's":          stranger.Get,
		"on another page":       elsewhere.Get,
		"for another name":      func(r fault.PasskeyRequest) object { r.Party = "evil.example"; return k.key.Get(r) },
		"for another challenge": func(fault.PasskeyRequest) object { return k.key.Get(*k.challenged().PublicKey) },
		"replayed":              func(fault.PasskeyRequest) object { return signed },
		"nothing":               func(fault.PasskeyRequest) object { return object{"id": "x"} },
	} {
		challenge := k.challenged()
		k.answer(challenge, credential(*challenge.PublicKey)).WantProblem(401, "unauthenticated")
		if got := k.answer(challenge, k.key.Get(*challenge.PublicKey)).WantProblem(401, "unauthenticated").Detail; got != "the challenge is unknown, used or expired; log in again" {
			t.Errorf("%s: the challenge goes on: %s", name, got)
		}
	}
	k.answer(replayed, signed).WantProblem(401, "unauthenticated")
	late := k.challenged()
	k.clock.Advance(company.ChallengeKept + time.Second)
	k.answer(late, k.key.Get(*late.PublicKey)).WantProblem(401, "unauthenticated")
	both := k.challenged()
	for _, body := range []object{{"challenge": both.ID}, {"challenge": both.ID, "code": k.recovery[0], "credential": k.key.Get(*both.PublicKey)}} {
		k.Do("POST", "/auth/challenge", "", body).WantProblem(422, "invalid")
	}
}

// TestPasskey_Copied refuses a passkey whose counter went back, tells its person, and takes it again once it is ahead.
func TestPasskey_Copied(t *testing.T) {
	t.Parallel()
	k := newKeyholder(t)
	k.key.Counter = 10
	challenge := k.challenged()
	k.answer(challenge, k.key.Get(*challenge.PublicKey)).Want(200)
	k.key.Counter = 4
	k.clock.Advance(time.Second)
	challenge = k.challenged()
	got := k.answer(challenge, k.key.Get(*challenge.PublicKey)).WantProblem(401, "unauthenticated").Detail
	if want := "the passkey has signed with a higher count before, so another device may hold a copy of it; log in with another factor, and remove this one"; got != want {
		t.Errorf("detail = %s, want %s", got, want)
	}
	wantTold(t, k.Harness, k.A.ID, "A second factor was added to your login", "A passkey of your login may have been copied")
	k.key.Counter = 20
	k.signIn()
}

// TestPasskey_Enrolment takes a passkey once, for the challenge of the enrolment, on the service's page, within five minutes.
func TestPasskey_Enrolment(t *testing.T) {
	t.Parallel()
	k := newKeyholder(t)
	begun := k.begin(k.session)
	if diff := cmp.Diff([]any{"orgops.test", 1, "none"}, []any{begun.PublicKey.Party.ID, len(begun.PublicKey.Excluded), begun.PublicKey.Attestation}); diff != "" {
		t.Errorf("options differ (-want +got):\n%s", diff)
	}
	k.Do("POST", "/auth/factors/"+begun.ID+"/confirm", k.session, object{"code": "123456"}).WantProblem(422, "invalid") // says what is missing
	k.confirm(k.session, begun.ID, k.key.Create(*begun.PublicKey)).WantProblem(422, "invalid")                          // the person has it already
	other := passkeytest.New(t, issuer)
	k.confirm(k.session, begun.ID, other.Create(*begun.PublicKey)).WantProblem(404, "not-found") // the challenge was used
	begun = k.begin(k.session)
	k.confirm(k.session, begun.ID, passkeytest.New(t, "https://evil.example").Create(*begun.PublicKey)).WantProblem(422, "invalid")
	first, second := k.begin(k.session), k.begin(k.session)
	k.confirm(k.session, second.ID, other.Create(*first.PublicKey)).WantProblem(422, "invalid")
	begun = k.begin(k.session)
	k.clock.Advance(company.ChallengeKept + time.Second)
	k.confirm(k.signIn(), begun.ID, other.Create(*begun.PublicKey)).WantProblem(404, "not-found") // it has expired
	begun = k.begin(k.signIn())
	k.confirm(k.signIn(), begun.ID, other.Create(*begun.PublicKey)).Want(200)
}
