// Package oidclogin signs users in at an OpenID provider: the authorization code flow of OpenID Connect Core 1.0 with PKCE
// (RFC 7636), a nonce, and the check of the issuer that RFC 9207 adds against mixed-up providers.
package oidclogin

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// Client is this service's registration with a provider.
type Client struct {
	Issuer   string
	ID       string
	Secret   string // "": a public client
	Redirect string
	Scopes   []string // in addition to openid, email and profile
}

// User describes whom the provider authenticated.
type User struct {
	Subject  string
	Email    string
	Verified bool // the provider has verified the address
	Name     string
	Claims   map[string]any
}

// fresh is how long a provider's discovery document is used. The keys are read again as soon as an unknown one signs.
const fresh = 10 * time.Minute

// maxProviders limits the providers in memory.
const maxProviders = 256

// Relying signs users in. It is safe for concurrent use.
type Relying struct {
	http  *http.Client
	check func(url string) error // refuses an address that must not be called, or that a browser must not be sent to
	now   func() time.Time

	mu    sync.Mutex
	known map[string]provider
}

type provider struct {
	*oidc.Provider
	discovery discovery
	at        time.Time
}

// discovery holds what the relying party needs of a discovery document and what oidc.Provider does not show.
type discovery struct {
	Authorization string   `json:"authorization_endpoint"`
	Token         string   `json:"token_endpoint"`
	Keys          string   `json:"jwks_uri"`
	UserInfo      string   `json:"userinfo_endpoint"`
	Methods       []string `json:"token_endpoint_auth_methods_supported"`
	NamesIssuer   bool     `json:"authorization_response_iss_parameter_supported"` // RFC 9207 §3
}

// New makes a Relying that sends its requests with client and calls only addresses that check accepts.
func New(client *http.Client, check func(url string) error, now func() time.Time) *Relying {
	return &Relying{http: client, check: check, now: now, known: map[string]provider{}}
}

// Discover reads the provider's discovery document, unless a fresh one is in memory.
func (r *Relying) Discover(ctx context.Context, issuer string) error {
	_, err := r.provider(ctx, issuer)
	return err
}

func (r *Relying) provider(ctx context.Context, issuer string) (provider, error) {
	now := r.now()
	r.mu.Lock()
	p, ok := r.known[issuer]
	r.mu.Unlock()
	if age := now.Sub(p.at); ok && age >= 0 && age < fresh {
		return p, nil
	}
	if err := r.check(issuer); err != nil {
		return p, err
	}
	found, err := oidc.NewProvider(oidc.ClientContext(ctx, r.http), issuer)
	if err != nil {
		return p, fmt.Errorf("read the discovery document: %w", public(err, "the issuer gives no discovery document of its own there"))
	}
	p = provider{Provider: found, at: now}
	if err := found.Claims(&p.discovery); err != nil {
		return p, fmt.Errorf("read the discovery document: %w", public(err, "a member has another type than OpenID Connect says"))
	}
	if err := p.discovery.check(r.check); err != nil {
		return p, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.known) >= maxProviders {
		clear(r.known)
	}
	r.known[issuer] = p
	return p, nil
}

// check refuses a document without the endpoints of the flow, or with an address that must not be called.
func (d discovery) check(allowed func(string) error) error {
	for name, url := range map[string]string{"authorization_endpoint": d.Authorization, "token_endpoint": d.Token, "jwks_uri": d.Keys} {
		if url == "" {
			return fmt.Errorf("the discovery document lacks %s", name)
		}
	}
	for _, url := range []string{d.Authorization, d.Token, d.Keys, d.UserInfo} {
		if url == "" {
			continue
		}
		if err := allowed(url); err != nil {
			return fmt.Errorf("an endpoint of the discovery document: %w", err)
		}
	}
	return nil
}

func (c Client) config(p provider) *oauth2.Config {
	endpoint := p.Endpoint()
	// Trying out both styles would send the code twice.
	endpoint.AuthStyle = oauth2.AuthStyleInParams
	if basic := len(p.discovery.Methods) == 0 || slices.Contains(p.discovery.Methods, "client_secret_basic"); basic && c.Secret != "" {
		endpoint.AuthStyle = oauth2.AuthStyleInHeader
	}
	scopes := append([]string{oidc.ScopeOpenID, "email", "profile"}, c.Scopes...)
	return &oauth2.Config{ClientID: c.ID, ClientSecret: c.Secret, RedirectURL: c.Redirect, Endpoint: endpoint, Scopes: scopes}
}

// Begin returns the address at the provider that the browser goes to. The caller keeps nonce and verifier for Finish, and
// ties state to the browser.
func (r *Relying) Begin(ctx context.Context, c Client, state, nonce, verifier string) (string, error) {
	p, err := r.provider(ctx, c.Issuer)
	if err != nil {
		return "", err
	}
	return c.config(p).AuthCodeURL(state, oidc.Nonce(nonce), oauth2.S256ChallengeOption(verifier)), nil
}

// NewVerifier makes a PKCE verifier.
func NewVerifier() string { return oauth2.GenerateVerifier() }

// Answer holds what the provider sent back through the browser.
type Answer struct {
	Code   string
	Issuer string // iss (RFC 9207); "": not sent
}

