package auth_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/functions/auth"
	"orgops/functions/executives"
	"orgops/functions/memory"
	"orgops/functions/missioncontrol"
	"orgops/functions/operations"
	"orgops/shared/base/id"
	"orgops/shared/domain/company"
	"orgops/shared/domain/user"
	"orgops/shared/identity/token"
	"orgops/shared/provider/catalog"
	"orgops/shared/provider/policyengine"
	"orgops/shared/run/boot"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/clocktest"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/ssotest"
	"orgops/shared/testkit/webtest"
	"orgops/shared/webhook/outbound"
)

const issuer = "https://orgops.test"

type object = map[string]any

// machines serves the groups that clients meet, for company A.
type machines struct {
	*webtest.Harness
	t     *testing.T
	clock *clocktest.Clock
}

func newMachines(t *testing.T) *machines {
	t.Helper()
	m := &machines{Harness: webtest.New(t), t: t, clock: clocktest.At(time.Now().UTC().Truncate(time.Millisecond))}
	client := outbound.New(outbound.Options{AllowLoopback: true})
	parts := boot.New(boot.Parts{
		Store: m.Store, Vault: m.Vault, Connectors: catalog.All(client, m.clock.Now), Client: client, Engine: policyengine.New(m.clock.Now), Now: m.clock.Now,
		Keys: token.AtHand{Signs: m.Signer, Verifies: m.Verifier.Keys}, Base: issuer,
	})
	auth.Mount(m.API(), parts)
	operations.Mount(m.API(), parts)
	executives.Mount(m.API(), parts)
	memory.Mount(m.API(), parts)
	missioncontrol.Mount(m.API(), parts)
	return m
}

// at returns a path of company A.
func (m *machines) at(rest string) string { return "/companies/" + m.A.ID + rest }

// founder sends a request of company A's founder.
func (m *machines) founder(method, rest string, body any, headers ...string) *webtest.Response {
	m.t.Helper()
	return m.Do(method, m.at(rest), m.A.Token, body, headers...)
}

// create makes a client of company A's founder that reads memories, with more members.
func (m *machines) create(more object) (c operations.IssuedClient) {
	m.t.Helper()
	body := object{"name": "Report", "purpose": "Reads", "owner": m.A.UserID, "scopes": []string{"memory:read", "mission-control:read"}}
	for k, v := range more {
		if body[k] = v; v == nil {
			delete(body, k)
		}
	}
	m.founder("POST", "/operations/clients", body).Want(201).JSON(&c)
	return c
}

// path returns the path of a client.
func path(c operations.IssuedClient) string { return "/operations/clients/" + c.ID }

// form asks for a token with a form.
func (m *machines) form(fields object, headers ...string) *webtest.Response {
	m.t.Helper()
	return m.formTo("/auth/token", fields, nil, headers...)
}

// formTo sends a form with more fields.
func (m *machines) formTo(path string, fields, more object, headers ...string) *webtest.Response {
	m.t.Helper()
	values := url.Values{}
	for _, some := range []object{fields, more} {
		for name, v := range some {
			values.Set(name, v.(string))
		}
	}
	return m.Do("POST", path, "", values.Encode(), append([]string{"Content-Type", "application/x-www-form-urlencoded"}, headers...)...)
}

// secret asks for a token with a secret.
func (m *machines) secret(clientID, secret string) *webtest.Response {
	m.t.Helper()
	return m.form(object{"grant_type": "client_credentials", "client_id": clientID, "client_secret": secret})
}

// issued holds what the tests read of a token answer.
type issued struct {
	Text      string `json:"access_token"`
	Type      string `json:"token_type"`
	ExpiresIn int    `json:"expires_in"`
	Scope     string `json:"scope"`
}

// got returns the token of an answer.
func got(r *webtest.Response) (i issued) {
	r.Want(200).JSON(&i)
	return i
}

// refusal is an error of RFC 6749 §5.2.
type refusal struct {
	Status      int    `json:"-"`
	Type        string `json:"-"`
	Code        string `json:"error"`
	Description string `json:"error_description"`
}

func refused(r *webtest.Response) refusal {
	f := refusal{Status: r.Status, Type: r.Header.Get("Content-Type")}
	r.JSON(&f)
	return f
}

