package auth_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/functions/operations"
	"orgops/shared/domain/approval"
	"orgops/shared/domain/audit"
	"orgops/shared/domain/client"
	"orgops/shared/domain/company"
	"orgops/shared/domain/executive"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/timeline"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
)

// executive configures and certifies an executive of company A's founder, and returns its id and a token of it.
func (m *machines) executive(name string) (executiveID, text string) {
	m.t.Helper()
	executiveID = executive.IDOf(name)
	m.founder("POST", "/executives", object{
		"name": name, "role": "Keeps order", "owner": m.A.UserID, "actions": []string{"timeline.note", "integration.disable"}, "reads": []string{"mission-control:read", "memory:read"},
	}).Want(201)
	m.founder("POST", "/executives/"+executiveID+"/certification", nil).Want(200)
	c := m.create(object{"name": name, "scopes": nil, "executive": executiveID})
	return executiveID, got(m.secret(c.ClientID, c.ClientSecret)).Text
}

// act asks for a note.
func (m *machines) act(executiveID, text, key string) *webtest.Response {
	m.t.Helper()
	body := object{"action": "timeline.note", "input": object{"title": "A note " + key}}
	return m.Do("POST", m.at("/executives/"+executiveID+"/actions"), text, body, "Idempotency-Key", key)
}

// asked says what became of an action, and who asked for it.
func asked(r executive.ActionRecord) string {
	by, with := "no user", "without a client"
	if r.RequestedBy != "" {
		by = r.RequestedBy
	}
	if r.ClientID != "" {
		with = "with a client"
	}
	return string(r.State) + " by " + by + " " + with
}

// actFor exchanges a user's token for one with which the executive acts for the user. more are further names and values.
func (m *machines) actFor(subject, actor string, more ...string) *webtest.Response {
	m.t.Helper()
	const kind = "urn:ietf:params:oauth:token-type:access_token"
	fields := object{
		"grant_type": "urn:ietf:params:oauth:grant-type:token-exchange", "subject_token": subject, "subject_token_type": kind, "actor_token": actor, "actor_token_type": kind,
	}
	for n := 0; n+1 < len(more); n += 2 {
		fields[more[n]] = more[n+1]
	}
	return m.form(fields)
}

// TestExecutive_Itself has an executive read what it declares and ask for its actions. Nothing else is open to it.
func TestExecutive_Itself(t *testing.T) {
	t.Parallel()
	m := newMachines(t)
	one, text := m.executive("Chief of Staff")
	other, _ := m.executive("Treasurer")
	m.Do("GET", m.at("/mission-control/health"), text, nil).Want(200)
	m.Do("GET", m.at("/memory"), text, nil).Want(200)
	m.Do("GET", m.at("/executives"), text, nil).WantProblem(403, "insufficient-scope")
	var done executive.ActionRecord
	m.act(one, text, "a").Want(202).JSON(&done)
	if got, want := asked(done), "done by no user with a client"; got != want {
		t.Errorf("the action is %s, want %s", got, want)
	}
	m.act(other, text, "b").WantProblem(403, "forbidden")
	// It cannot become another executive that a policy favours, nor certify, nor disable directly.
	for path, body := range map[string]object{
		"/executives":                              {"name": "Treasurer", "role": "r", "owner": m.A.UserID, "actions": []string{"memory.sync"}},
		"/executives/" + one + "/certification":    nil,
		"/operations/clients":                      {"name": "x"},
		"/operations/approvals/a/approve":          nil,
		"/operations/users":                        {"email": "x@acme.test", "role": "founder"},
		"/memory/sync/feed":                        nil,
		"/operations/policies/test":                {},
		"/operations/erasure":                      nil,
		"/operations/dead-letters/replay":          {},
		"/operations/approvals/a/reject":           nil,
		"/operations/clients/" + one + "/secret":   nil,
		"/operations/clients/" + other + "/secret": nil,
	} {
		m.Do("POST", m.at(path), text, body).WantProblem(403, "insufficient-scope")
	}
	// A founder may still try it, which the record tells apart.
	var tried executive.ActionRecord
	m.act(one, m.A.Token, "c").Want(202).JSON(&tried)
	if got, want := asked(tried), "done by "+m.A.UserID+" without a client"; got != want {
		t.Errorf("the action is %s, want %s", got, want)
	}
	m.founder("DELETE", "/executives/"+one, nil).Want(204)
	m.Forget()
	m.Do("GET", m.at("/memory"), text, nil).WantProblem(401, "unauthenticated")
}