// Finish exchanges the code and returns the user whom the ID token names. Each of its errors means that the sign-in failed.
func (r *Relying) Finish(ctx context.Context, c Client, a Answer, nonce, verifier string) (User, error) {
	p, err := r.provider(ctx, c.Issuer)
	if err != nil {
		return User{}, err
	}
	if a.Issuer != c.Issuer && (a.Issuer != "" || p.discovery.NamesIssuer) {
		return User{}, errors.New("the answer came from another issuer")
	}
	ctx = oidc.ClientContext(ctx, r.http)
	token, err := c.config(p).Exchange(ctx, a.Code, oauth2.VerifierOption(verifier))
	if err != nil {
		return User{}, fmt.Errorf("exchange the code: %w", withoutBody(err))
	}
	raw, _ := token.Extra("id_token").(string)
	if raw == "" {
		return User{}, errors.New("the provider sent no ID token")
	}
	idToken, err := p.Verifier(&oidc.Config{ClientID: c.ID, Now: r.now}).Verify(ctx, raw)
	if err != nil {
		return User{}, fmt.Errorf("verify the ID token: %w", public(err, whyInvalid(err)))
	}
	claims, err := check(idToken, token.AccessToken, c.ID, nonce)
	if err != nil {
		return User{}, err
	}
	if _, there := claims["email"]; !there && p.UserInfoEndpoint() != "" {
		if err := complete(ctx, p, token, idToken.Subject, claims); err != nil {
			return User{}, err
		}
	}
	return userOf(idToken.Subject, claims), nil
}

// public returns an error of a request that got no answer as it is. In place of any other error of the libraries, which is for
// programmers and may quote the answer, it returns one with a text for the company.
func public(err error, said string) error {
	var unanswered *url.Error
	if errors.As(err, &unanswered) {
		return err
	}
	return errors.New(said)
}

// whyInvalid says why an ID token is refused.
func whyInvalid(err error) string {
	said := err.Error()
	switch {
	case errors.As(err, new(*oidc.TokenExpiredError)):
		return "it is expired; compare the clocks"
	case strings.Contains(said, "nbf"):
		return "it is not valid yet (nbf); compare the clocks"
	case strings.Contains(said, "audience"):
		return "the expected audience is the configured client, and it has another"
	case strings.Contains(said, "issued by"):
		return "it comes from a different provider"
	case strings.Contains(said, "algorithm"):
		return "its algorithm is not one that the issuer names and this service accepts"
	case strings.Contains(said, "signature"):
		return "its signature does not fit the issuer's keys"
	}
	return "it is not a valid ID token"
}

// withoutBody returns an error of the token endpoint without the text of its answer. A provider may send back what it was sent,
// the client's secret and the code among it, and the error is logged. The codes of RFC 6749 §5.2 stay.
func withoutBody(err error) error {
	var refused *oauth2.RetrieveError
	if !errors.As(err, &refused) {
		return public(err, "the token endpoint's answer is not a token response")
	}
	switch code := refused.ErrorCode; code {
	case "invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type", "invalid_scope":
		return errors.New("the token endpoint answers " + code)
	}
	return fmt.Errorf("the token endpoint answers %d", refused.Response.StatusCode)
}

// check makes the checks of OpenID Connect Core §3.1.3.7 that the verifier leaves to its caller.
func check(t *oidc.IDToken, accessToken, clientID, nonce string) (map[string]any, error) {
	claims := map[string]any{}
	if err := t.Claims(&claims); err != nil {
		return nil, errors.New("the ID token's claims cannot be read")
	}
	party, named := claims["azp"]
	switch {
	case subtle.ConstantTimeCompare([]byte(t.Nonce), []byte(nonce)) != 1:
		return nil, errors.New("the ID token has another nonce")
	case t.Subject == "" || len(t.Subject) > 255:
		return nil, errors.New("the ID token names no subject")
	case named && party != clientID, !named && len(t.Audience) > 1:
		return nil, errors.New("the ID token was issued to another client")
	}
	if t.AccessTokenHash != "" {
		if err := t.VerifyAccessToken(accessToken); err != nil {
			return nil, errors.New("the ID token's at_hash does not fit the access token")
		}
	}
	return claims, nil
}

// complete adds the claims of the UserInfo endpoint, where a provider puts those of the scopes (OpenID Connect Core §5.4).
// A claim of the ID token wins.
func complete(ctx context.Context, p provider, token *oauth2.Token, subject string, claims map[string]any) error {
	info, err := p.UserInfo(ctx, oauth2.StaticTokenSource(token))
	var unanswered *url.Error
	switch {
	case errors.As(err, &unanswered):
		return fmt.Errorf("read the user's claims: %w", err)
	case err != nil: // the error quotes the answer, which may hold the access token
		return errors.New("read the user's claims: the UserInfo endpoint refuses the token, or its answer is no UserInfo response")
	}
	if info.Subject != subject { // OpenID Connect Core §5.3.2
		return errors.New("the UserInfo endpoint names another subject")
	}
	more := map[string]any{}
	if err := info.Claims(&more); err != nil {
		return fmt.Errorf("read the user's claims: %w", err)
	}
	for name, value := range more {
		if _, there := claims[name]; !there {
			claims[name] = value
		}
	}
	return nil
}

func userOf(subject string, claims map[string]any) User {
	u := User{Subject: subject, Claims: claims}
	u.Email, _ = claims["email"].(string)
	u.Name, _ = claims["name"].(string)
	switch verified := claims["email_verified"].(type) {
	case bool:
		u.Verified = verified
	case string: // some providers send text
		u.Verified = verified == "true"
	}
	return u
}

// Values returns the texts of a claim: those of a list, or the only one.
func (u User) Values(claim string) []string {
	switch value := u.Claims[claim].(type) {
	case string:
		return []string{value}
	case []any:
		var texts []string
		for _, v := range value {
			if text, ok := v.(string); ok {
				texts = append(texts, text)
			}
		}
		return texts
	}
	return nil
}
