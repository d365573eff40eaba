package sso

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"strings"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/domain/roundtrip"
	"orgops/shared/storage/store"
)

// The entities and the prefixes of the keys of a sign-in's items. A key ends with the hash of a secret that the browser or
// the client holds, so that a reader of the store cannot go on with a sign-in.
const (
	TryEntity       = "sso-try"
	CodeEntity      = "sso-code"
	codePrefix      = "SSOCODE#"
	AssertionEntity = "sso-assertion"
	assertionPrefix = "SSOASSERTION#"
)

// CodeLifetime is how long the code of a sign-in can be exchanged.
const CodeLifetime = time.Minute

// tries returns the kind of round trip that a sign-in is.
func tries() roundtrip.Kind { return roundtrip.Kind{Entity: TryEntity, Prefix: "SSOTRY#"} }

// Try holds one sign-in from its start until the provider's answer.
type Try struct {
	roundtrip.Bound

	Protocol  Protocol `json:"protocol"`
	Issuer    string   `json:"issuer"` // the answer of any other provider is refused
	ClientID  string   `json:"clientId,omitempty"`
	Nonce     string   `json:"nonce,omitempty"`
	Verifier  string   `json:"verifier,omitempty"`  // of PKCE with the provider
	RequestID string   `json:"requestId,omitempty"` // of the SAML request
	Asked     Asked    `json:"asked"`
}

// Asked holds what the client that started the sign-in gets back, and must prove, at its end.
type Asked struct {
	Redirect  string `json:"redirect,omitempty"` // as the client gave it; "": the console
	Challenge string `json:"challenge"`          // of PKCE with the client
	State     string `json:"state,omitempty"`
}

// Secret makes an unguessable text of 26 characters that fits a URL, a cookie and SAML's RelayState.
func Secret() string { return roundtrip.Secret() }

// Hash returns the hash under which a secret is stored.
func Hash(secret string) string { return roundtrip.Hash(secret) }

// Begin returns the write that stores a sign-in under a secret.
func Begin(c store.Company, secret string, t Try) store.Op {
	return roundtrip.Begin(c, tries(), secret, t)
}

// Take removes and returns the sign-in under a secret, once. It returns fault.Unauthenticated unless the sign-in began in the browser
// that holds the cookie.
func Take(ctx context.Context, c store.Company, secret, cookie string, now time.Time) (Try, error) {
	t, err := roundtrip.Take[Try](ctx, c, tries(), secret, cookie, now)
	if errors.Is(err, roundtrip.ErrUnknown) {
		err = fault.New(fault.Unauthenticated, "the sign-in is unknown, was used, has expired or began in another browser; start it again")
	}
	return t, err
}

// Code leads from the end of a sign-in to the user's token.
type Code struct {
	UserID   string    `json:"userId"`
	Identity string    `json:"identity"`
	Asked    Asked     `json:"asked"`
	Until    time.Time `json:"until"`
}

// Grant returns the write that stores a code, and the code's text.
func Grant(c store.Company, code Code) (text string, op store.Op) {
	secret := Secret()
	return c.ID() + "." + secret, c.Create(codePrefix+Hash(secret), CodeEntity, code).Quietly().Until(code.Until)
}

// Split returns the company and the secret of a code, or of the state of an OpenID Connect sign-in.
func Split(text string) (companyID, secret string) {
	companyID, secret, _ = strings.Cut(text, ".")
	return companyID, secret
}

func errCode() error {
	return fault.New(fault.Unauthenticated, "the code is unknown, was used, has expired or belongs to another client; sign in again")
}

// Redeem removes and returns the code of a text. bound wraps the company's store after the client has proved that the code
// is its own; the removal goes through it. With an error of bound the code stays. It returns fault.Unauthenticated unless the client sends the same redirect and
// the verifier of its challenge (RFC 7636 §4.6).
func Redeem(ctx context.Context, c store.Company, secret, redirect, verifier string, now time.Time, bound func(Code) (store.Company, error)) (Code, error) {
	var code Code
	if !id.Valid(c.ID()) || !id.Valid(secret) {
		return code, errCode()
	}
	item, err := c.Get(ctx, codePrefix+Hash(secret), &code)
	if errors.Is(err, store.ErrNotFound) {
		return code, errCode()
	}
	if err != nil {
		return code, store.Fault(err, "")
	}
	proved := subtle.ConstantTimeCompare([]byte(Challenge(verifier)), []byte(code.Asked.Challenge)) == 1
	if !proved || code.Asked.Redirect != redirect || !now.Before(code.Until) {
		return Code{}, errCode()
	}
	recorded, err := bound(code)
	if err != nil {
		return Code{}, err
	}
	err = recorded.Commit(ctx, c.Delete(item.Key, CodeEntity, item.Version).Quietly())
	if errors.Is(err, store.ErrConflict) {
		return Code{}, errCode()
	}
	return code, store.Fault(err, "")
}

// Challenge returns the S256 challenge of a verifier (RFC 7636 §4.2).
func Challenge(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// SeenAssertion returns the write that fails if an issuer's assertion was used before. It is kept until the assertion has expired.
func SeenAssertion(c store.Company, issuer, assertionID string, until time.Time) store.Op {
	return c.Create(assertionPrefix+Hash(issuer+"\n"+assertionID), AssertionEntity, struct{}{}).Quietly().Until(until)
}