// TestExecutive_Again deletes an executive and makes another one of its name, which has the same id. The client of the first one gets no
// token, and a client of the second one does.
func TestExecutive_Again(t *testing.T) {
	t.Parallel()
	m := newMachines(t)
	one := executive.IDOf("Chief of Staff")
	draft := object{"name": "Chief of Staff", "role": "Keeps order", "owner": m.A.UserID, "actions": []string{"timeline.note"}, "reads": []string{"memory:read"}}
	m.founder("POST", "/executives", draft).Want(201)
	c := m.create(object{"scopes": nil, "executive": one})
	m.founder("DELETE", "/executives/"+one, nil).Want(204)
	m.clock.Advance(time.Second)
	m.founder("POST", "/executives", draft).Want(201)
	m.wantRefused("the former client", m.secret(c.ClientID, c.ClientSecret), 400, "unauthorized_client")
	next := m.create(object{"scopes": nil, "executive": one})
	text := got(m.secret(next.ClientID, next.ClientSecret)).Text
	m.Do("GET", m.at("/memory"), text, nil).Want(200)
	draft["reads"] = []string{"mission-control:read"}
	m.founder("POST", "/executives", draft).Want(200)
	m.Forget()
	m.Do("GET", m.at("/memory"), text, nil).WantProblem(401, "unauthenticated")
	if i := got(m.secret(next.ClientID, next.ClientSecret)); i.Scope != "mission-control:read executives:act" {
		t.Errorf("scope %q, want what the executive declares now", i.Scope)
	}
}

