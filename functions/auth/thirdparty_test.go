package auth_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/functions/auth"
	"orgops/functions/operations"
	"orgops/shared/domain/audit"
	"orgops/shared/domain/grant"
	"orgops/shared/domain/sso"
	"orgops/shared/domain/user"
	"orgops/shared/identity/token"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
)

const (
	callback = "http://127.0.0.1/callback"
	verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
)

// party is a third party with a document.
type party struct {
	*machines
	clientID string
}

// document serves a third party's document, with changes of its members; nil removes a member.
func (m *machines) document(change object) party {
	m.t.Helper()
	var p party
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := object{
			"client_id": "http://" + r.Host + r.URL.Path, "client_name": "Agent", "token_endpoint_auth_method": "none",
			"redirect_uris": []string{callback, "https://agent.example.com/cb", "javascript:alert(1)", "https://agent.example.com/cb#x"},
		}
		for name, v := range change {
			if body[name] = v; v == nil {
				delete(body, name)
			}
		}
		_ = json.NewEncoder(w).Encode(body)
	}))
	m.t.Cleanup(server.Close)
	p.machines, p.clientID = m, server.URL+"/client.json"
	return p
}

// documents serves a third party's document at every query of its address.
func (m *machines) documents() party {
	m.t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode(object{"client_id": "http://" + r.Host + r.URL.RequestURI(), "client_name": "Agent", "redirect_uris": []string{callback}})
	}))
	m.t.Cleanup(server.Close)
	return party{m, server.URL + "/client.json"}
}

// request returns a good authorization request for the API, with changes; "" removes a parameter.
func (p party) request(change object) object {
	r := object{
		"response_type": "code", "client_id": p.clientID, "redirect_uri": callback, "state": "s", "code_challenge": sso.Challenge(verifier), "code_challenge_method": "S256",
	}
	for name, v := range change {
		if r[name] = v; v == "" {
			delete(r, name)
		}
	}
	return r
}

func (p party) query(change object) string {
	q := url.Values{}
	for name, v := range p.request(change) {
		q.Set(name, v.(string))
	}
	return "?" + q.Encode()
}

// consent has a person allow a request, with more members of the decision, and returns where the browser goes.
func (p party) consent(bearer string, change, decision object) url.Values {
	p.t.Helper()
	body := p.request(change)
	body["allow"], body["scopes"] = true, []string{"memory:read", "memory:write"}
	for name, v := range decision {
		if body[name] = v; v == nil {
			delete(body, name)
		}
	}
	var out struct {
		RedirectTo string `json:"redirectTo"`
	}
	p.Do("POST", "/auth/consent", bearer, body).Want(200).JSON(&out)
	at, err := url.Parse(out.RedirectTo)
	if err != nil {
		p.t.Fatal(err)
	}
	return at.Query()
}

// exchange exchanges a code, with changes of the request.
func (p party) exchange(code string, change object) *webtest.Response {
	p.t.Helper()
	fields := object{"grant_type": "authorization_code", "code": code, "client_id": p.clientID, "redirect_uri": callback, "code_verifier": verifier}
	for name, v := range change {
		fields[name] = v
	}
	return p.form(fields)
}

// tokens holds what a third party gets.
type tokens struct {
	Access  string `json:"access_token"`
	Refresh string `json:"refresh_token"`
	Scope   string `json:"scope"`
}

func (p party) got(r *webtest.Response) (t tokens) {
	p.t.Helper()
	r.Want(200).JSON(&t)
	return t
}

// granted returns tokens that company A's founder allowed.
func (p party) granted(change, decision object) tokens {
	p.t.Helper()
	return p.got(p.exchange(p.consent(p.A.Token, change, decision).Get("code"), change2(change)))
}

// change2 returns the changes of an authorization request that the exchange repeats.
func change2(change object) object {
	out := object{}
	if v, ok := change["redirect_uri"]; ok {
		out["redirect_uri"] = v
	}
	return out
}

func (p party) refreshed(text string, change object) *webtest.Response {
	p.t.Helper()
	fields := object{"grant_type": "refresh_token", "refresh_token": text, "client_id": p.clientID}
	for name, v := range change {
		fields[name] = v
	}
	return p.form(fields)
}

func (m *machines) reads(text string) int {
	m.t.Helper()
	return m.Do("GET", m.at("/memory"), text, nil).Status
}