// wantRefused checks the status and the code of a refusal, which is JSON.
func (m *machines) wantRefused(name string, r *webtest.Response, status int, code string) {
	m.t.Helper()
	f := refused(r)
	if f.Description == "" {
		m.t.Errorf("%s: no error_description, want one: %s", name, r.Body)
	}
	f.Description = ""
	if want := (refusal{status, "application/json", code, ""}); f != want {
		m.t.Errorf("%s: %+v, want %+v: %s", name, f, want, r.Body)
	}
}

// TestClient follows a client from its creation to its deletion.
func TestClient(t *testing.T) {
	t.Parallel()
	m := newMachines(t)
	c := m.create(nil)
	i := got(m.secret(c.ClientID, c.ClientSecret))
	if want := (issued{i.Text, "Bearer", 3600, "memory:read mission-control:read"}); i != want {
		t.Errorf("answer %+v, want %+v", i, want)
	}
	claims, err := m.Verifier.Verify(i.Text)
	errtest.Must(t, err)
	claims.ID, claims.IssuedAt, claims.Expires = "", time.Time{}, time.Time{}
	want := token.Claims{
		Subject: c.ID, Client: c.ID, Company: m.A.ID, Plan: "free", Scopes: []string{"memory:read", "mission-control:read"}, Depends: map[string]int64{m.A.UserID: 0},
	}
	if diff := cmp.Diff(want, claims); diff != "" {
		t.Errorf("claims differ (-want +got):\n%s", diff)
	}
	m.Do("GET", m.at("/memory"), i.Text, nil).Want(200)
	m.Do("GET", m.at("/operations/clients"), i.Text, nil).WantProblem(403, "insufficient-scope")
	m.Do("POST", "/auth/sign-out", i.Text, nil).WantProblem(403, "forbidden")
	var shown operations.MachineClient
	m.founder("GET", path(c), nil).Want(200).JSON(&shown)
	minute := m.clock.Now().Truncate(time.Minute)
	if diff := cmp.Diff(&minute, shown.LastUsedAt); diff != "" {
		t.Errorf("lastUsedAt (-want +got):\n%s", diff)
	}
	if shown := string(m.founder("GET", "/operations/clients", nil).Want(200).Body); strings.Contains(shown, c.ClientSecret) {
		t.Errorf("the list shows the secret, want only its end: %s", shown)
	}
	m.founder("DELETE", path(c), nil).Want(204)
	m.Forget()
	m.Do("GET", m.at("/memory"), i.Text, nil).WantProblem(401, "unauthenticated")
	m.wantRefused("deleted", m.secret(c.ClientID, c.ClientSecret), 401, "invalid_client")
	var timeline struct{ Items []struct{ Kind string } }
	m.founder("GET", "/mission-control/timeline", nil).Want(200).JSON(&timeline)
	var kinds []string
	for _, e := range timeline.Items {
		kinds = append(kinds, e.Kind)
	}
	if diff := cmp.Diff([]string{"client.deleted", "client.created"}, kinds); diff != "" {
		t.Errorf("timeline (-want +got):\n%s", diff)
	}
}

