// Package authcode gets tokens of another service for a user who allows it: the authorization code grant with PKCE (RFC 6749 §4.1,
// RFC 7636), the check of the issuer that RFC 9207 adds, refresh (§6) and revocation (RFC 7009).
package authcode

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"
)

// Server describes an authorization server.
type Server struct {
	Issuer        string            `json:"issuer,omitempty"` // "": the origin of Authorization
	NamesIssuer   bool              `json:"namesIssuer,omitempty"`
	Authorization string            `json:"authorization"`
	Token         string            `json:"token"`
	Revocation    string            `json:"revocation,omitempty"` // RFC 7009; "": no such endpoint
	Basic         bool              `json:"basic,omitempty"`      // the client proves itself by HTTP Basic; otherwise in the form
	Scopes        []string          `json:"scopes,omitempty"`
	Separator     string            `json:"separator,omitempty"`  // of the scopes; "": a space
	Parameters    map[string]string `json:"parameters,omitempty"` // of the authorization request
}

// Client is this service's registration with an authorization server.
type Client struct {
	ID       string
	Secret   string
	Redirect string
}

// Answer holds what the authorization server sent back through the browser.
type Answer struct {
	Code   string
	Issuer string // iss (RFC 9207); "": not sent
}

// Token holds what the token endpoint gave.
type Token struct {
	Access       string
	Refresh      string        // "": none
	Lifetime     time.Duration // of Access; 0: it is not said to expire
	RefreshUntil time.Duration // of Refresh; 0: it is not said to expire
	Extra        func(name string) any
}

// The reasons why a token endpoint gives no token for good. Any other error may pass.
var (
	// ErrGrant reports that the code or the refresh token is not valid, or not valid any more. The user has to allow it again.
	ErrGrant = errors.New("the grant is refused")
	// ErrClient reports that the registration is refused. The operator has to correct it.
	ErrClient = errors.New("the registration of this service is refused")
)

// NewVerifier makes a PKCE verifier.
func NewVerifier() string { return oauth2.GenerateVerifier() }

// Begin returns the address that the browser goes to. The caller keeps the verifier for Finish, and binds the state to the browser.
func (s Server) Begin(c Client, state, verifier string) string {
	options := []oauth2.AuthCodeOption{oauth2.S256ChallengeOption(verifier)}
	for name, value := range s.Parameters {
		options = append(options, oauth2.SetAuthURLParam(name, value))
	}
	return s.config(c).AuthCodeURL(state, options...)
}

// Finish exchanges the code. It refuses the answer of another authorization server. verifier is that of Begin, or "" for a server that
// was not led to by Begin.
func (s Server) Finish(ctx context.Context, client *http.Client, c Client, a Answer, verifier string) (Token, error) {
	if a.Issuer != s.issuer() && (a.Issuer != "" || s.NamesIssuer) {
		return Token{}, fmt.Errorf("%w: the answer came from another authorization server", ErrGrant)
	}
	var options []oauth2.AuthCodeOption
	if verifier != "" {
		options = append(options, oauth2.VerifierOption(verifier))
	}
	t, err := s.config(c).Exchange(context.WithValue(ctx, oauth2.HTTPClient, client), a.Code, options...)
	return tokenOf(t, err, "")
}

// Refresh exchanges a refresh token. A server that rotates refresh tokens returns a new one; the caller stores it before it uses the
// access token.
func (s Server) Refresh(ctx context.Context, client *http.Client, c Client, refresh string) (Token, error) {
	t, err := s.config(c).TokenSource(context.WithValue(ctx, oauth2.HTTPClient, client), &oauth2.Token{RefreshToken: refresh}).Token()
	return tokenOf(t, err, refresh)
}

