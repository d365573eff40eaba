package sso_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/company"
	domain "orgops/shared/domain/sso"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/ssotest"
	"orgops/shared/testkit/webtest"
	"orgops/shared/webhook/outbound"
)

// TestConfig stores, shows, keeps and removes a configuration, and never shows the client secret.
func TestConfig(t *testing.T) {
	t.Parallel()
	s, p := setup(t), ssotest.NewProvider(t)
	s.Do("GET", s.path(), s.A.Token, nil).WantProblem(404, "not-found")
	put := s.configure(configOf(p), nil).Want(200)
	got := s.Do("GET", s.path(), s.A.Token, nil).Want(200)
	if diff := cmp.Diff(string(put.Body), string(got.Body)); diff != "" {
		t.Errorf("GET differs from PUT (-put +get):\n%s", diff)
	}
	var shown struct {
		OIDC     struct{ ClientSecretSet bool }
		Register struct{ RedirectURI string }
		Roles    struct{ Default string }
	}
	got.JSON(&shown)
	if shown.OIDC.ClientSecretSet != true {
		t.Error("clientSecretSet = false, want true")
	}
	if shown.Register.RedirectURI != callback {
		t.Errorf("redirectUri = %q, want %q", shown.Register.RedirectURI, callback)
	}
	if shown.Roles.Default != "member" {
		t.Errorf("default role = %q, want member", shown.Roles.Default)
	}
	s.Do("GET", s.path(), s.A.Token, nil, "If-None-Match", got.Header.Get("ETag")).Want(304)
	stale := s.Do("PUT", s.path(), s.A.Token, configOf(p), "If-Match", `"7"`)
	stale.WantProblem(412, "stale")
	if tag := stale.Header.Get("ETag"); tag != got.Header.Get("ETag") {
		t.Errorf("ETag of the refusal = %s, want %s", tag, got.Header.Get("ETag"))
	}
	s.Do("PUT", s.path(), s.A.Token, configOf(p), "If-None-Match", "*").WantProblem(412, "already-exists")
	page, err := store.For(s.Store, s.A.ID).Query(t.Context(), store.Query{})
	errtest.Must(t, err)
	for _, item := range page.Items {
		if strings.Contains(string(item.Body), "s3cret") {
			t.Errorf("%s holds the client secret in clear", item.Key)
		}
	}
	for _, r := range []*webtest.Response{put, got} {
		if strings.Contains(string(r.Body), "s3cret") {
			t.Errorf("answer %s, want one without the client secret", r.Body)
		}
	}
	s.Do("DELETE", s.path(), s.A.Token, nil).Want(204)
	s.Do("GET", s.path(), s.A.Token, nil).WantProblem(404, "not-found")
	s.Do("DELETE", s.path(), s.A.Token, nil).WantProblem(404, "not-found")
	if _, err := store.For(s.Store, s.A.ID).Get(t.Context(), domain.SecretKey, nil); err == nil {
		t.Error("the sealed secret is still stored after DELETE")
	}
}

// TestConfig_Secret keeps the client secret for the same issuer and client alone.
func TestConfig_Secret(t *testing.T) {
	t.Parallel()
	s, p := setup(t), ssotest.NewProvider(t)
	s.configure(configOf(p), nil).Want(200)
	without := func(p *ssotest.Provider, client string) object {
		return object{"protocol": "oidc", "oidc": object{"issuer": p.URL, "clientId": client}}
	}
	other := ssotest.NewProvider(t)
	for _, step := range []struct {
		at   *ssotest.Provider
		with object
		want string
	}{
		{p, without(p, "orgops"), "s3cret"}, {other, without(other, "orgops"), ""}, {p, configOf(p), "s3cret"}, {p, without(p, "another"), ""},
	} {
		s.configure(step.with, nil).Want(200)
		b := s.browser()
		codeOf(t, b.finish(step.at.Authorize(b.start(nil))))
		if step.at.Secret != step.want {
			t.Errorf("%v: the provider got the secret %q, want %q", step.with, step.at.Secret, step.want)
		}
	}
}