// TestAuthorize leads a good request to the console, an error of a known third party back to it, and an unknown one nowhere.
func TestAuthorize(t *testing.T) {
	t.Parallel()
	m := newMachines(t)
	p := m.document(nil)
	lead := func(change object) *url.URL {
		t.Helper()
		at, err := url.Parse(m.Do("GET", "/auth/authorize"+p.query(change), "", nil).Want(302).Header.Get("Location"))
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	at := lead(object{"scope": "memory:read", "resource": token.MCPResource(issuer, m.A.ID)})
	if got, want := at.Scheme+"://"+at.Host+at.Path, issuer+"/console/index.html"; got != want {
		t.Errorf("a good request leads to %s, want %s", got, want)
	}
	for name, tt := range map[string]struct {
		change object
		code   string
	}{
		"no PKCE":           {object{"code_challenge": ""}, "invalid_request"},
		"plain PKCE":        {object{"code_challenge_method": "plain"}, "invalid_request"},
		"a short one":       {object{"code_challenge": "x"}, "invalid_request"},
		"the implicit way":  {object{"response_type": "token"}, "unsupported_response_type"},
		"another resource":  {object{"resource": "https://evil.test/companies/" + m.A.ID + "/mcp"}, "invalid_target"},
		"a long state":      {object{"state": strings.Repeat("s", 1025)}, "invalid_request"},
		"a scope to manage": {object{"scope": "operations:write integrations:write executives:write"}, "invalid_scope"},
	} {
		at := lead(tt.change)
		got := [4]string{at.Scheme + "://" + at.Host + at.Path, at.Query().Get("error"), at.Query().Get("state")[:1], at.Query().Get("iss")}
		if want := [4]string{callback, tt.code, "s", issuer}; got != want {
			t.Errorf("%s: led to %q, want %q", name, got, want)
		}
	}
	for name, change := range map[string]object{
		"another path":         {"redirect_uri": callback + "/"},
		"a query":              {"redirect_uri": callback + "?x=y"},
		"another host":         {"redirect_uri": "http://127.0.0.2/callback"},
		"a loopback by name":   {"redirect_uri": "http://localhost/callback"},
		"user information":     {"redirect_uri": "http://127.0.0.1@evil.test/callback"},
		"a port of a public":   {"redirect_uri": "https://agent.example.com:8443/cb"},
		"upper case":           {"redirect_uri": "https://agent.example.com/CB"},
		"a path that goes up":  {"redirect_uri": "https://agent.example.com/x/../cb"},
		"a script":             {"redirect_uri": "javascript:alert(1)"},
		"a fragment":           {"redirect_uri": "https://agent.example.com/cb#x"},
		"none":                 {"redirect_uri": ""},
		"an unknown client":    {"client_id": "https://127.0.0.1:1/client.json"},
		"a client that is not": {"client_id": "agent"},
		"no client":            {"client_id": ""},
	} {
		r := m.Do("GET", "/auth/authorize"+p.query(change), "", nil)
		if got := fmt.Sprintf("%d %s", r.Status, r.Header.Get("Location")); got != "422 " {
			t.Errorf("%s: status and Location %q, want 422 and none: %s", name, got, r.Body)
		}
	}
	lead(object{"redirect_uri": "http://127.0.0.1:33418/callback"}) // a program on the person's machine takes a free port
	if got := lead(object{"prompt": "consent", "nonce": "n", "login_hint": "ada"}).Query(); got.Has("error") {
		t.Errorf("parameters of an extension lead to %v, want them ignored (RFC 6749 §3.1)", got)
	}
}

// TestAuthorize_Limit reads a bounded number of documents for a network in a minute, whichever operation names them. A document that is
// known costs nothing.
func TestAuthorize_Limit(t *testing.T) {
	t.Parallel()
	m := newMachines(t)
	p, several := m.document(nil), m.documents()
	for range auth.MaxClientDocuments + 1 {
		m.Do("GET", "/auth/authorize"+p.query(nil), "", nil).Want(302)
	}
	other := func(n int) string {
		return several.query(object{"client_id": fmt.Sprintf("%s?%d", several.clientID, n)})
	}
	for n := range auth.MaxClientDocuments - 1 {
		m.Do("GET", "/auth/consent"+other(n), m.A.Token, nil).Want(200)
	}
	m.Do("GET", "/auth/consent"+other(-1), m.A.Token, nil).WantProblem(429, "quota-exceeded")
	m.Do("GET", "/auth/authorize"+other(-1), "", nil).WantProblem(429, "quota-exceeded")
	m.clock.Advance(time.Minute)
	m.Do("GET", "/auth/authorize"+other(-1), "", nil).Want(302)
}

// TestThirdParty lets a third party act for a person: it does what both allow, until the person's company ends that.
func TestThirdParty(t *testing.T) {
	t.Parallel()
	m := newMachines(t)
	p := m.document(nil)
	var shown struct {
		ClientHost, RedirectHost, CompanyName, Endpoint string
		Scopes                                          []string
	}
	m.Do("GET", "/auth/consent"+p.query(object{"scope": "memory:read operations:write offline_access"}), m.A.Token, nil).Want(200).JSON(&shown)
	if diff := cmp.Diff([]string{strings.TrimPrefix(strings.TrimSuffix(p.clientID, "/client.json"), "http://"), "127.0.0.1", "Acme", "api", "memory:read"},
		append([]string{shown.ClientHost, shown.RedirectHost, shown.CompanyName, shown.Endpoint}, shown.Scopes...)); diff != "" {
		t.Errorf("what the person sees differs (-want +got):\n%s", diff)
	}
	answer := p.consent(m.A.Token, nil, object{"scopes": []string{"memory:read", "operations:write", "integrations:write", "executives:write"}})
	if got, want := [2]string{answer.Get("state"), answer.Get("iss")}, [2]string{"s", issuer}; got != want {
		t.Errorf("state and iss = %q, want %q", got, want)
	}
	got := p.got(p.exchange(answer.Get("code"), nil))
	if got.Scope != "memory:read" {
		t.Errorf("scope = %q, want memory:read", got.Scope)
	}
	if status := m.reads(got.Access); status != 200 {
		t.Errorf("status of a read = %d, want 200", status)
	}
	m.Do("GET", m.at("/operations/grants"), got.Access, nil).WantProblem(403, "insufficient-scope")
	m.Do("POST", "/auth/sign-out", got.Access, nil).WantProblem(403, "forbidden")
	m.Do("POST", "/auth/consent", got.Access, p.request(nil)).WantProblem(403, "forbidden")
	by := last[audit.Record](m, store.For(m.Store, m.A.ID), audit.Prefix).Actor
	if got, want := [2]string{by.UserID, by.ClientID}, [2]string{m.A.UserID, granteeOf(m, got.Access)}; got != want {
		t.Errorf("the last record has the user and the client %q, want %q", got, want)
	}

	var list operations.ThirdPartyGrantList
	m.founder("GET", "/operations/grants", nil).Want(200).JSON(&list)
	if len(list.Items) != 1 {
		t.Fatalf("%d grants, want 1", len(list.Items))
	}
	var one operations.ThirdPartyGrant
	at := "/operations/grants/" + list.Items[0].ID
	m.founder("GET", at, nil).Want(200).JSON(&one)
	if diff := cmp.Diff(list.Items[0], one); diff != "" {
		t.Errorf("the grant differs from that of the list (-list +got):\n%s", diff)
	}
	m.Do("GET", "/companies/"+m.B.ID+at, m.B.Token, nil).WantProblem(404, "not-found")
	m.founder("DELETE", at, nil).Want(204)
	m.Forget()
	if status := m.reads(got.Access); status != 401 {
		t.Errorf("status of a read after the end = %d, want 401", status)
	}
	m.wantRefused("a refresh after the end", p.refreshed(got.Refresh, nil), 400, "invalid_grant")
	denied := p.consent(m.A.Token, nil, object{"allow": false})
	if got, want := [2]string{denied.Get("error"), denied.Get("iss")}, [2]string{"access_denied", issuer}; got != want {
		t.Errorf("a refusal leads back with error and iss %q, want %q", got, want)
	}
}

// granteeOf returns the client_id of a token.
func granteeOf(m *machines, text string) string {
	m.t.Helper()
	claims, err := m.Verifier.Verify(text)
	errtest.Must(m.t, err)
	return claims.Client
}

// TestThirdParty_MCP binds tokens to the endpoint of one company, which the person must be in.
func TestThirdParty_MCP(t *testing.T) {
	t.Parallel()
	m := withEndpoint(newMachines(t))
	p := m.document(nil)
	mcp := object{"resource": token.MCPResource(issuer, m.A.ID)}
	m.Do("GET", "/auth/consent"+p.query(mcp), m.B.Token, nil).WantProblem(403, "forbidden")
	body := p.request(mcp)
	body["allow"], body["scopes"] = true, []string{"memory:read"}
	m.Do("POST", "/auth/consent", m.B.Token, body).WantProblem(403, "forbidden")

	got := p.granted(mcp, nil)
	m.Do("POST", m.at("/mcp"), got.Access, nil).Want(204)
	if status := m.reads(got.Access); status != 401 {
		t.Errorf("status at the API = %d, want 401", status)
	}
	m.wantRefused("another audience", p.refreshed(got.Refresh, object{"resource": issuer}), 400, "invalid_target")
	m.wantRefused("another company's", p.refreshed(got.Refresh, object{"resource": token.MCPResource(issuer, m.B.ID)}), 400, "invalid_target")
	again := p.got(p.refreshed(got.Refresh, mcp))
	m.Do("POST", m.at("/mcp"), again.Access, nil).Want(204)
	m.Do("POST", m.at("/mcp"), m.A.Token, nil).WantProblem(401, "unauthenticated") // a founder's own token is not passed on
}

// TestThirdParty_Moved lets a grant for MCP go on when the service gets another address, whichever address a refresh names.
func TestThirdParty_Moved(t *testing.T) {
	t.Parallel()
	m := withEndpoint(newMachines(t))
	p := m.document(nil)
	former := "https://former.test"
	refresh := p.granted(object{"resource": token.MCPResource(issuer, m.A.ID)}, nil).Refresh
	s := store.For(m.Store, m.A.ID)
	all, err := grant.List(t.Context(), s, m.clock.Now())
	errtest.Must(t, err)
	all[0].Resource = token.MCPResource(former, m.A.ID) // as a release stored it that knew the former address alone
	errtest.Must(t, s.Commit(t.Context(), all[0].Save(s)))
	for name, change := range map[string]object{"the current address": {"resource": token.MCPResource(issuer, m.A.ID)}, "none": nil} {
		again := p.got(p.refreshed(refresh, change))
		if status := m.Do("POST", m.at("/mcp"), again.Access, nil).Status; status != 204 {
			t.Errorf("%s: status at MCP = %d, want 204", name, status)
		}
		refresh = again.Refresh
	}
	m.wantRefused("the API", p.refreshed(refresh, object{"resource": issuer}), 400, "invalid_target")
}

// TestThirdParty_Executive lets a third party act as an executive, which only a founder can.
func TestThirdParty_Executive(t *testing.T) {
	t.Parallel()
	m := newMachines(t)
	one, _ := m.executive("Chief of Staff")
	p := m.document(nil)
	got := p.granted(nil, object{"executive": one, "scopes": nil})
	if want := "memory:read mission-control:read executives:act"; got.Scope != want {
		t.Errorf("scope = %q, want %q", got.Scope, want)
	}
	m.act(one, got.Access, "a").Want(202)
	joins(t, m.Harness, m.A.ID, "grace@acme.test", another)
	member := m.UserToken(m.A.ID, m.grace().ID, user.Member)
	body := p.request(nil)
	body["allow"], body["executive"] = true, one
	m.Do("POST", "/auth/consent", member, body).WantProblem(403, "forbidden")
	m.founder("DELETE", "/executives/"+one, nil).Want(204)
	m.Forget()
	if status := m.reads(got.Access); status != 401 {
		t.Errorf("status after the executive's end = %d, want 401", status)
	}
	m.wantRefused("a refresh after the executive's end", p.refreshed(got.Refresh, nil), 400, "invalid_grant")
}

// TestThirdParty_Code takes a code once, within a minute, from the third party that proves that it asked for it.
func TestThirdParty_Code(t *testing.T) {
	t.Parallel()
	m := newMachines(t)
	p, thief := m.document(nil), m.document(nil)
	code := p.consent(m.A.Token, nil, nil).Get("code")
	for name, change := range map[string]object{
		"another client": {"client_id": thief.clientID}, "another verifier": {"code_verifier": strings.Repeat("A", 43)},
		"another redirect": {"redirect_uri": "https://agent.example.com/cb"}, "no redirect": {"redirect_uri": ""}, "no client": {"client_id": ""},
		"another company": {"code": strings.Replace(code, m.A.ID, m.B.ID, 1)}, "another secret": {"code": "grant." + m.A.ID + "." + sso.Secret()},
	} {
		m.wantRefused(name, p.exchange(code, change), 400, "invalid_grant")
	}
	got := p.got(p.exchange(code, nil))
	m.wantRefused("a replay", p.exchange(code, nil), 400, "invalid_grant")
	m.Forget()
	if status := m.reads(got.Access); status != 401 {
		t.Errorf("status after the replay = %d, want 401", status)
	}
	m.wantRefused("a refresh after the replay", p.refreshed(got.Refresh, nil), 400, "invalid_grant")
	late := p.consent(m.A.Token, nil, nil).Get("code")
	m.clock.Advance(grant.CodeLifetime)
	m.wantRefused("a late code", p.exchange(late, nil), 400, "invalid_grant")
}

// TestThirdParty_Refresh rotates refresh tokens. A former one ends the grant; what is not one of it ends nothing.
func TestThirdParty_Refresh(t *testing.T) {
	t.Parallel()
	m := newMachines(t)
	p, thief := m.document(nil), m.document(nil)
	first := p.granted(nil, nil)
	m.wantRefused("another client", thief.refreshed(first.Refresh, nil), 400, "invalid_grant")
	m.wantRefused("a guess", p.refreshed(first.Refresh[:strings.LastIndex(first.Refresh[:len(first.Refresh)-27], ".")]+"."+sso.Secret()+"."+sso.Secret(), nil), 400, "invalid_grant")
	m.wantRefused("more scopes", p.refreshed(first.Refresh, object{"scope": "memory:read operations:read"}), 400, "invalid_scope")
	narrow := p.got(p.refreshed(first.Refresh, object{"scope": "memory:read"}))
	if narrow.Scope != "memory:read" {
		t.Errorf("scope = %q, want memory:read", narrow.Scope)
	}
	wide := p.got(p.refreshed(narrow.Refresh, nil))
	if want := "memory:read memory:write"; wide.Scope != want {
		t.Errorf("scope = %q, want %q", wide.Scope, want)
	}
	m.wantRefused("a former token at once", p.refreshed(narrow.Refresh, nil), 400, "invalid_grant")
	wide = p.got(p.refreshed(wide.Refresh, nil))
	m.clock.Advance(grant.Rotating)
	m.wantRefused("a stolen token", p.refreshed(first.Refresh, nil), 400, "invalid_grant")
	m.wantRefused("the newest token after that", p.refreshed(wide.Refresh, nil), 400, "invalid_grant")
	m.Forget()
	for _, one := range []tokens{first, narrow, wide} {
		if status := m.reads(one.Access); status != 401 {
			t.Errorf("status of a token of the family = %d, want 401", status)
		}
	}
}

// TestThirdParty_RefreshAtOnce lets one of many requests with the same refresh token win, and its tokens go on.
func TestThirdParty_RefreshAtOnce(t *testing.T) {
	t.Parallel()
	m := newMachines(t)
	p := m.document(nil)
	first := p.granted(nil, nil)
	answers := make([]*webtest.Response, 20)
	var wg sync.WaitGroup
	for n := range answers {
		wg.Go(func() { answers[n] = p.refreshed(first.Refresh, nil) })
	}
	wg.Wait()
	counts := map[int]int{}
	for _, r := range answers {
		counts[r.Status]++
		if r.Status == http.StatusOK {
			first = p.got(r)
		}
	}
	if diff := cmp.Diff(map[int]int{200: 1, 400: 19}, counts); diff != "" {
		t.Errorf("statuses differ (-want +got):\n%s", diff)
	}
	p.got(p.refreshed(first.Refresh, nil))
}

// TestThirdParty_Ended ends a third party's tokens with what they depend on.
func TestThirdParty_Ended(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(p party, got tokens){
		"it gives its access token back":   func(p party, got tokens) { p.revoke(got.Access, nil).Want(200) },
		"it gives its refresh token back":  func(p party, got tokens) { p.revoke(got.Refresh, object{"client_id": p.clientID}).Want(200) },
		"the person signs out everywhere":  func(p party, _ tokens) { p.Do("POST", "/auth/sign-out", p.A.Token, nil).Want(204) },
		"the grant is not used for a time": func(p party, _ tokens) { p.clock.Advance(grant.Idle) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachines(t)
			p := m.document(nil)
			got := p.granted(nil, nil)
			m.wantRefused("another client gives it back", p.revoke(got.Refresh, object{"client_id": "https://evil.test/c"}), 400, "unauthorized_client")
			m.wantRefused("another client gives it back", p.revoke(got.Access, object{"client_id": "https://evil.test/c"}), 400, "unauthorized_client")
			end(p, got)
			m.wantRefused("a refresh", p.refreshed(got.Refresh, nil), 400, "invalid_grant")
			p.revoke(got.Refresh, nil).Want(200)
		})
	}
}

