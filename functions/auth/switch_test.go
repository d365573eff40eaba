package auth_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/functions/auth"
	"orgops/shared/domain/company"
	"orgops/shared/domain/suspension"
	"orgops/shared/domain/user"
	"orgops/shared/identity/token"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
)

// switches asks for a token of another company for a token.
func switches(h *webtest.Harness, bearer, audience string) *webtest.Response {
	return h.Do("POST", "/auth/token", "", url.Values{
		"grant_type": {"urn:ietf:params:oauth:grant-type:token-exchange"}, "subject_token": {bearer},
		"subject_token_type": {"urn:ietf:params:oauth:token-type:access_token"}, "audience": {audience},
	}.Encode(), "Content-Type", "application/x-www-form-urlencoded")
}

// TestSwitch leads a person from one company to another without a password. The token ends with the one before, is of the other company
// alone, and the next login leads there.
func TestSwitch(t *testing.T) {
	t.Parallel()
	h, _ := harness(t)
	joins(t, h, h.B.ID, h.A.Email, webtest.Password)
	first := enter(h, map[string]string{"email": h.A.Email, "password": webtest.Password, "company": h.A.ID})
	got := read(switches(h, first.Token, h.B.ID).Want(200))
	before, err := h.Verifier.Verify(first.Token)
	errtest.Must(t, err)
	after, err := h.Verifier.Verify(got.Token)
	errtest.Must(t, err)
	if !after.Expires.Equal(before.Expires) {
		t.Errorf("the token ends at %v, want the end of the one before, %v", after.Expires, before.Expires)
	}
	if got, want := [2]string{after.Company, after.Role}, [2]string{h.B.ID, "member"}; got != want {
		t.Errorf("company and role = %v, want %v", got, want)
	}
	want := entered{Status: 200, CompanyID: h.B.ID, Companies: []auth.Membership{
		{ID: h.A.ID, Name: "Acme", Role: user.Founder}, {ID: h.B.ID, Name: "Beta", Role: user.Member},
	}}
	if diff := cmp.Diff(want, got.where()); diff != "" {
		t.Errorf("answer differs (-want +got):\n%s", diff)
	}
	if got := enter(h, map[string]string{"email": h.A.Email, "password": webtest.Password}).CompanyID; got != h.B.ID {
		t.Errorf("the next login leads to %s, want %s", got, h.B.ID)
	}
	read(switches(h, got.Token, h.A.ID).Want(200))
}

// TestSwitch_Refused leads to no company that the person does not belong to, or not any more, and from no sign-in of a provider.
func TestSwitch_Refused(t *testing.T) {
	t.Parallel()
	h, _ := harness(t)
	joins(t, h, h.B.ID, h.A.Email, webtest.Password)
	a := store.For(h.Store, h.A.ID)
	signed, err := company.SignIn(t.Context(), h.Store, a, company.Identity{Key: store.IdentityKey(h.A.ID, "i", "s"), Email: h.B.Email, Role: user.Member}, time.Now())
	errtest.Must(t, err)
	refuse := func(name, bearer, audience, code string) {
		t.Helper()
		got := refused(switches(h, bearer, audience).Want(400))
		if got.Code != code {
			t.Errorf("%s: code = %q, want %q", name, got.Code, code)
		}
	}
	refuse("an unknown company", h.A.Token, "nowhere", "invalid_target")
	refuse("a company of another person", h.B.Token, h.A.ID, "invalid_target")
	refuse("a sign-in of a provider", h.UserToken(h.A.ID, signed.ID, user.Member), h.B.ID, "invalid_target")
	refuse("no token", "none", h.B.ID, "invalid_request")
	refuse("a user who is gone", h.UserToken(h.A.ID, "0198c5f2-7a00-7000-8000-00000000000b", user.Member), h.B.ID, "invalid_request")
	held := enter(h, map[string]string{"email": h.A.Email, "password": webtest.Password, "company": h.B.ID}).Token
	b := store.For(h.Store, h.B.ID)
	claims, err := h.Verifier.Verify(held)
	errtest.Must(t, err)
	u, version, err := company.GetUser(t.Context(), b, claims.Subject)
	errtest.Must(t, err)
	_, _, err = company.ChangeUser(t.Context(), h.Store, b, u, version, company.Change{Disabled: new(true)}, time.Now())
	errtest.Must(t, err)
	h.Forget()
	refuse("into a company that disabled the user", h.A.Token, h.B.ID, "invalid_target")
	refuse("out of it", held, h.A.ID, "invalid_request")
}