// TestConfig_SecretMeanwhile configures another provider, with a secret for that one, after a sign-in has read its configuration and
// before it reads the secret. The secret of the new provider does not reach the old one.
func TestConfig_SecretMeanwhile(t *testing.T) {
	t.Parallel()
	s, p, other := setup(t), ssotest.NewProvider(t), ssotest.NewProvider(t)
	s.configure(configOf(p), nil).Want(200)
	b := s.browser()
	answer := p.Authorize(b.start(nil))
	s.before.on(domain.SecretKey, func() { s.configure(configOf(other), nil).Want(200) })
	b.finish(answer).WantProblem(409, "conflict")
	if p.Secret != "" {
		t.Errorf("the old provider got the secret %q, want none", p.Secret)
	}
}

// TestPlan refuses every sign-in and each change of a company with another plan, which sees and removes what it has stored.
func TestPlan(t *testing.T) {
	t.Parallel()
	s, p := setup(t), ssotest.NewProvider(t)
	s.configure(configOf(p), nil).Want(200)
	b := s.browser()
	answer := p.Authorize(b.start(nil))
	for _, plan := range []string{"free", "pro"} {
		s.plan(plan)
		s.configure(configOf(p), nil).WantProblem(403, "plan-required")
		s.Do("GET", s.path(), s.A.Token, nil).Want(200)
	}
	b.finish(answer).WantProblem(403, "plan-required")
	s.Do("DELETE", s.path(), s.A.Token, nil).Want(204)
	for _, secret := range []string{domain.Key, domain.SecretKey} {
		if _, err := store.For(s.Store, s.A.ID).Get(t.Context(), secret, nil); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s: err = %v, want none stored", secret, err)
		}
	}
	s.Do("GET", s.path(), s.A.Token, nil).WantProblem(403, "plan-required")
	s.Do("DELETE", s.path(), s.A.Token, nil).WantProblem(403, "plan-required")
}

// TestConfig_Rights lets a founder alone configure: a provider decides who signs in as whom.
func TestConfig_Rights(t *testing.T) {
	t.Parallel()
	s, p := setup(t), ssotest.NewProvider(t)
	s.configure(configOf(p), nil).Want(200)
	operator := s.UserToken(s.A.ID, s.A.UserID, user.Operator)
	s.Do("GET", s.path(), operator, nil).Want(200)
	s.Do("PUT", s.path(), operator, configOf(p)).WantProblem(403, "insufficient-scope")
	s.Do("DELETE", s.path(), operator, nil).WantProblem(403, "insufficient-scope")
}

func TestConfig_Refused(t *testing.T) {
	t.Parallel()
	s, p := setup(t), ssotest.NewProvider(t)
	oidc := func(issuer string) object {
		return object{"protocol": "oidc", "oidc": object{"issuer": issuer, "clientId": "orgops"}}
	}
	saml := func(members object) object { return object{"protocol": "saml", "saml": members} }
	with := func(members object) object {
		config := configOf(p)
		for name, value := range members {
			config[name] = value
		}
		return config
	}
	tests := []struct {
		name, pointer string
		body          object
	}{
		{"no provider", "/oidc", object{"protocol": "oidc"}},
		{"both providers", "/saml", with(object{"saml": object{"metadata": "<a/>"}})},
		{"another protocol", "/protocol", with(object{"protocol": "ldap"})},
		{"issuer of no provider", "/oidc/issuer", oidc(p.URL + "/another")},
		{"issuer with a query", "/oidc/issuer", oidc(p.URL + "?a=b")},
		{"issuer without TLS", "/oidc/issuer", oidc("http://login.example.com")},
		{"issuer in a private network", "/oidc/issuer", oidc("https://10.0.0.1")},
		{"metadata of the cloud", "/oidc/issuer", oidc("http://169.254.169.254")},
		{"no metadata", "/saml", saml(object{})},
		{"metadata that is none", "/saml/metadata", saml(object{"metadata": "<a/>"})},
		{"metadata at a private address", "/saml/metadataUrl", saml(object{"metadataUrl": "http://192.168.0.1/metadata"})},
		{"metadata that is not there", "/saml/metadataUrl", saml(object{"metadataUrl": p.URL + "/none"})},
		{"a map without a claim", "/roles/claim", with(object{"roles": object{"map": []object{{"value": "a", "role": "founder"}}}})},
		{"a role that is bound to a provider", "/roles/map/0/role", with(object{"roles": object{"claim": "g", "map": []object{{"value": "a", "role": "integration"}}}})},
		{"founder by default", "/roles/default", with(object{"roles": object{"default": "founder"}})},
		{"a redirect without TLS", "/redirects/0", with(object{"redirects": []string{"http://dashboard.example.com/"}})},
		{"a redirect to a script", "/redirects/0", with(object{"redirects": []string{"javascript:alert(1)"}})},
	}
	for _, tt := range tests {
		problem := s.Do("PUT", s.path(), s.A.Token, tt.body).WantProblem(422, "invalid")
		if got := problem.Errors[0].Pointer; got != tt.pointer {
			t.Errorf("%s: pointer = %q, want %q: %v", tt.name, got, tt.pointer, problem.Errors)
		}
	}
}