// TestThirdParty_Limit refuses more grants than a company can have.
func TestThirdParty_Limit(t *testing.T) {
	t.Parallel()
	m := newMachines(t)
	p := m.document(nil)
	c := store.For(m.Store, m.A.ID)
	for n := range grant.MaxPerCompany {
		s := grant.Stored{Grant: grant.Grant{ID: fmt.Sprintf("g%d", n), ExpiresAt: m.clock.Now().Add(time.Hour)}}
		if err := c.Commit(t.Context(), s.Save(c)); err != nil {
			t.Fatal(err)
		}
	}
	m.wantRefused("one more", p.exchange(p.consent(m.A.Token, nil, nil).Get("code"), nil), 400, "invalid_grant")
	for n := range grant.MaxPerUser { // as many of the user's own, of which the oldest makes room
		s, err := grant.Load(t.Context(), c, fmt.Sprintf("g%d", n), m.clock.Now())
		errtest.Must(t, err)
		s.UserID = m.A.UserID
		errtest.Must(t, c.Commit(t.Context(), s.Save(c)))
	}
	p.granted(nil, nil)
}

// TestClientDocument refuses documents that are not of their address, lead elsewhere, or are too large.
func TestClientDocument(t *testing.T) {
	t.Parallel()
	m := newMachines(t)
	good := m.document(nil)
	elsewhere := httptest.NewServer(http.RedirectHandler(good.clientID, http.StatusFound))
	t.Cleanup(elsewhere.Close)
	for name, p := range map[string]party{
		"another client_id":      m.document(object{"client_id": good.clientID}),
		"more than 10 KiB":       m.document(object{"padding": strings.Repeat("x", 10<<10)}),
		"no name":                m.document(object{"client_name": nil}),
		"a name of two lines":    m.document(object{"client_name": "a\nb"}),
		"no redirects":           m.document(object{"redirect_uris": nil}),
		"a secret":               m.document(object{"token_endpoint_auth_method": "client_secret_post"}),
		"redirects of two kinds": m.document(object{"redirect_uris": "x"}),
		"a redirect":             {m, elsewhere.URL + "/client.json"},
		"a private address":      {m, "https://10.0.0.1/client.json"},
		"the metadata address":   {m, "http://169.254.169.254/client.json"},
		"no path":                {m, strings.TrimSuffix(good.clientID, "client.json")},
		"a path that goes up":    {m, strings.Replace(good.clientID, "client.json", "x/../client.json", 1)},
		"a fragment":             {m, good.clientID + "#x"},
		"http to a public host":  {m, "http://example.com/client.json"},
	} {
		if r := m.Do("GET", "/auth/authorize"+p.query(nil), "", nil); r.Status != 422 {
			t.Errorf("%s: status %d, want 422: %s", name, r.Status, r.Body)
		}
	}
	m.Do("GET", "/auth/authorize"+good.query(nil), "", nil).Want(302)
}

