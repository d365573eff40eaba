package blackbox_test

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net/http"
	"net/url"
	"orgops/shared/testkit/errtest"
	"strings"
	"time"
)

// sso signs a person in through an OpenID provider of the journey, and shows what a refused answer leads to.
func sso(j *journey) {
	j.login()
	p := newProvider(j)
	config := j.at("/operations/sso")
	body := object{"protocol": "oidc", "oidc": object{"issuer": p.issuer, "clientId": "orgops", "clientSecret": "s3cret"}}
	j.do("the plan free", call(http.MethodPut, config, body))
	errtest.Must(j.t, j.target.setPlan(j.t.Context(), j.company, "enterprise"))
	var stored struct{ Register struct{ RedirectURI string } }
	// The service learns of a command in another process within a moment.
	j.await("the plan enterprise", call(http.MethodPut, config, body), func(a answer) bool { return a.status == http.StatusOK }).json(&stored)
	j.mask.alias(strings.TrimSuffix(stored.Register.RedirectURI, "/auth/sso/callback"), "api") // its own address, as it is configured
	j.do("configure", call(http.MethodPut, config, body))

	const verifier = "a-verifier-that-only-this-client-knows-0123456789"
	sum := sha256.Sum256([]byte(verifier))
	start := get("/auth/sso/" + j.company + "/start?code_challenge_method=S256&state=mine&code_challenge=" + base64url(sum[:])).bare()
	callback := func() request { // of a new sign-in
		a := j.peek(start)
		at, err := url.Parse(a.header.Get("Location"))
		errtest.Must(j.t, err)
		asked := at.Query()
		if asked.Get("state") == "" {
			j.t.Fatalf("start: %s, want one that leads to the provider", a)
		}
		p.nonce = asked.Get("nonce")
		cookie, _, _ := strings.Cut(a.header.Get("Set-Cookie"), ";")
		j.mask.alias(cookie, "cookie")
		return get("/auth/sso/callback?"+url.Values{"code": {"of the provider"}, "state": {asked.Get("state")}}.Encode()).bare().with("Cookie", cookie)
	}
	answer := callback()
	end := j.do("the provider's answer", answer)
	_, query, _ := strings.Cut(end.header.Get("Location"), "#/sso?")
	given, err := url.ParseQuery(query)
	errtest.Must(j.t, err)
	var session struct {
		AccessToken string `json:"access_token"`
	}
	exchange := post("/auth/token", object{"grant_type": "authorization_code", "code": given.Get("code"), "code_verifier": verifier}).bare()
	j.do("exchange the code", exchange).json(&session)
	j.do("exchange it again", exchange)
	j.do("the person reads", get(j.at("/integrations")).bearing("person", session.AccessToken))
	j.do("the provider's answer again", answer)
	j.do("the same in a browser", answer.with("Accept", "text/html"))
	forged := callback()
	p.nonce = "of another sign-in"
	j.do("an answer of another sign-in, in a browser", forged.with("Accept", "text/html"))
	j.do("who signed in", get(j.at("/operations/audit?operation=finish-oidc-sign-in")))
	j.do("remove the provider", callDelete(config))
}

// provider is an OpenID provider at which one person is logged in. It keeps the nonce of the last sign-in.
type provider struct {
	issuer, nonce, email string
	key                  *rsa.PrivateKey
}

func base64url(raw []byte) string { return base64.RawURLEncoding.EncodeToString(raw) }

func newProvider(j *journey) *provider {
	j.t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	errtest.Must(j.t, err)
	p := &provider{key: key, email: j.address("grace")}
	j.mask.alias(p.email, "grace")
	answers := func(body func() object) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(body()) // fails only if the service has disconnected
		})
	}
	keys := j.serve("keys", answers(func() object {
		return object{"keys": []object{{"kty": "RSA", "use": "sig", "alg": "RS256", "kid": "1", "n": base64url(key.N.Bytes()), "e": base64url(big.NewInt(int64(key.E)).Bytes())}}}
	}))
	token := j.serve("token", answers(func() object {
		return object{"access_token": "at", "token_type": "Bearer", "expires_in": 60, "id_token": p.idToken(j)}
	}))
	const document = "/.well-known/openid-configuration"
	p.issuer = strings.TrimSuffix(j.serve("provider"+document, answers(func() object {
		return object{
			"issuer": p.issuer, "authorization_endpoint": p.issuer + "/authorize", "token_endpoint": token, "jwks_uri": keys,
			"id_token_signing_alg_values_supported": []string{"RS256"},
		}
	})), document)
	j.mask.alias(p.issuer, "provider")
	return p
}

// idToken proves the person to the client.
func (p *provider) idToken(j *journey) string {
	now := time.Now()
	claims, err := json.Marshal(object{
		"iss": p.issuer, "sub": "grace", "aud": "orgops", "nonce": p.nonce, "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
		"email": p.email, "email_verified": true, "name": "Grace Hopper",
	})
	errtest.Must(j.t, err)
	text := base64url([]byte(`{"alg":"RS256","kid":"1"}`)) + "." + base64url(claims)
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, p.key, crypto.SHA256, sum[:])
	errtest.Must(j.t, err)
	return text + "." + base64url(signature)
}