// TestConfig_Discovery refuses a discovery document that leads elsewhere, is too large or comes by a redirect.
func TestConfig_Discovery(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for name, change := range map[string]func(p *ssotest.Provider){
		"another issuer":           func(p *ssotest.Provider) { p.Document = object{"issuer": "https://another.example.com"} },
		"keys in a private net":    func(p *ssotest.Provider) { p.Document = object{"jwks_uri": "http://10.0.0.1/keys"} },
		"token of the cloud":       func(p *ssotest.Provider) { p.Document = object{"token_endpoint": "http://169.254.169.254/token"} },
		"UserInfo of a file":       func(p *ssotest.Provider) { p.Document = object{"userinfo_endpoint": "file:///etc/passwd"} },
		"script for authorization": func(p *ssotest.Provider) { p.Document = object{"authorization_endpoint": "javascript:alert(1)"} },
		"no keys":                  func(p *ssotest.Provider) { p.Document = object{"jwks_uri": ""} },
		"600 kB":                   func(p *ssotest.Provider) { p.Document = object{"more": strings.Repeat("a", 600<<10)} },
	} {
		p := ssotest.NewProvider(t)
		change(p)
		if got := s.configure(p.Config(), nil).WantProblem(422, "invalid").Errors[0].Pointer; got != "/oidc/issuer" {
			t.Errorf("%s: pointer = %q, want /oidc/issuer", name, got)
		}
	}
	target := ssotest.NewProvider(t)
	moved := httptest.NewServer(http.RedirectHandler(target.URL+"/.well-known/openid-configuration", http.StatusFound))
	t.Cleanup(moved.Close)
	s.configure(object{"protocol": "oidc", "oidc": object{"issuer": moved.URL, "clientId": "orgops"}}, nil).WantProblem(422, "invalid")
}

// TestConfig_Hosted calls no address of the service's own network where the service is hosted, not even by a name.
func TestConfig_Hosted(t *testing.T) {
	t.Parallel()
	s := setupWith(t, outbound.Options{})
	p := ssotest.NewProvider(t)
	for _, issuer := range []string{p.URL, strings.Replace(p.URL, "127.0.0.1", "localhost", 1)} {
		s.configure(object{"protocol": "oidc", "oidc": object{"issuer": issuer, "clientId": "orgops"}}, nil).WantProblem(422, "invalid")
	}
}

// TestRoles maps roles at each sign-in. A user becomes a founder by an entry alone.
func TestRoles(t *testing.T) {
	t.Parallel()
	s, p := setup(t), ssotest.NewProvider(t)
	roles := func(fallback string) object {
		return object{"roles": object{"claim": "groups", "default": fallback, "map": []object{
			{"value": "owners", "role": "founder"}, {"value": "admins", "role": "operator"},
		}}}
	}
	s.configure(configOf(p), roles("member")).Want(200)
	b := s.browser()
	for _, tt := range []struct {
		groups any
		want   string
	}{
		{[]string{"admins"}, "operator"}, {[]string{"others"}, "member"}, {nil, "member"}, {"admins", "operator"},
		{[]string{"admins", "owners"}, "founder"}, {[]string{"ADMINS", "owners "}, "member"},
	} {
		p.Claims = object{"groups": tt.groups}
		if got := s.claims(codeOf(t, b.finish(p.Authorize(b.start(nil))))).Role; got != tt.want {
			t.Errorf("groups %v: role = %s, want %s", tt.groups, got, tt.want)
		}
	}
	s.configure(configOf(p), roles("none")).Want(200)
	p.Claims = object{"groups": []string{"others"}}
	refusal(t, b.finish(p.Authorize(b.start(nil))), 403)
	p.Claims = object{"groups": []string{"others"}, "sub": "new"}
	refusal(t, b.finish(p.Authorize(b.start(nil))), 403)
}