// TestSwitch_Narrow gives a token of another company for the resource and the scopes that the request names, and for no actor.
func TestSwitch_Narrow(t *testing.T) {
	t.Parallel()
	h, _ := harness(t)
	joins(t, h, h.B.ID, h.A.Email, webtest.Password)
	asks := func(name, value string) *webtest.Response {
		return h.Do("POST", "/auth/token", "", url.Values{
			"grant_type": {"urn:ietf:params:oauth:grant-type:token-exchange"}, "subject_token": {h.A.Token},
			"subject_token_type": {"urn:ietf:params:oauth:token-type:access_token"}, "audience": {h.B.ID}, name: {value},
		}.Encode(), "Content-Type", "application/x-www-form-urlencoded")
	}
	mcp := token.MCPResource(issuer, h.B.ID)
	claims, err := h.Verifier.Verify(read(asks("resource", mcp).Want(200)).Token, mcp)
	errtest.Must(t, err)
	if claims.Resource != mcp {
		t.Errorf("resource = %q, want %q", claims.Resource, mcp)
	}
	claims, err = h.Verifier.Verify(read(asks("scope", "memory:read").Want(200)).Token)
	errtest.Must(t, err)
	if diff := cmp.Diff([]string{"memory:read"}, claims.Scopes); diff != "" {
		t.Errorf("scopes differ (-want +got):\n%s", diff)
	}
	for _, tt := range [][3]string{
		{"resource", token.MCPResource(issuer, h.A.ID), "invalid_target"},
		{"scope", "executives:write", "invalid_scope"},
		{"actor_token", h.A.Token, "invalid_request"},
		{"actor_token_type", "urn:ietf:params:oauth:token-type:access_token", "invalid_request"},
	} {
		if got := refused(asks(tt[0], tt[1])); [2]any{got.Status, got.Code} != [2]any{400, tt[2]} {
			t.Errorf("%s: %d %q, want 400 %q", tt[0], got.Status, got.Code, tt[2])
		}
	}
}

// TestSwitch_Widens gives no token that follows from a narrowed one more scopes than that has: not by a switch, by one back, by an invitation or by a
// second factor. A token with all scopes of a small role leads to all scopes of a larger one.
func TestSwitch_Widens(t *testing.T) {
	t.Parallel()
	h, clock := harness(t)
	joins(t, h, h.B.ID, h.A.Email, webtest.Password)
	invited := invites(t, h, founds(t, h, "Gamma", "gus@gamma.test", another).CompanyID, h.A.Email)
	exchange := func(bearer, audience, scope string) *webtest.Response {
		return h.Do("POST", "/auth/token", "", url.Values{
			"grant_type": {"urn:ietf:params:oauth:grant-type:token-exchange"}, "subject_token": {bearer},
			"subject_token_type": {"urn:ietf:params:oauth:token-type:access_token"}, "audience": {audience}, "scope": {scope},
		}.Encode(), "Content-Type", "application/x-www-form-urlencoded")
	}
	wantScopes := func(name, bearer string, want ...string) {
		t.Helper()
		claims, err := h.Verifier.Verify(bearer)
		errtest.Must(t, err)
		if diff := cmp.Diff(want, claims.Scopes); diff != "" {
			t.Errorf("%s: scopes differ (-want +got):\n%s", name, diff)
		}
	}
	whole := enter(h, map[string]string{"email": h.A.Email, "password": webtest.Password, "company": h.A.ID}).Token
	narrow := read(exchange(whole, h.B.ID, "memory:read").Want(200)).Token
	back := read(switches(h, narrow, h.A.ID).Want(200)).Token
	wantScopes("a switch back", back, "memory:read")
	wantScopes("a further switch", read(switches(h, back, h.B.ID).Want(200)).Token, "memory:read")
	asMember := read(exchange(whole, h.B.ID, strings.Join(user.Member.Scopes(), " ")).Want(200)).Token
	wantScopes("all scopes of a member, by request", read(switches(h, asMember, h.A.ID).Want(200)).Token, user.Member.Scopes()...)
	if got := refused(exchange(narrow, h.A.ID, "memory:write")); [2]any{got.Status, got.Code} != [2]any{400, "invalid_scope"} {
		t.Errorf("a wider scope: %d %q, want 400 invalid_scope", got.Status, got.Code)
	}
	wantScopes("an invitation", read(h.Do("POST", "/auth/invitation", narrow, map[string]string{"token": invited}).Want(200)).Token, "memory:read")
	member := read(switches(h, whole, h.B.ID).Want(200)).Token
	wantScopes("from a small role", read(switches(h, member, h.A.ID).Want(200)).Token, user.Founder.Scopes()...)
	p := &person{Harness: h, t: t, clock: clock, email: h.A.Email}
	p.enrol(back)
	wantScopes("a second factor", p.session, "memory:read")
}