// TestClient_Ways sends a secret in each way that RFC 6749 §2.3.1 knows.
func TestClient_Ways(t *testing.T) {
	t.Parallel()
	m := newMachines(t)
	c, other := m.create(nil), m.create(nil)
	basic := func(name, secret string) []string {
		return []string{"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte(url.QueryEscape(name)+":"+url.QueryEscape(secret)))}
	}
	grant := object{"grant_type": "client_credentials"}
	got(m.form(grant, basic(c.ClientID, c.ClientSecret)...))
	got(m.form(object{"grant_type": "client_credentials", "unknown_parameter": "x"}, basic(c.ClientID, c.ClientSecret)...))
	got(m.Do("POST", "/auth/token", "", object{"grant_type": "client_credentials", "client_id": c.ClientID, "client_secret": c.ClientSecret}))
	i := got(m.form(object{"grant_type": "client_credentials", "client_id": c.ClientID, "client_secret": c.ClientSecret, "scope": "memory:read"}))
	if i.Scope != "memory:read" {
		t.Errorf("scope = %q, want memory:read", i.Scope)
	}
	both := object{"grant_type": "client_credentials", "client_id": c.ClientID, "client_secret": c.ClientSecret}
	for name, tt := range map[string]struct {
		answer *webtest.Response
		status int
		code   string
	}{
		"another client's secret":  {m.secret(c.ClientID, other.ClientSecret), 401, "invalid_client"},
		"no secret":                {m.form(object{"grant_type": "client_credentials", "client_id": c.ClientID}), 401, "invalid_client"},
		"no client":                {m.form(grant), 401, "invalid_client"},
		"an unknown client":        {m.secret(m.A.ID+"."+id.New(), c.ClientSecret), 401, "invalid_client"},
		"a client of no company":   {m.secret(id.New()+"."+c.ID, c.ClientSecret), 401, "invalid_client"},
		"another company's":        {m.secret(m.B.ID+"."+c.ID, c.ClientSecret), 401, "invalid_client"},
		"a client_id of no form":   {m.secret("x#y", c.ClientSecret), 401, "invalid_client"},
		"two ways":                 {m.form(both, basic(c.ClientID, c.ClientSecret)...), 400, "invalid_request"},
		"a scope that it lacks":    {m.form(object{"grant_type": "client_credentials", "client_id": c.ClientID, "client_secret": c.ClientSecret, "scope": "memory:write"}), 400, "invalid_scope"},
		"an unknown grant":         {m.form(object{"grant_type": "password"}), 400, "unsupported_grant_type"},
		"no grant":                 {m.form(object{"client_id": c.ClientID}), 400, "invalid_request"},
		"a parameter twice":        {m.Do("POST", "/auth/token", "", "grant_type=a&grant_type=b", "Content-Type", "application/x-www-form-urlencoded"), 400, "invalid_request"},
		"a broken form":            {m.Do("POST", "/auth/token", "", "grant_type=%zz", "Content-Type", "application/x-www-form-urlencoded"), 400, "invalid_request"},
		"a broken header":          {m.form(grant, "Authorization", "Basic x"), 401, "invalid_client"},
		"a wrong secret by header": {m.form(grant, basic(c.ClientID, "x")...), 401, "invalid_client"},
	} {
		m.wantRefused(name, tt.answer, tt.status, tt.code)
	}
	challenge := m.form(grant, basic(c.ClientID, "x")...).Header.Get("WWW-Authenticate")
	if want := `Basic realm="clients"`; challenge != want {
		t.Errorf("WWW-Authenticate = %q, want %q", challenge, want)
	}
	wrong, unknown := refused(m.secret(c.ClientID, other.ClientSecret)), refused(m.secret(m.A.ID+"."+id.New(), other.ClientSecret))
	if wrong != unknown {
		t.Errorf("a wrong secret is answered %+v and an unknown client %+v, want the same", wrong, unknown)
	}
	if log := m.Log.String(); strings.Contains(log, c.ClientSecret) {
		t.Errorf("the log has the secret:\n%s", log)
	}
}

// TestClient_Ended ends a client in each way: its token is refused within five seconds, and it gets no other one.
func TestClient_Ended(t *testing.T) {
	t.Parallel()
	patch := func(body object) func(*machines, operations.IssuedClient) {
		return func(m *machines, c operations.IssuedClient) { m.founder("PATCH", path(c), body).Want(200) }
	}
	for name, tt := range map[string]struct {
		end  func(*machines, operations.IssuedClient)
		code string // of another try; "": it gets another token
	}{
		"disabled":       {patch(object{"disabled": true}), "unauthorized_client"},
		"another scope":  {patch(object{"scopes": []string{"memory:read"}}), ""},
		"other networks": {patch(object{"networks": []string{"203.0.113.0/24"}}), "unauthorized_client"},
		"secret replaced": {func(m *machines, c operations.IssuedClient) {
			m.founder("POST", path(c)+"/secret", object{"endFormer": true}).Want(200)
		}, "invalid_client"},
		"owner disabled": {func(m *machines, _ operations.IssuedClient) {
			m.changeOwner(company.Change{Disabled: ptr(true)})
		}, "unauthorized_client"},
		"owner is another role": {func(m *machines, _ operations.IssuedClient) {
			m.changeOwner(company.Change{Role: ptr(user.Operator)})
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMachines(t)
			joins(t, m.Harness, m.A.ID, "grace@acme.test", another)
			c := m.create(object{"owner": m.grace().ID})
			text := got(m.secret(c.ClientID, c.ClientSecret)).Text
			m.Do("GET", m.at("/memory"), text, nil).Want(200)
			tt.end(m, c)
			m.Forget()
			m.Do("GET", m.at("/memory"), text, nil).WantProblem(401, "unauthenticated")
			again := m.secret(c.ClientID, c.ClientSecret)
			if tt.code == "" {
				again.Want(200)
				return
			}
			if f := refused(again); f.Code != tt.code {
				t.Errorf("another try: %+v, want %s", f, tt.code)
			}
		})
	}
}

func ptr[T any](v T) *T { return &v }

// grace returns the member of company A whom a test invited.
func (m *machines) grace() user.User {
	m.t.Helper()
	users, _, err := company.ListUsers(m.t.Context(), store.For(m.Store, m.A.ID), "", 10)
	errtest.Must(m.t, err)
	for _, u := range users {
		if u.Email == "grace@acme.test" {
			return u
		}
	}
	m.t.Fatal("no user grace, want one")
	return user.User{}
}

func (m *machines) changeOwner(change company.Change) {
	m.t.Helper()
	c := store.For(m.Store, m.A.ID)
	u, version, err := company.GetUser(m.t.Context(), c, m.grace().ID)
	errtest.Must(m.t, err)
	_, _, err = company.ChangeUser(m.t.Context(), m.Store, c, u, version, change, m.clock.Now())
	errtest.Must(m.t, err)
}

// TestClient_Rotation replaces a secret while it is used. Each former one goes on for a day.
func TestClient_Rotation(t *testing.T) {
	t.Parallel()
	m := newMachines(t)
	c := m.create(nil)
	var next operations.IssuedClient
	m.founder("POST", path(c)+"/secret", nil).Want(200).JSON(&next)
	got(m.secret(c.ClientID, c.ClientSecret))
	got(m.secret(c.ClientID, next.ClientSecret))
	var third operations.IssuedClient
	m.founder("POST", path(c)+"/secret", nil).Want(200).JSON(&third)
	if len(third.Secrets) != 3 {
		t.Errorf("%d live secrets, want 3: %+v", len(third.Secrets), third.Secrets)
	}
	got(m.secret(c.ClientID, c.ClientSecret)) // a second rotation ends no secret early
	m.clock.Advance(24 * time.Hour)
	m.wantRefused("the first of three", m.secret(c.ClientID, c.ClientSecret), 401, "invalid_client")
	m.wantRefused("after a day", m.secret(c.ClientID, next.ClientSecret), 401, "invalid_client")
	got(m.secret(c.ClientID, third.ClientSecret))
}

// TestClient_Widens gives no client, by no way, a scope that the token of its founder was not given, nor one to a token that is bound to an
// integration.
func TestClient_Widens(t *testing.T) {
	t.Parallel()
	m := newMachines(t)
	c := m.create(nil)
	joins(t, m.Harness, m.B.ID, m.A.Email, webtest.Password)
	elsewhere := enter(m.Harness, map[string]string{"email": m.A.Email, "password": webtest.Password, "company": m.B.ID}).Token
	narrow := got(m.form(object{
		"grant_type": "urn:ietf:params:oauth:grant-type:token-exchange", "subject_token": elsewhere,
		"subject_token_type": "urn:ietf:params:oauth:token-type:access_token", "audience": m.A.ID,
		"scope": "operations:read operations:write executives:write mission-control:read",
	})).Text
	body := func(scope string) object {
		return object{"name": "Report", "purpose": "Reads", "owner": m.A.UserID, "scopes": []string{scope}}
	}
	for name, bearer := range map[string]string{"narrowed": narrow, "bound": m.BoundToken(m.A.ID, "github")} {
		m.Do("POST", m.at("/operations/clients"), bearer, body("memory:read")).Want(403)
		m.Do("PATCH", m.at(path(c)), bearer, object{"name": name}).Want(403)
		m.Do("POST", m.at(path(c)+"/secret"), bearer, nil).Want(403)
		m.Do("POST", m.at(path(c)+"/keys"), bearer, object{"keys": []object{signers(t)[0].jwk()}}).Want(403)
	}
	m.Do("POST", m.at("/operations/clients"), narrow, body("mission-control:read")).Want(201)
}

// TestClient_Network uses a token of a client from its network and from another one.
func TestClient_Network(t *testing.T) {
	t.Parallel()
	m := newMachines(t)
	c := m.create(object{"networks": []string{"192.0.2.0/24"}}) // the harness's
	text := got(m.secret(c.ClientID, c.ClientSecret)).Text
	m.Do("GET", m.at("/memory"), text, nil).Want(200)
	claims, err := m.Verifier.Verify(text)
	errtest.Must(t, err)
	claims.Networks = []netip.Prefix{netip.MustParsePrefix("203.0.113.0/24")}
	elsewhere, err := m.Signer.Issue(claims)
	errtest.Must(t, err)
	m.Do("GET", m.at("/memory"), elsewhere, nil).WantProblem(403, "forbidden")
	m.founder("PATCH", path(c), object{"networks": []string{"2001:db8::/32"}}).Want(200)
	m.wantRefused("a foreign network", m.secret(c.ClientID, c.ClientSecret), 400, "unauthorized_client")
}

// signer signs assertions with one key.
type signer struct {
	alg string
	key crypto.Signer
}

func (s signer) jwk() object {
	b64 := base64.RawURLEncoding.EncodeToString
	switch k := s.key.Public().(type) {
	case ed25519.PublicKey:
		return object{"kty": "OKP", "crv": "Ed25519", "x": b64(k), "kid": s.alg}
	case *ecdsa.PublicKey:
		raw, _ := k.Bytes()
		return object{"kty": "EC", "crv": "P-256", "x": b64(raw[1:33]), "y": b64(raw[33:]), "kid": s.alg}
	case *rsa.PublicKey:
		return object{"kty": "RSA", "n": b64(k.N.Bytes()), "e": b64(big.NewInt(int64(k.E)).Bytes()), "kid": s.alg}
	}
	panic("unknown key")
}

// parts encodes a header and claims.
func parts(header, claims object) string {
	one := func(o object) string {
		raw, _ := json.Marshal(o)
		return base64.RawURLEncoding.EncodeToString(raw)
	}
	return one(header) + "." + one(claims)
}

func (s signer) sign(t *testing.T, header, claims object) string {
	t.Helper()
	text := parts(header, claims)
	digest := sha256.Sum256([]byte(text))
	var signature []byte
	var err error
	switch k := s.key.(type) {
	case ed25519.PrivateKey:
		signature = ed25519.Sign(k, []byte(text))
	case *ecdsa.PrivateKey:
		r, v, failed := ecdsa.Sign(rand.Reader, k, digest[:])
		signature, err = append(r.FillBytes(make([]byte, 32)), v.FillBytes(make([]byte, 32))...), failed
	case *rsa.PrivateKey:
		signature, err = rsa.SignPKCS1v15(nil, k, crypto.SHA256, digest[:])
	}
	errtest.Must(t, err)
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}

func signers(t *testing.T) []signer {
	t.Helper()
	_, ed, err := ed25519.GenerateKey(nil)
	errtest.Must(t, err)
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	errtest.Must(t, err)
	rs, err := rsa.GenerateKey(rand.Reader, 2048)
	errtest.Must(t, err)
	return []signer{{"EdDSA", ed}, {"ES256", ec}, {"RS256", rs}}
}

// assert asks for a token with an assertion alone.
func (m *machines) assert(text string, more ...string) *webtest.Response {
	m.t.Helper()
	fields := object{
		"grant_type": "client_credentials", "client_assertion": text, "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
	}
	for n := 0; n+1 < len(more); n += 2 {
		fields[more[n]] = more[n+1]
	}
	return m.form(fields)
}

// TestClient_Assertion takes assertions by keys of each kind, and refuses what an attacker may make of them.
func TestClient_Assertion(t *testing.T) {
	t.Parallel()
	m := newMachines(t)
	all := signers(t)
	var keys []object
	for _, s := range all {
		keys = append(keys, s.jwk())
	}
	c, other := m.create(object{"keys": object{"keys": keys}}), m.create(nil)
	if c.ClientSecret != "" {
		t.Errorf("a client with keys got a secret, want none")
	}
	claims := func(change object) object {
		now := m.clock.Now()
		base := object{"iss": c.ClientID, "sub": c.ClientID, "aud": issuer, "jti": id.New(), "iat": now.Unix(), "exp": now.Add(4 * time.Minute).Unix()}
		for k, v := range change {
			if base[k] = v; v == nil {
				delete(base, k)
			}
		}
		return base
	}
	for _, s := range all {
		text := s.sign(t, object{"alg": s.alg, "kid": s.alg}, claims(nil))
		got(m.assert(text, "client_id", c.ClientID))
		m.wantRefused("the same "+s.alg+" again", m.assert(text), 401, "invalid_client")
		got(m.assert(s.sign(t, object{"alg": s.alg}, claims(object{"aud": []string{issuer}}))))
	}
	ed, ec := all[0], all[1]
	public, _ := ec.key.Public().(*ecdsa.PublicKey).Bytes()
	mac := hmac.New(sha256.New, public)
	swapped := parts(object{"alg": "HS256", "kid": "ES256"}, claims(nil))
	mac.Write([]byte(swapped))
	_, foreign, err := ed25519.GenerateKey(nil)
	errtest.Must(t, err)
	header := object{"alg": "EdDSA", "kid": "EdDSA"}
	now := m.clock.Now()
	for name, text := range map[string]string{
		"aud is the token endpoint":     ed.sign(t, header, claims(object{"aud": issuer + "/auth/token"})),
		"aud has the issuer and others": ed.sign(t, header, claims(object{"aud": []string{issuer, "https://other.test"}})),
		"no aud":                        ed.sign(t, header, claims(object{"aud": nil})),
		"expired":                       ed.sign(t, header, claims(object{"exp": now.Add(-31 * time.Second).Unix()})),
		"no exp":                        ed.sign(t, header, claims(object{"exp": nil})),
		"too long":                      ed.sign(t, header, claims(object{"exp": now.Add(6 * time.Minute).Unix()})),
		"not yet":                       ed.sign(t, header, claims(object{"nbf": now.Add(time.Minute).Unix()})),
		"made later":                    ed.sign(t, header, claims(object{"iat": now.Add(time.Minute).Unix()})),
		"no jti":                        ed.sign(t, header, claims(object{"jti": nil})),
		"another client":                ed.sign(t, header, claims(object{"iss": other.ClientID, "sub": other.ClientID})),
		"another issuer":                ed.sign(t, header, claims(object{"iss": other.ClientID})),
		"alg none":                      parts(object{"alg": "none"}, claims(nil)) + ".",
		"HS256 with the public key":     swapped + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil)),
		"alg of another key":            ec.sign(t, object{"alg": "RS256", "kid": "ES256"}, claims(nil)),
		"kid of another key":            ec.sign(t, object{"alg": "ES256", "kid": "EdDSA"}, claims(nil)),
		"a foreign key":                 signer{"EdDSA", foreign}.sign(t, header, claims(nil)),
		"a foreign key in the header":   signer{"EdDSA", foreign}.sign(t, object{"alg": "EdDSA", "jwk": signer{"EdDSA", foreign}.jwk()}, claims(nil)),
		"a critical header":             ed.sign(t, object{"alg": "EdDSA", "crit": []string{"x"}, "x": 1}, claims(nil)),
		"no assertion":                  "x",
	} {
		m.wantRefused(name, m.assert(text), 401, "invalid_client")
	}
	good := ed.sign(t, header, claims(nil))
	m.wantRefused("client_id of another", m.assert(good, "client_id", other.ClientID), 401, "invalid_client")
	m.wantRefused("no type", m.form(object{"grant_type": "client_credentials", "client_assertion": good}), 400, "invalid_request")
	got(m.assert(good))

	rotate := func(kid string, status int, more ...string) {
		jwk := signer{"EdDSA", foreign}.jwk()
		jwk["kid"] = kid
		body := object{"keys": []object{jwk}}
		for _, name := range more {
			body[name] = true
		}
		m.founder("POST", path(c)+"/keys", body).Want(status)
	}
	rotate("EdDSA", 422) // the kid of another key that goes on
	rotate("next", 200)
	got(m.assert(ed.sign(t, header, claims(nil))))
	got(m.assert(signer{"EdDSA", foreign}.sign(t, object{"alg": "EdDSA", "kid": "next"}, claims(nil))))
	rotate("EdDSA", 200, "endFormer")
	m.wantRefused("an ended key", m.assert(ed.sign(t, header, claims(nil))), 401, "invalid_client")
}