// TestMetadata describes the authorization server and a company's MCP endpoint, for every id alike.
func TestMetadata(t *testing.T) {
	t.Parallel()
	m := newMachines(t)
	documents := map[string]object{}
	for _, path := range []string{"oauth-authorization-server", "openid-configuration", "oauth-protected-resource/companies/" + m.A.ID + "/mcp", "oauth-protected-resource/companies/unknown/mcp"} {
		var doc object
		m.Do("GET", "/.well-known/"+path, "", nil).Want(200).JSON(&doc)
		delete(doc, "$schema")
		documents[path] = doc
	}
	if diff := cmp.Diff(documents["oauth-authorization-server"], documents["openid-configuration"]); diff != "" {
		t.Errorf("the two names lead to different documents:\n%s", diff)
	}
	server := documents["openid-configuration"]
	got := []any{server["issuer"], server["authorization_endpoint"], server["code_challenge_methods_supported"], server["authorization_response_iss_parameter_supported"]}
	if diff := cmp.Diff([]any{issuer, issuer + "/auth/authorize", []any{"S256"}, true}, got); diff != "" {
		t.Errorf("metadata differs (-want +got):\n%s", diff)
	}
	of := documents["oauth-protected-resource/companies/"+m.A.ID+"/mcp"]
	if diff := cmp.Diff([]any{token.MCPResource(issuer, m.A.ID), []any{issuer}}, []any{of["resource"], of["authorization_servers"]}); diff != "" {
		t.Errorf("metadata of the resource differs (-want +got):\n%s", diff)
	}
}
