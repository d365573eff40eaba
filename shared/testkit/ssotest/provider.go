// Package ssotest serves identity providers in process: an OpenID provider that can lie, and crewjam/saml's identity provider,
// whose assertions and responses a test can change.
package ssotest

import (
	"crypto"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"sync"
	"testing"
	"time"

	"orgops/shared/domain/sso"
	"orgops/shared/testkit/errtest"
)

// Object is a JSON Object.
type Object = map[string]any

// Provider is an OpenID provider that can lie. A test changes its fields between sign-ins.
type Provider struct {
	*httptest.Server

	Claims    Object // of the ID token, over the usual ones; nil leaves a claim out
	Info      Object // of the UserInfo endpoint
	Document  Object // over the usual discovery document
	Sign      func(p *Provider, claims Object) string
	Exchanged int    // token requests
	Secret    string // the last client secret in the header

	t     testing.TB
	mu    sync.Mutex
	key   *rsa.PrivateKey
	kid   int
	codes map[string]url.Values // the authorization requests of unused codes
}

// NewProvider starts a provider at which the user grace is logged in.
func NewProvider(t testing.TB) *Provider {
	t.Helper()
	p := &Provider{t: t, codes: map[string]url.Values{}, Sign: (*Provider).Signed}
	p.Rotate()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", p.discovery)
	mux.HandleFunc("GET /keys", p.keys)
	mux.HandleFunc("GET /authorize", p.authorize)
	mux.HandleFunc("POST /token", p.token)
	mux.HandleFunc("GET /info", p.userInfo)
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Close)
	return p
}

// Rotate makes a new key, and forgets the former one.
func (p *Provider) Rotate() {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	errtest.Must(p.t, err)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.key = key
	p.kid++
}

func (p *Provider) answer(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	errtest.Must(p.t, json.NewEncoder(w).Encode(body))
}

func (p *Provider) discovery(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	document := Object{
		"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/keys",
		"userinfo_endpoint": p.URL + "/info", "id_token_signing_alg_values_supported": []string{"RS256", "HS256", "none"},
		"authorization_response_iss_parameter_supported": true,
	}
	for name, value := range p.Document {
		document[name] = value
	}
	p.answer(w, document)
}

func b64(raw []byte) string { return base64.RawURLEncoding.EncodeToString(raw) }

func (p *Provider) keys(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer(w, Object{"keys": []Object{{
		"kty": "RSA", "use": "sig", "alg": "RS256", "kid": strconv.Itoa(p.kid), "n": b64(p.key.N.Bytes()), "e": b64(big.NewInt(int64(p.key.E)).Bytes()),
	}}})
}

// authorize leads a browser back at once.
func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	http.Redirect(w, r, p.Authorize(r.URL).String(), http.StatusFound)
}

// Authorize answers an authorization request at once, as for a user who is logged in there.
func (p *Provider) Authorize(request *url.URL) *url.URL {
	p.t.Helper()
	query := request.Query()
	p.mu.Lock()
	defer p.mu.Unlock()
	code := sso.Secret()
	p.codes[code] = query
	back, err := url.Parse(query.Get("redirect_uri"))
	errtest.Must(p.t, err)
	back.RawQuery = url.Values{"code": {code}, "state": {query.Get("state")}, "iss": {p.URL}, "session_state": {"of the provider"}}.Encode()
	return back
}

func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	errtest.Must(p.t, r.ParseForm())
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Exchanged++
	_, p.Secret, _ = r.BasicAuth()
	request, ok := p.codes[r.PostForm.Get("code")]
	delete(p.codes, r.PostForm.Get("code"))
	proved := sso.Challenge(r.PostForm.Get("code_verifier")) == request.Get("code_challenge")
	if !ok || !proved || r.PostForm.Get("redirect_uri") != request.Get("redirect_uri") {
		w.WriteHeader(http.StatusBadRequest)
		p.answer(w, Object{"error": "invalid_grant"})
		return
	}
	claims := Object{
		"iss": p.URL, "sub": "grace", "aud": request.Get("client_id"), "nonce": request.Get("nonce"), "iat": time.Now().Unix(),
		"exp": time.Now().Add(time.Hour).Unix(), "email": "grace@acme.test", "email_verified": true, "name": "Grace Hopper",
	}
	for name, value := range p.Claims {
		if value == nil {
			delete(claims, name)
			continue
		}
		claims[name] = value
	}
	p.answer(w, Object{"access_token": "at", "token_type": "Bearer", "expires_in": 60, "id_token": p.Sign(p, claims)})
}

func (p *Provider) userInfo(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer(w, p.Info)
}

// parts returns what is signed of a JWT.
func (p *Provider) parts(header, claims Object) string {
	head, err := json.Marshal(header)
	errtest.Must(p.t, err)
	body, err := json.Marshal(claims)
	errtest.Must(p.t, err)
	return b64(head) + "." + b64(body)
}

// Signed signs with the current key.
func (p *Provider) Signed(claims Object) string {
	text := p.parts(Object{"alg": "RS256", "kid": strconv.Itoa(p.kid)}, claims)
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, p.key, crypto.SHA256, sum[:])
	errtest.Must(p.t, err)
	return text + "." + b64(signature)
}

// Unsigned makes a token of the algorithm none.
func (p *Provider) Unsigned(claims Object) string {
	return p.parts(Object{"alg": "none"}, claims) + "."
}

// Confused signs with HMAC, with the public key as the secret.
func (p *Provider) Confused(claims Object) string {
	text := p.parts(Object{"alg": "HS256", "kid": strconv.Itoa(p.kid)}, claims)
	mac := hmac.New(sha256.New, p.key.N.Bytes())
	mac.Write([]byte(text))
	return text + "." + b64(mac.Sum(nil))
}

// Foreign signs with a key that the provider does not publish.
func (p *Provider) Foreign(claims Object) string {
	key := p.key
	defer func() { p.key = key }()
	var err error
	p.key, err = rsa.GenerateKey(rand.Reader, 2048)
	errtest.Must(p.t, err)
	return p.Signed(claims)
}

// Config returns a configuration with the provider.
func (p *Provider) Config() Object {
	return Object{"protocol": "oidc", "oidc": Object{"issuer": p.URL, "clientId": "orgops", "clientSecret": "s3cret"}}
}