// Revoke ends a token. A token that the server does not know counts as revoked (RFC 7009 §2.2).
func (s Server) Revoke(ctx context.Context, client *http.Client, c Client, token, hint string) error {
	form := url.Values{"token": {token}, "token_type_hint": {hint}}
	if !s.Basic {
		form.Set("client_id", c.ID)
		form.Set("client_secret", c.Secret)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.Revocation, strings.NewReader(form.Encode()))
	if err != nil {
		return errors.New("the revocation address is not a url")
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if s.Basic {
		r.SetBasicAuth(url.QueryEscape(c.ID), url.QueryEscape(c.Secret))
	}
	resp, err := client.Do(r)
	if err != nil {
		return fmt.Errorf("revoke: %w", err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body) // so that the connection can be used again
	switch {
	case resp.StatusCode < http.StatusMultipleChoices:
		return nil
	case resp.StatusCode == http.StatusUnauthorized:
		return ErrClient
	case resp.StatusCode < http.StatusInternalServerError && resp.StatusCode != http.StatusTooManyRequests:
		return fmt.Errorf("%w: the revocation endpoint answers %d", ErrGrant, resp.StatusCode)
	}
	return fmt.Errorf("the revocation endpoint answers %d", resp.StatusCode)
}

func (s Server) issuer() string {
	if s.Issuer != "" {
		return s.Issuer
	}
	u, err := url.Parse(s.Authorization)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

func (s Server) config(c Client) *oauth2.Config {
	style := oauth2.AuthStyleInParams // trying out both styles would send the code twice
	if s.Basic {
		style = oauth2.AuthStyleInHeader
	}
	scopes := s.Scopes
	if s.Separator != "" {
		scopes = []string{strings.Join(s.Scopes, s.Separator)}
	}
	return &oauth2.Config{
		ClientID: c.ID, ClientSecret: c.Secret, RedirectURL: c.Redirect, Scopes: scopes,
		Endpoint: oauth2.Endpoint{AuthURL: s.Authorization, TokenURL: s.Token, AuthStyle: style},
	}
}

// tokenOf reads a token response. Without a new refresh token the former one goes on.
func tokenOf(t *oauth2.Token, err error, former string) (Token, error) {
	if err != nil {
		return Token{}, reason(err)
	}
	out := Token{Access: t.AccessToken, Refresh: t.RefreshToken, Lifetime: time.Duration(t.ExpiresIn) * time.Second, Extra: t.Extra}
	if out.Refresh == "" {
		out.Refresh = former
	}
	for _, name := range []string{"refresh_token_expires_in", "refresh_expires_in", "x_refresh_token_expires_in"} {
		if seconds, ok := t.Extra(name).(float64); ok && seconds > 0 {
			out.RefreshUntil = time.Duration(seconds) * time.Second
		}
	}
	return out, nil
}

// kindOf returns what an error code of a token endpoint means, or nil for an error that may pass. The codes are those of RFC 6749 §5.2, and
// those that Slack and GitHub have in their place.
func kindOf(code string) error {
	switch code {
	case "invalid_grant", "invalid_code", "code_already_used", "invalid_refresh_token", "token_revoked", "token_expired", "bad_refresh_token", "bad_verification_code":
		return ErrGrant
	case "invalid_client", "unauthorized_client", "invalid_client_id", "bad_client_secret", "incorrect_client_credentials", "redirect_uri_mismatch", "bad_redirect_uri":
		return ErrClient
	}
	return nil
}

// reason returns an error of the token endpoint without the text of its answer. A provider may send back what it was sent, the secret
// and the code among it, and the error is logged.
func reason(err error) error {
	var refused *oauth2.RetrieveError
	var unanswered *url.Error
	switch {
	case errors.As(err, &unanswered):
		return err
	case !errors.As(err, &refused):
		return errors.New("the token endpoint's answer is not a token response")
	case strings.Contains(string(refused.Body), `"BAD_REFRESH_TOKEN"`): // HubSpot's
		return ErrGrant
	}
	if kind := kindOf(refused.ErrorCode); kind != nil {
		return fmt.Errorf("%w: the token endpoint answers %s", kind, refused.ErrorCode)
	}
	return fmt.Errorf("the token endpoint answers %d", refused.Response.StatusCode)
}
