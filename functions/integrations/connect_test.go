package integrations_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/integration"
	"orgops/shared/domain/suspension"
	"orgops/shared/domain/user"
	"orgops/shared/identity/application"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/oauthtest"
	"orgops/shared/testkit/ssotest"
	"orgops/shared/testkit/webtest"
)

const (
	base     = "https://orgops.test"
	callback = base + "/auth/connect/callback"
)

// project configures an integration of GitLab.
var project = map[string]any{"project": "acme/app"}

// browser keeps the service's cookies, as a browser does for one site.
type browser struct {
	*service
	cookies map[string]string
}

func (s *service) browser() *browser { return &browser{s, map[string]string{}} }

// send sends a request with the cookies, and keeps those of the answer.
func (b *browser) send(method, path, token string) *webtest.Response {
	b.t.Helper()
	var pairs []string
	for name, value := range b.cookies {
		pairs = append(pairs, name+"="+value)
	}
	r := b.Do(method, path, token, nil, "Cookie", strings.Join(pairs, "; "))
	for _, cookie := range (&http.Response{Header: r.Header}).Cookies() {
		b.cookies[cookie.Name] = cookie.Value
	}
	return r
}

// connect asks for the address at the provider.
func (b *browser) connect(provider string) *url.URL {
	b.t.Helper()
	var got struct{ URL string }
	b.send("POST", b.at("/"+provider+"/connect"), b.A.Token).Want(200).JSON(&got)
	u, err := url.Parse(got.URL)
	errtest.Must(b.t, err)
	return u
}

// finish brings the provider's answer, and returns what the console is told.
func (b *browser) finish(answer url.Values) url.Values {
	b.t.Helper()
	r := b.send("GET", "/auth/connect/callback?"+answer.Encode(), "").Want(302)
	end, err := url.Parse(r.Header.Get("Location"))
	errtest.Must(b.t, err)
	page, query, _ := strings.Cut(end.Fragment, "?")
	if got, want := end.Scheme+"://"+end.Host+end.Path+"#"+page, base+"/console/index.html#/connected"; got != want {
		b.t.Fatalf("it ended at %s, want %s", got, want)
	}
	if got := r.Header.Get("Referrer-Policy"); got != "no-referrer" {
		b.t.Errorf("Referrer-Policy = %q, want the code to go nowhere", got)
	}
	told, err := url.ParseQuery(query)
	errtest.Must(b.t, err)
	return told
}

// connected returns what the console is told of an integration that is connected.
func connected(provider string) url.Values { return url.Values{"provider": {provider}} }

// notMade returns what the console is told of a connection that is not made.
func notMade(provider, why string) url.Values {
	return url.Values{"provider": {provider}, "refused": {why}}
}

func want(t testing.TB, got, want url.Values) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the console is told (-want +got):\n%s", diff)
	}
}

// grant returns the tokens of a connection.
func (s *service) grant(provider string) integration.Grant {
	s.t.Helper()
	i, _, err := integration.Load(s.t.Context(), s.company(), provider)
	errtest.Must(s.t, err)
	g, err := s.secrets(provider).OpenGrant(s.t.Context(), s.company(), s.services.Vault, i)
	errtest.Must(s.t, err)
	return g
}

// TestConnect_Zitadel connects at a real authorization server.
func TestConnect_Zitadel(t *testing.T) {
	t.Parallel()
	at := ssotest.NewZitadel(t, callback)
	s := setupConnect(t, application.Static{"gitlab": {ClientID: "orgops", ClientSecret: "s3cret", Server: &application.Server{
		API: "https://gitlab.com", Authorization: at.URL + "/auth", Token: at.URL + "/oauth/token", Revocation: at.URL + "/revoke",
	}}})
	s.configured("gitlab", project, 201)
	b := s.browser()
	led := b.connect("gitlab")
	query := led.Query()
	query.Set("scope", "openid offline_access") // Zitadel knows no scope of GitLab
	led.RawQuery = query.Encode()
	want(t, b.finish(ssotest.LogIn(t, led, callback).Query()), connected("gitlab"))
	if diff := cmp.Diff([]string{"accessToken"}, s.get("gitlab").Credentials.Names); diff != "" {
		t.Errorf("credentials (-want +got):\n%s", diff)
	}
	if g := s.grant("gitlab"); g.AccessUntil.Before(s.clock.Now()) {
		t.Errorf("the access token lasts until %v, want it to be valid", g.AccessUntil)
	}
	if s.grant("gitlab").Refresh == "" {
		t.Error("no refresh token")
	}
}