// TestClient_Keys refuses keys that must not verify anything.
func TestClient_Keys(t *testing.T) {
	t.Parallel()
	m := newMachines(t)
	all := signers(t)
	weak, err := rsa.GenerateKey(rand.Reader, 1024)
	errtest.Must(t, err)
	changed := func(s signer, name string, value any) object {
		jwk := s.jwk()
		jwk[name] = value
		return jwk
	}
	for name, jwk := range map[string]object{
		"a private key":     changed(all[0], "d", "AAAA"),
		"a symmetric key":   {"kty": "oct", "k": "AAAA"},
		"a short RSA key":   signer{"RS256", weak}.jwk(),
		"another alg":       changed(all[2], "alg", "ES256"),
		"a key to encrypt":  changed(all[1], "use", "enc"),
		"a point off curve": changed(all[1], "x", base64.RawURLEncoding.EncodeToString(make([]byte, 32))),
		"another curve":     changed(all[1], "crv", "P-384"),
		"no public members": {"kty": "OKP", "crv": "Ed25519"},
		"a broken key":      {"kty": "RSA", "n": "!", "e": "AQAB"},
	} {
		body := object{"name": "a", "purpose": "b", "owner": m.A.UserID, "scopes": []string{"memory:read"}, "keys": object{"keys": []object{jwk}}}
		if r := m.founder("POST", "/operations/clients", body); r.Status != 422 {
			t.Errorf("%s: status %d, want 422: %s", name, r.Status, r.Body)
		}
	}
}