// TestLink takes a member with a password over, whose password and tokens then end. A founder keeps the password.
func TestLink(t *testing.T) {
	t.Parallel()
	s, p := setup(t), ssotest.NewProvider(t)
	member, _, err := company.AddUser(t.Context(), s.Store, s.Hasher, s.A.ID, company.NewUser{Email: "grace@acme.test", Role: user.Operator, Password: "nine quiet otters read maps"}, s.now())
	errtest.Must(t, err)
	s.configure(configOf(p), nil).Want(200)
	b := s.browser()
	refusal(t, b.finish(p.Authorize(b.start(nil))), 403)
	s.configure(configOf(p), object{"linkExisting": true}).Want(200)
	before := object{"email": "grace@acme.test", "password": "nine quiet otters read maps"}
	var session struct {
		AccessToken string `json:"access_token"`
	}
	s.Do("POST", "/auth/login", "", before).Want(200).JSON(&session)
	claims := s.claims(codeOf(t, b.finish(p.Authorize(b.start(nil)))))
	if diff := cmp.Diff([]string{member.ID, "operator"}, []string{claims.Subject, claims.Role}); diff != "" {
		t.Errorf("user and role (-want +got):\n%s", diff)
	}
	s.Forget()
	s.Do("POST", "/auth/login", "", before).WantProblem(401, "unauthenticated")
	s.Do("POST", "/auth/sign-out", session.AccessToken, nil).WantProblem(401, "unauthenticated")
	p.Claims = object{"sub": "eve", "email": s.A.Email}
	refusal(t, b.finish(p.Authorize(b.start(nil))), 403)
}

// TestPassword leaves a user of a provider without a password: none can be set or guessed.
func TestPassword(t *testing.T) {
	t.Parallel()
	s, p := setup(t), ssotest.NewProvider(t)
	s.configure(configOf(p), nil).Want(200)
	b := s.browser()
	userID := s.claims(codeOf(t, b.finish(p.Authorize(b.start(nil))))).Subject
	bearer := s.UserToken(s.A.ID, userID, user.Member)
	s.Do("POST", "/auth/password", bearer, object{"current": "", "new": "nine quiet otters read maps"}).WantProblem(409, "conflict")
	s.Do("POST", "/auth/login", "", object{"email": "grace@acme.test", "password": ""}).WantProblem(401, "unauthenticated")
	s.Do("POST", "/auth/sign-out", bearer, nil).Want(204)
	s.Forget()
	s.Do("POST", "/auth/sign-out", bearer, nil).WantProblem(401, "unauthenticated")
}

// TestGuide sends each example of the README, and signs in with it.
func TestGuide(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("README.md")
	errtest.Must(t, err)
	examples := regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(examples) != 2 {
		t.Fatalf("%d examples, want one for each protocol", len(examples))
	}
	s := setup(t)
	oidc, saml := ssotest.NewProvider(t), idpOf(s)
	oidc.Claims = object{"groups": []string{"platform-admins"}}
	addresses := strings.NewReplacer("https://login.example.com", oidc.URL, "https://idp.example.com/metadata", saml.MetadataURL.String())
	for _, example := range examples {
		var config object
		errtest.Must(t, json.Unmarshal([]byte(addresses.Replace(example[1])), &config))
		s.configure(config, nil).Want(200)
		b := s.browser()
		at := b.start(nil)
		var end *webtest.Response
		if config["protocol"] == "oidc" {
			end = b.finish(oidc.Authorize(at))
		} else {
			end = b.post(saml.Answer(at))
		}
		if got := s.claims(codeOf(t, end)).Role; got != "operator" {
			t.Errorf("%s: role = %q, want the mapped operator", config["protocol"], got)
		}
	}
}