// TestConnect_Request leads to the provider with PKCE, the registered redirect and scopes, and without the secret.
func TestConnect_Request(t *testing.T) {
	t.Parallel()
	at := oauthtest.New(t)
	s := setupConnect(t, application.Static{"gitlab": at.Application("https://gitlab.com")})
	s.configured("gitlab", project, 201)
	b := s.browser()
	r := b.send("POST", s.at("/gitlab/connect"), s.A.Token).Want(200)
	var got struct {
		URL       string
		ExpiresAt time.Time
	}
	r.JSON(&got)
	led, err := url.Parse(got.URL)
	errtest.Must(t, err)
	q := led.Query()
	for name, want := range map[string]string{
		"response_type": "code", "client_id": oauthtest.ClientID, "redirect_uri": callback, "scope": "read_api", "code_challenge_method": "S256",
	} {
		if q.Get(name) != want {
			t.Errorf("%s = %q, want %q", name, q.Get(name), want)
		}
	}
	if strings.Contains(got.URL, oauthtest.ClientSecret) {
		t.Error("the address holds the operator's secret")
	}
	if in := got.ExpiresAt.Sub(s.clock.Now()); in != 10*time.Minute {
		t.Errorf("it expires in %v, want ten minutes", in)
	}
	cookie := (&http.Response{Header: r.Header}).Cookies()[0]
	if got, want := strings.Replace(cookie.String(), cookie.Value, "…", 1), "__Host-orgops-connect=…; Path=/; Max-Age=600; HttpOnly; Secure; SameSite=Lax"; got != want {
		t.Errorf("cookie = %s, want %s", got, want)
	}
}

// endBelow ends the founder's tokens of generations below from.
func (s *service) endBelow(from int64) {
	s.t.Helper()
	op, err := user.EndTokens(s.t.Context(), s.company(), s.A.UserID, from, s.clock.Now())
	errtest.Must(s.t, err)
	errtest.Must(s.t, s.company().Commit(s.t.Context(), op))
	s.Forget()
}

// TestConnect_Refused refuses every answer that is not that of the browser, the provider and the request that began.
func TestConnect_Refused(t *testing.T) {
	t.Parallel()
	at := oauthtest.New(t)
	s := setupConnect(t, application.Static{"gitlab": at.Application("https://gitlab.com")})
	s.configured("gitlab", project, 201)
	unknown := url.Values{"refused": {"again"}}
	tests := []struct {
		name string
		end  func(b *browser, answer url.Values) url.Values
		want url.Values
	}{
		{"another browser", func(_ *browser, a url.Values) url.Values { return s.browser().finish(a) }, unknown},
		{"no state", func(b *browser, a url.Values) url.Values { a.Del("state"); return b.finish(a) }, unknown},
		{"another company's state", func(b *browser, a url.Values) url.Values {
			a.Set("state", strings.Replace(a.Get("state"), s.A.ID, s.B.ID, 1))
			return b.finish(a)
		}, unknown},
		{"eleven minutes later", func(b *browser, a url.Values) url.Values { s.clock.Advance(11 * time.Minute); return b.finish(a) }, unknown},
		{"another server's iss", func(b *browser, a url.Values) url.Values { a.Set("iss", "https://evil.example"); return b.finish(a) }, notMade("gitlab", "refused")},
		{"another code", func(b *browser, a url.Values) url.Values { a.Set("code", "guess"); return b.finish(a) }, notMade("gitlab", "refused")},
		{"the user denies", func(b *browser, a url.Values) url.Values {
			return b.finish(url.Values{"state": a["state"], "error": {"access_denied"}, "error_description": {"<script>"}})
		}, notMade("gitlab", "denied")},
		{"the user may no longer", func(b *browser, a url.Values) url.Values {
			defer s.role(user.Founder)
			s.role(user.Member)
			return b.finish(a)
		}, notMade("gitlab", "forbidden")},
		{"the session has ended", func(b *browser, a url.Values) url.Values {
			defer s.endBelow(0)
			s.endBelow(99)
			return b.finish(a)
		}, notMade("gitlab", "forbidden")},
		{"deleted and configured again", func(b *browser, a url.Values) url.Values {
			s.do("DELETE", "/gitlab", nil).Want(204)
			s.configured("gitlab", project, 201)
			return b.finish(a)
		}, notMade("gitlab", "changed")},
	}
	for _, tt := range tests {
		b := s.browser()
		answer := at.Allow(b.connect("gitlab"))
		if diff := cmp.Diff(tt.want, tt.end(b, answer)); diff != "" {
			t.Errorf("%s: the console is told (-want +got):\n%s", tt.name, diff)
		}
		if s.get("gitlab").Credentials != nil {
			t.Errorf("%s: credentials were stored", tt.name)
		}
	}
	if log := s.Log.String(); strings.Contains(log, oauthtest.ClientSecret) {
		t.Errorf("the log holds the operator's secret: %s", log)
	}
}