// TestClient_Federation takes a provider's token for one exact subject, as a CI job has it.
func TestClient_Federation(t *testing.T) {
	t.Parallel()
	m, p := newMachines(t), ssotest.NewProvider(t)
	const subject = "repo:acme@1234/reports@5678:ref:refs/heads/main"
	c := m.create(object{"federation": object{"issuer": p.URL, "subject": subject, "audience": issuer}})
	claims := func(change object) ssotest.Object {
		now := m.clock.Now()
		base := ssotest.Object{"iss": p.URL, "sub": subject, "aud": issuer, "iat": now.Unix(), "exp": now.Add(10 * time.Minute).Unix()}
		for k, v := range change {
			base[k] = v
		}
		return base
	}
	got(m.assert(p.Signed(claims(nil)), "client_id", c.ClientID))
	for name, text := range map[string]string{
		"no client_id":               "",
		"another subject":            p.Signed(claims(object{"sub": "repo:acme@1234/reports@5678:ref:refs/heads/other"})),
		"the repository's name":      p.Signed(claims(object{"sub": "repo:acme@9999/reports@5678:ref:refs/heads/main"})),
		"another audience":           p.Signed(claims(object{"aud": "https://other.test"})),
		"two audiences":              p.Signed(claims(object{"aud": []string{issuer, "https://other.test"}})),
		"another issuer":             p.Signed(claims(object{"iss": p.URL + "/other"})),
		"expired":                    p.Signed(claims(object{"exp": m.clock.Now().Add(-time.Minute).Unix()})),
		"a key that is no publisher": p.Foreign(claims(nil)),
		"alg none":                   p.Unsigned(claims(nil)),
		"HS256 with the public key":  p.Confused(claims(nil)),
	} {
		more := []string{"client_id", c.ClientID}
		if text == "" {
			text, more = p.Signed(claims(nil)), nil
		}
		m.wantRefused(name, m.assert(text, more...), 401, "invalid_client")
	}
	p.Rotate()
	m.clock.Advance(time.Minute) // before that, an unknown key is not looked for again
	got(m.assert(p.Signed(claims(nil)), "client_id", c.ClientID))
	body := object{"name": "a", "purpose": "b", "owner": m.A.UserID, "scopes": []string{"memory:read"}}
	for _, federation := range []object{
		{"issuer": p.URL, "subject": "repo:acme/*", "audience": issuer},
		{"issuer": p.URL, "subject": subject, "audience": "*"},
		{"issuer": "http://169.254.169.254", "subject": subject, "audience": issuer},
		{"issuer": "https://10.0.0.1", "subject": subject, "audience": issuer},
	} {
		body["federation"] = federation
		m.founder("POST", "/operations/clients", body).WantProblem(422, "invalid")
	}
}
