package assertion

import (
	"errors"
	"slices"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// MaxLifetime limits how far ahead the end of an assertion is that a client signs itself.
const MaxLifetime = 5 * time.Minute

// leeway is how far the clocks of the signer and of this process may differ.
const leeway = 30 * time.Second

// Assertion holds a JWT, and what it claims. Nothing of it is proven before Verify.
type Assertion struct {
	token  *jwt.JSONWebToken
	claims jwt.Claims
}

// Read parses a JWT in compact form with a signature. The caller bounds its length.
func Read(text string) (Assertion, error) {
	parsed, err := jwt.ParseSigned(text, []jose.SignatureAlgorithm{jose.EdDSA, jose.ES256, jose.RS256})
	if err != nil {
		return Assertion{}, err
	}
	a := Assertion{token: parsed}
	return a, parsed.UnsafeClaimsWithoutVerification(&a.claims)
}

// Issuer returns iss.
func (a Assertion) Issuer() string { return a.claims.Issuer }

// Subject returns sub.
func (a Assertion) Subject() string { return a.claims.Subject }

// ID returns jti.
func (a Assertion) ID() string { return a.claims.ID }

// Expires returns exp with the leeway: from then on Verify refuses the assertion.
func (a Assertion) Expires() time.Time { return a.claims.Expiry.Time().Add(leeway) }

// KeyID returns kid.
func (a Assertion) KeyID() string { return a.token.Headers[0].KeyID }

// Verify checks that one of keys signed the assertion, with the key's own algorithm, that its only audience is one of audiences, and
// that it is valid at now.
func (a Assertion) Verify(keys []Key, now time.Time, audiences ...string) error {
	signed := slices.ContainsFunc(keys, func(k Key) bool {
		h := a.token.Headers[0]
		return h.Algorithm == k.jwk.Algorithm && (h.KeyID == "" || h.KeyID == k.jwk.KeyID) && a.token.Claims(k.jwk.Key) == nil
	})
	c := a.claims
	switch {
	case !signed:
		return errors.New("no key of the client signed it with its own algorithm")
	case len(c.Audience) != 1 || !slices.Contains(audiences, c.Audience[0]):
		return errors.New("aud is not the expected audience alone")
	case c.Expiry == nil || !now.Before(a.Expires()):
		return errors.New("exp is missing or has passed")
	case c.NotBefore != nil && now.Add(leeway).Before(c.NotBefore.Time()):
		return errors.New("nbf is in the future")
	case c.IssuedAt != nil && now.Add(leeway).Before(c.IssuedAt.Time()):
		return errors.New("iat is in the future")
	}
	return nil
}

// Brief reports whether the assertion ends within MaxLifetime.
func (a Assertion) Brief(now time.Time) bool {
	return a.claims.Expiry != nil && a.claims.Expiry.Time().Sub(now) <= MaxLifetime+leeway
}