// TestConnect_Once takes an answer once.
func TestConnect_Once(t *testing.T) {
	t.Parallel()
	at := oauthtest.New(t)
	s := setupConnect(t, application.Static{"gitlab": at.Application("https://gitlab.com")})
	s.configured("gitlab", project, 201)
	b := s.browser()
	answer := at.Allow(b.connect("gitlab"))
	want(t, b.finish(answer), connected("gitlab"))
	want(t, b.finish(answer), url.Values{"refused": {"again"}})
	if asked, _ := at.Asked(); len(asked) != 1 {
		t.Errorf("%d requests for tokens, want 1", len(asked))
	}
}

// TestConnect_Account refuses another account in place of the one before.
func TestConnect_Account(t *testing.T) {
	t.Parallel()
	at := oauthtest.New(t)
	s := setupConnect(t, application.Static{"notion": at.Application("https://api.notion.com")})
	s.configured("notion", map[string]any{"dataSource": "d"}, 201)
	b := s.browser()
	for _, tt := range []struct {
		account string
		want    url.Values
	}{{"acme", connected("notion")}, {"other", notMade("notion", "account")}, {"acme", connected("notion")}} {
		at.Extra = map[string]any{"workspace_id": tt.account}
		want(t, b.finish(at.Allow(b.connect("notion"))), tt.want)
	}
	if got := s.get("notion").Connection.Account; got != "acme" {
		t.Errorf("account = %q, want acme", got)
	}
}

// role gives company A's founder a role.
func (s *service) role(role user.Role) {
	s.t.Helper()
	var u user.User
	item, err := s.company().Get(s.t.Context(), user.Key(s.A.UserID), &u)
	errtest.Must(s.t, err)
	u.Role = role
	errtest.Must(s.t, s.company().Commit(s.t.Context(), s.company().Replace(item.Key, user.Entity, item.Version, u)))
}

// TestConnect_Unregistered says what is missing, and leaves pasted tokens as they are.
func TestConnect_Unregistered(t *testing.T) {
	t.Parallel()
	s := setupConnect(t, application.Static{"hubspot": oauthtest.New(t).Application("https://api.hubapi.com"), "gitlab": oauthtest.New(t).Application("https://git.example.com")})
	for provider, says := range map[string]string{
		"notion":  "the operator of this service has not registered an application with notion",
		"gitlab":  "gitlab fetches from another server than https://git.example.com",
		"webhook": "webhook cannot be connected; store credentials",
	} {
		config := map[string]any{"notion": map[string]any{"dataSource": "d"}, "gitlab": project, "webhook": map[string]any{"url": "https://example.com/", "events": []string{"memory.*"}}}[provider]
		s.configured(provider, config, 201)
		var problem struct{ Detail string }
		s.do("POST", "/"+provider+"/connect", nil).Want(409).JSON(&problem)
		if !strings.HasPrefix(problem.Detail, says) {
			t.Errorf("%s: detail %q, want it to begin with %q", provider, problem.Detail, says)
		}
	}
	s.do("PUT", "/notion/credentials", map[string]any{"credentials": map[string]any{"token": "pasted"}}).Want(204)
	s.do("POST", "/hubspot/connect", nil).Want(404)
	var list struct {
		Items []struct {
			Provider string
			Connects bool
		}
	}
	s.Do("GET", "/companies/"+s.A.ID+"/connectors", s.A.Token, nil).Want(200).JSON(&list)
	var connects []string
	for _, c := range list.Items {
		if c.Connects {
			connects = append(connects, c.Provider)
		}
	}
	if diff := cmp.Diff([]string{"gitlab", "hubspot"}, connects); diff != "" {
		t.Errorf("kinds that can be connected (-want +got):\n%s", diff)
	}
}