// TestExecutive_ActsFor has an executive act for a founder and for a member. It does no more than the user may, and every record names both.
func TestExecutive_ActsFor(t *testing.T) {
	t.Parallel()
	m := newMachines(t)
	one, own := m.executive("Chief of Staff")
	founder := m.UserToken(m.A.ID, m.A.UserID, user.Founder)
	text := got(m.actFor(founder, own)).Text
	claims, err := m.Verifier.Verify(text)
	errtest.Must(t, err)
	if got, want := [2]string{claims.Subject, claims.Executive}, [2]string{m.A.UserID, one}; got != want {
		t.Errorf("subject and executive are %s, want %s", got, want)
	}
	m.clock.Advance(time.Second)
	m.act(one, text, "a").Want(202)
	chief, behalf := timeline.Reference{Type: "executive", ID: one}, &timeline.Reference{Type: "user", ID: m.A.UserID}
	c := store.For(m.Store, m.A.ID)
	decided, told := last[policy.Decision](m, c, policy.Prefix), last[timeline.Entry](m, c, timeline.Prefix)
	if diff := cmp.Diff(policy.Decision{Principal: chief, OnBehalfOf: behalf}, policy.Decision{Principal: decided.Principal, OnBehalfOf: decided.OnBehalfOf}); diff != "" {
		t.Errorf("the decision names (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(timeline.Entry{Actor: chief, OnBehalfOf: behalf}, timeline.Entry{Actor: told.Actor, OnBehalfOf: told.OnBehalfOf}); diff != "" {
		t.Errorf("the timeline names (-want +got):\n%s", diff)
	}
	m.Do("POST", m.at("/operations/approvals/a/approve"), text, nil).WantProblem(403, "insufficient-scope")
	refused := last[audit.Record](m, c, audit.Prefix).Actor
	if want := (audit.Actor{UserID: m.A.UserID, Role: "founder", ClientID: claims.Client, ExecutiveID: one, TokenID: claims.ID}); refused != want {
		t.Errorf("audit names %+v, want %+v", refused, want)
	}
	m.Do("POST", "/auth/sign-out", text, nil).WantProblem(403, "forbidden")

	joins(t, m.Harness, m.A.ID, "grace@acme.test", another)
	member := got(m.actFor(m.UserToken(m.A.ID, m.grace().ID, user.Member), own)).Text
	m.Do("GET", m.at("/memory"), member, nil).Want(200)
	m.act(one, member, "b").WantProblem(403, "forbidden")

	for name, r := range map[string]*webtest.Response{
		"an executive for an executive": m.actFor(text, own),
		"a user as the actor":           m.actFor(founder, founder),
		"an actor that acts for a user": m.actFor(founder, text),
		"a user of another company":     m.actFor(m.B.Token, own),
		"no token":                      m.actFor("x", own),
	} {
		m.wantRefused(name, r, 400, "invalid_request")
	}
	m.changeOwner(company.Change{Role: ptr(user.Operator)})
	m.Forget()
	m.Do("GET", m.at("/memory"), member, nil).WantProblem(401, "unauthenticated")
}

// last returns the newest item of a prefix.
func last[T any](m *machines, c store.Company, prefix string) (v T) {
	m.t.Helper()
	page, err := c.Query(m.t.Context(), store.Query{Prefix: prefix, Desc: true, Limit: 1})
	errtest.Must(m.t, err)
	errtest.Must(m.t, page.Items[0].Decode(&v))
	return v
}

// TestExecutive_Approval makes an action wait. Neither the executive, another one, nor the user for whom it acts may approve; another
// founder may.
func TestExecutive_Approval(t *testing.T) {
	t.Parallel()
	m := newMachines(t)
	c := store.For(m.Store, m.A.ID)
	second := user.User{ID: "second-founder", Email: "second@acme.test", Role: user.Founder, State: user.Active, CreatedAt: m.clock.Now().Add(-time.Hour)}
	errtest.Must(t, c.Commit(t.Context(), c.Create(user.Key(second.ID), user.Entity, second).Quietly()))
	one, own := m.executive("Chief of Staff")
	_, other := m.executive("Treasurer")
	m.founder("PUT", "/operations/policies", object{"policies": []object{{
		"id": "ask", "mode": "enforce", "text": `@approval("ask") @reason("a person decides") forbid(principal is Executive, action == Action::"timeline.note", resource) unless { context.approval == context.digest };`,
	}}}, "If-Match", `"0"`).Want(200)
	m.clock.Advance(time.Minute)
	text := got(m.actFor(m.UserToken(m.A.ID, m.A.UserID, user.Founder), own)).Text
	var pending executive.ActionRecord
	m.act(one, text, "a").Want(202).JSON(&pending)
	if pending.State != executive.Pending {
		t.Fatalf("action %+v, want a pending one", pending)
	}
	approve := m.at("/operations/approvals/" + pending.ApprovalID + "/approve")
	for name, bearer := range map[string]string{"itself": own, "another executive": other, "acting for the founder": text} {
		if r := m.Do("POST", approve, bearer, nil); r.Status != 403 {
			t.Errorf("%s: status %d, want 403: %s", name, r.Status, r.Body)
		}
	}
	m.Do("POST", approve, m.A.Token, nil).WantProblem(403, "forbidden") // the one for whom it acts
	m.Do("POST", approve, m.UserToken(m.A.ID, second.ID, user.Founder), nil).Want(200)
	if e := last[timeline.Entry](m, c, timeline.Prefix); e.OnBehalfOf == nil {
		t.Errorf("the entry of the approved action names no user: %+v", e)
	}
	m.clock.Advance(time.Second)
	var itself executive.ActionRecord
	m.act(one, own, "b").Want(202).JSON(&itself)
	if a := last[approval.Approval](m, c, approval.Prefix); a.RequestedBy != (timeline.Reference{Type: "executive", ID: one}) {
		t.Errorf("the approval was asked for by %+v, want the executive", a.RequestedBy)
	}
}

// TestClient_Rules refuses clients that would do more than their owner, and those beyond the limit.
func TestClient_Rules(t *testing.T) {
	t.Parallel()
	m := newMachines(t)
	joins(t, m.Harness, m.A.ID, "grace@acme.test", another)
	one, _ := m.executive("Chief of Staff")
	base := func(change object) object {
		b := object{"name": "a", "purpose": "b", "owner": m.A.UserID, "scopes": []string{"memory:read"}}
		for k, v := range change {
			if b[k] = v; v == nil {
				delete(b, k)
			}
		}
		return b
	}
	for name, body := range map[string]object{
		"a scope to configure":       base(object{"scopes": []string{"integrations:write"}}),
		"a scope to manage":          base(object{"scopes": []string{"operations:write"}}),
		"a scope to change others":   base(object{"scopes": []string{"executives:write"}}),
		"more than its owner":        base(object{"owner": m.grace().ID, "scopes": []string{"memory:write"}}),
		"an executive of a member":   base(object{"owner": m.grace().ID, "scopes": nil, "executive": one}),
		"acts without an executive":  base(object{"scopes": []string{"executives:act"}}),
		"an unknown executive":       base(object{"scopes": nil, "executive": "none"}),
		"an executive and a scope":   base(object{"executive": one}),
		"an executive and provider":  base(object{"scopes": nil, "executive": one, "provider": "feed"}),
		"an unknown provider":        base(object{"provider": "nothing"}),
		"no owner":                   base(object{"owner": "unknown"}),
		"no scope":                   base(object{"scopes": nil}),
		"a network with host bits":   base(object{"networks": []string{"192.0.2.1/24"}}),
		"a time that has passed":     base(object{"expiresAt": "2020-01-01T00:00:00Z"}),
		"a name with control bytes":  base(object{"name": "a\u0007"}),
		"an unknown member":          base(object{"secret": "x"}),
		"a network that is no range": base(object{"networks": []string{"everywhere"}}),
	} {
		if r := m.founder("POST", "/operations/clients", body); r.Status != 422 {
			t.Errorf("%s: status %d, want 422: %s", name, r.Status, r.Body)
		}
	}
	operator := m.UserToken(m.A.ID, "u-test", user.Operator)
	m.Do("POST", m.at("/operations/clients"), operator, base(nil)).WantProblem(403, "insufficient-scope")
	m.Do("GET", m.at("/operations/clients"), operator, nil).WantProblem(403, "insufficient-scope")
	c, ops := store.For(m.Store, m.A.ID), []store.Op{}
	for range client.MaxPerCompany - 1 { // and that of the executive
		ops = append(ops, client.Stored{Client: client.New(client.Draft{}, nil, m.clock.Now())}.Save(c))
	}
	errtest.Must(t, c.Commit(t.Context(), ops...))
	m.founder("POST", "/operations/clients", base(nil)).WantProblem(409, "conflict")
}

// TestClient_Change checks what ends a client's tokens and what the conditions of a change refuse.
func TestClient_Change(t *testing.T) {
	t.Parallel()
	m := newMachines(t)
	c := m.create(nil)
	r := m.founder("GET", path(c), nil).Want(200)
	etag := r.Header.Get("ETag")
	m.founder("GET", path(c), nil, "If-None-Match", etag).Want(304)
	text := got(m.secret(c.ClientID, c.ClientSecret)).Text
	m.founder("PATCH", path(c), object{"name": "Renamed"}, "If-Match", etag).Want(200)
	m.Forget()
	m.Do("GET", m.at("/memory"), text, nil).Want(200)
	m.founder("PATCH", path(c), object{"name": "Again"}, "If-Match", etag).WantProblem(412, "stale")
	m.founder("POST", path(c)+"/secret", nil, "If-Match", etag).WantProblem(412, "stale")
	m.founder("DELETE", path(c), nil, "If-Match", etag).WantProblem(412, "stale")
	var same operations.MachineClient
	m.founder("PATCH", path(c), object{"name": "Renamed"}).Want(200).JSON(&same)
	soon := m.clock.Now().Add(10 * time.Minute)
	m.founder("PATCH", path(c), object{"expiresAt": soon}).Want(200)
	if i := got(m.secret(c.ClientID, c.ClientSecret)); i.ExpiresIn != 600 {
		t.Errorf("expires_in = %d, want the 600 seconds that the client has left", i.ExpiresIn)
	}
	m.clock.Advance(10 * time.Minute)
	m.wantRefused("expired", m.secret(c.ClientID, c.ClientSecret), 400, "unauthorized_client")
	m.founder("PATCH", path(c), object{"disabled": true}).Want(200)
	m.founder("PATCH", path(c), object{"disabled": false}).Want(200)
}
