package auth_test

import (
	"sync"
	"testing"
	"time"

	"orgops/functions/auth"
	"orgops/functions/operations"
	"orgops/shared/domain/user"
	"orgops/shared/identity/token"
	"orgops/shared/testkit/webtest"
)

// revoke sends a form to end a token.
func (m *machines) revoke(text string, more object) *webtest.Response {
	m.t.Helper()
	return m.formTo("/auth/revoke", object{"token": text}, more)
}

// TestRevoke ends one token of a user and of a client, also one for MCP, and no other token of them.
func TestRevoke(t *testing.T) {
	t.Parallel()
	m := withEndpoint(newMachines(t))
	c, other := m.create(nil), m.create(nil)
	proof := object{"client_id": c.ClientID, "client_secret": c.ClientSecret}
	ask := func(resource string) string {
		fields := object{"grant_type": "client_credentials", "resource": resource}
		for k, v := range proof {
			fields[k] = v
		}
		return got(m.form(fields).Want(200)).Text
	}
	one, another, mcp := ask(""), ask(""), ask(token.MCPResource(issuer, m.A.ID))
	own, second := m.UserToken(m.A.ID, m.A.UserID, user.Founder), m.UserToken(m.A.ID, m.A.UserID, user.Founder)

	m.wantRefused("a client's token without a proof", m.revoke(one, nil), 401, "invalid_client")
	m.wantRefused("a wrong secret", m.revoke(one, object{"client_id": c.ClientID, "client_secret": other.ClientSecret}), 401, "invalid_client")
	m.wantRefused("another client", m.revoke(one, object{"client_id": other.ClientID, "client_secret": other.ClientSecret}), 400, "unauthorized_client")
	m.wantRefused("a client and a user's token", m.revoke(own, proof), 400, "unauthorized_client")
	for _, r := range []*webtest.Response{m.revoke(one, proof), m.revoke(mcp, proof), m.revoke(own, nil), m.revoke("no.such.token", nil), m.revoke("x", proof)} {
		if r.Want(200); len(r.Body) > 0 {
			t.Errorf("answer %s, want none", r.Body)
		}
	}
	m.Forget()
	for text, want := range map[string]int{one: 401, another: 200, own: 401, second: 200} {
		if got := m.Do("GET", m.at("/memory"), text, nil).Status; got != want {
			t.Errorf("status = %d, want %d", got, want)
		}
	}
	m.Do("POST", m.at("/mcp"), mcp, nil).WantProblem(401, "unauthenticated")
	m.revoke(one, proof).Want(200)
	m.Do("POST", "/auth/revoke", "", auth.RevocationRequest{Token: second}).Want(200) // as JSON
	m.Forget()
	m.Do("GET", m.at("/memory"), second, nil).WantProblem(401, "unauthenticated")
}

// TestRevoke_AtOnce ends several tokens of a principal at once.
func TestRevoke_AtOnce(t *testing.T) {
	t.Parallel()
	m := newMachines(t)
	var all [3]string
	var answers [3]*webtest.Response
	for n := range all {
		all[n] = m.UserToken(m.A.ID, m.A.UserID, user.Founder)
	}
	var group sync.WaitGroup
	for n := range all {
		group.Go(func() { answers[n] = m.revoke(all[n], nil) })
	}
	group.Wait()
	for _, a := range answers {
		a.Want(200)
	}
	m.Forget()
	for _, text := range all {
		if status := m.reads(text); status != 401 {
			t.Errorf("status = %d, want 401", status)
		}
	}
}

// TestRevoke_Many limits the tokens that a principal ends by themselves within their lifetime. Those that have expired make room.
func TestRevoke_Many(t *testing.T) {
	t.Parallel()
	m := newMachines(t)
	end := func() *webtest.Response { return m.revoke(m.UserToken(m.A.ID, m.A.UserID, user.Founder), nil) }
	for n := range user.MaxEndedTokens {
		if n == user.MaxEndedTokens/2 { // a network has 100 tries a minute
			m.clock.Advance(time.Minute)
		}
		end().Want(200)
	}
	r := end()
	m.wantRefused("one more", r, 429, "temporarily_unavailable")
	if got := r.Header.Get("Retry-After"); got != "60" {
		t.Errorf("Retry-After = %q, want 60", got)
	}
	m.clock.Advance(2 * token.Lifetime)
	end().Want(200)
}

// TestClient_Removal removes the federation and the secrets of a client. The client then gets no tokens, and those that it has end.
func TestClient_Removal(t *testing.T) {
	t.Parallel()
	m := newMachines(t)
	c := m.create(object{"federation": object{"issuer": "https://ci.test", "subject": "repo:acme@1", "audience": issuer}})
	m.founder("POST", path(c)+"/secret", nil).Want(200).JSON(&c)
	text := got(m.secret(c.ClientID, c.ClientSecret)).Text
	var shown operations.MachineClient
	m.founder("PATCH", path(c), object{"federation": object{"issuer": "https://ci.test"}}).WantProblem(422, "invalid")
	m.founder("PATCH", path(c), object{"secrets": []string{"x"}}).WantProblem(422, "invalid")
	m.founder("PATCH", path(c), object{"name": "Renamed"}).Want(200).JSON(&shown)
	if shown.Federation == nil {
		t.Error("a change of the name removed the federation")
	}
	shown = operations.MachineClient{}
	m.founder("PATCH", path(c), `{"federation": null}`).Want(200).JSON(&shown)
	if shown.Federation != nil {
		t.Errorf("federation = %+v, want none", shown.Federation)
	}
	shown = operations.MachineClient{}
	m.founder("PATCH", path(c), object{"secrets": []string{}}).Want(200).JSON(&shown)
	if len(shown.Secrets) > 0 {
		t.Errorf("secrets = %+v, want none", shown.Secrets)
	}
	m.Forget()
	m.Do("GET", m.at("/memory"), text, nil).WantProblem(401, "unauthenticated")
	m.wantRefused("the secret", m.secret(c.ClientID, c.ClientSecret), 401, "invalid_client")
}