// TestConnect_Replaced revokes the tokens of a connection that ends: by another one, by a pasted token, and with the integration. The
// requests do not wait for the provider.
func TestConnect_Replaced(t *testing.T) {
	t.Parallel()
	at := oauthtest.New(t)
	s := setupConnect(t, application.Static{"gitlab": at.Application("https://gitlab.com")})
	for name, end := range map[string]func(b *browser){
		"again": func(b *browser) { want(t, b.finish(at.Allow(b.connect("gitlab"))), connected("gitlab")) },
		"pasted": func(*browser) {
			s.do("PUT", "/gitlab/credentials", map[string]any{"credentials": map[string]any{"token": "t"}}).Want(204)
		},
		"disconnect": func(*browser) { s.do("DELETE", "/gitlab/credentials", nil).Want(204) },
		"another host": func(*browser) {
			s.configured("gitlab", map[string]any{"project": "acme/app", "host": "git.example.com"}, 200)
		},
		"deletion": func(*browser) { s.do("DELETE", "/gitlab", nil).Want(204) },
	} {
		s.configured("gitlab", project, 201)
		b := s.browser()
		want(t, b.finish(at.Allow(b.connect("gitlab"))), connected("gitlab"))
		token := s.grant("gitlab").Refresh
		end(b)
		if diff := cmp.Diff([]string{token}, s.revocations()); diff != "" {
			t.Errorf("%s: tokens that wait to be revoked (-want +got):\n%s", name, diff)
		}
		if name != "deletion" {
			s.do("DELETE", "/gitlab", nil).Want(204)
		}
		s.revocations()
	}
}

// unread is an operator's secret that cannot be read.
type unread struct{}

func (unread) Find(context.Context, string) (application.Application, bool, error) {
	return application.Application{}, false, errors.New("access denied")
}

// TestConnector_Unread lists the connectors while the operator's applications cannot be read.
func TestConnector_Unread(t *testing.T) {
	t.Parallel()
	s := setupConnect(t, unread{})
	var list struct{ Items []struct{ Connects bool } }
	s.Do("GET", "/companies/"+s.A.ID+"/connectors", s.A.Token, nil).Want(200).JSON(&list)
	for _, c := range list.Items {
		if c.Connects {
			t.Error("a connector connects, want credentials alone")
		}
	}
	if log := s.Log.String(); !strings.Contains(log, "access denied") {
		t.Errorf("log %q, want it to tell the operator", log)
	}
}

// TestDelete_Vault deletes a connected integration whose secrets do not open.
func TestDelete_Vault(t *testing.T) {
	t.Parallel()
	at := oauthtest.New(t)
	s := setupConnect(t, application.Static{"gitlab": at.Application("https://gitlab.com")})
	s.configured("gitlab", project, 201)
	b := s.browser()
	want(t, b.finish(at.Allow(b.connect("gitlab"))), connected("gitlab"))
	item, err := s.company().Get(t.Context(), integration.CredentialKey("gitlab"), nil)
	errtest.Must(t, err)
	broken := map[string]any{"signing": []byte("no sealed text"), "grant": []byte("no sealed text")}
	errtest.Must(t, s.company().Commit(t.Context(), s.company().Replace(item.Key, integration.CredentialEntity, item.Version, broken)))
	s.do("DELETE", "/gitlab", nil).Want(204)
	if _, err := s.company().Get(t.Context(), item.Key, nil); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the credentials: error %v, want %v", err, store.ErrNotFound)
	}
}

// revocations returns the tokens that wait to be revoked, and removes them.
func (s *service) revocations() (tokens []string) {
	s.t.Helper()
	c := s.company()
	page, err := c.Query(s.t.Context(), store.Query{Prefix: integration.RevocationKey("")})
	errtest.Must(s.t, err)
	for _, item := range page.Items {
		_, token, version, err := integration.LoadRevocation(s.t.Context(), c, s.services.Vault, strings.TrimPrefix(item.Key, integration.RevocationKey("")))
		errtest.Must(s.t, err)
		tokens = append(tokens, token)
		errtest.Must(s.t, c.Commit(s.t.Context(), c.Delete(item.Key, integration.RevocationEntity, version)))
	}
	return tokens
}

// TestConnect_Strange tells a stranger who makes a state up the same of a suspended company as of an unknown one.
func TestConnect_Strange(t *testing.T) {
	t.Parallel()
	s := setup(t)
	_, err := suspension.Suspend(t.Context(), s.company(), "unpaid", s.clock.Now())
	errtest.Must(t, err)
	for _, companyID := range []string{s.A.ID, "0198c5f2-7a00-7000-8000-00000000000b"} {
		if got := s.browser().finish(url.Values{"state": {companyID + ".ABCDEFGHIJKLMNOPQRSTUVWXYZ"}, "code": {"x"}}).Get("refused"); got != "again" {
			t.Errorf("refused = %q, want again", got)
		}
	}
}