// TestSessions_Revoked makes nothing of a token that was ended by itself, of which no generation tells: neither of a user's nor of an executive's.
func TestSessions_Revoked(t *testing.T) {
	t.Parallel()
	m := newMachines(t)
	_, actor := m.executive("Chief of Staff")
	own, other := m.UserToken(m.A.ID, m.A.UserID, user.Founder), m.UserToken(m.A.ID, m.A.UserID, user.Founder)
	joins(t, m.Harness, m.B.ID, m.A.Email, webtest.Password)
	got(m.actFor(own, actor))
	m.Do("GET", m.at("/memory"), actor, nil).Want(200)
	m.Do("GET", m.at("/memory"), own, nil).Want(200)
	m.revoke(own, nil).Want(200)
	m.wantRefused("a user's token that was ended", m.actFor(own, actor), 400, "invalid_request")
	m.wantRefused("a switch", switches(m.Harness, own, m.B.ID), 400, "invalid_request")
	claims, err := m.Verifier.Verify(actor)
	errtest.Must(t, err)
	c := store.For(m.Store, m.A.ID)
	for _, principal := range []string{claims.Client, claims.Executive} {
		op, err := user.EndToken(t.Context(), c, principal, claims.ID, claims.Expires, time.Now())
		errtest.Must(t, err)
		errtest.Must(t, c.Commit(t.Context(), op))
		m.wantRefused("an executive's token that was ended", m.actFor(other, actor), 400, "invalid_request")
		item, err := m.Store.Get(t.Context(), op.Partition, op.Key)
		errtest.Must(t, err)
		errtest.Must(t, c.Commit(t.Context(), c.Delete(item.Key, user.EndedEntity, item.Version).Quietly()))
	}
}

// TestSuspended_Strange tells a stranger with a made-up code of a suspended company what one of an unknown company is told.
func TestSuspended_Strange(t *testing.T) {
	t.Parallel()
	m := newMachines(t)
	_, err := suspension.Suspend(t.Context(), store.For(m.Store, m.A.ID), "unpaid", time.Now())
	errtest.Must(t, err)
	for _, form := range []string{"%s.ABCDEFGHIJKLMNOPQRSTUVWXYZ", "grant.%s.ABCDEFGHIJKLMNOPQRSTUVWXYZ"} {
		fields := func(companyID string) object {
			return object{"grant_type": "authorization_code", "code": fmt.Sprintf(form, companyID), "code_verifier": strings.Repeat("v", 43), "client_id": "x", "redirect_uri": "https://x.example/"}
		}
		got, unknown := m.form(fields(m.A.ID)), m.form(fields("0198c5f2-7a00-7000-8000-00000000000b"))
		if diff := cmp.Diff(refused(unknown), refused(got)); diff != "" {
			t.Errorf("%s: answer for a suspended company differs from that for an unknown one (-unknown +suspended):\n%s", form, diff)
		}
	}
}

// TestSessions_Ended makes nothing of a session that was ended, while its token is still accepted for some seconds: no token of another
// company, no membership, no grant and no second factor.
func TestSessions_Ended(t *testing.T) {
	t.Parallel()
	m := newMachines(t)
	h := m.Harness
	p := m.document(nil)
	joins(t, h, h.B.ID, h.A.Email, webtest.Password)
	invited := invites(t, h, founds(t, h, "Gamma", "gus@gamma.test", another).CompanyID, h.A.Email)
	held := enter(h, map[string]string{"email": h.A.Email, "password": webtest.Password, "company": h.A.ID}).Token
	h.Do("GET", "/auth/factors", held, nil).Want(200)
	h.Do("POST", "/auth/sign-out", held, nil).Want(204)

	if got := refused(switches(h, held, h.B.ID).Want(400)).Code; got != "invalid_request" {
		t.Errorf("code of the switch = %q, want invalid_request", got)
	}
	h.Do("POST", "/auth/invitation", held, map[string]string{"token": invited}).WantProblem(401, "unauthenticated")
	body := p.request(nil)
	body["allow"], body["scopes"] = true, []string{"memory:read"}
	h.Do("POST", "/auth/consent", held, body).WantProblem(401, "unauthenticated")
	h.Do("POST", "/auth/factors", held, object{"kind": "totp"}).WantProblem(401, "unauthenticated")
}
