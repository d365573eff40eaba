// Package token issues and verifies access tokens: JWTs in the profile of RFC 9068 (typ "at+jwt"), signed with Ed25519
// (RFC 8037), valid for an hour.
//
// The package uses Ed25519 and not ES256. A signature by Ed25519 needs no randomness, so a bad random source cannot leak the
// key. Keys and signatures have only one encoding.
package token

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
)

const (
	// Lifetime limits how long a token is valid.
	Lifetime = time.Hour
	// MaxSize limits the size of a token, in bytes. Verify refuses a longer token.
	MaxSize = 4 << 10

	leeway    = 30 * time.Second // how far the clocks of issuer and verifier may differ
	algorithm = "EdDSA"
	mediaType = "at+jwt"
)

// Config holds the settings on which issuer and verifier must agree.
type Config struct {
	Issuer   string           // iss
	Former   string           // iss of tokens that are accepted too; "": none
	Audience string           // aud
	Now      func() time.Time // nil: time.Now
}

func (c Config) now() time.Time {
	if c.Now == nil {
		return time.Now()
	}
	return c.Now()
}

// Claims holds the claims of a token.
type Claims struct {
	ID       string    // jti
	Subject  string    // sub: the id of the user, or of the client or executive that acts by itself
	Company  string    // the company's id
	Plan     string    // the company's plan
	Provider string    // the only integration that the token reaches; "": all
	Role     string    // the user's role: the only one of roles
	Scopes   []string  // scope, space separated
	Narrowed bool      // the scopes are fewer than those of the role by request, so no token that follows from this one has others
	IssuedAt time.Time // iat
	Expires  time.Time // exp

	// Generation counts how often the subject's tokens had been ended when this one was issued. A later ending refuses it.
	Generation int64
	// Depends holds the generation of each further principal whose ending ends this token too, such as a client's owner.
	Depends map[string]int64

	// AuthTime says when a person proved to be one, and Methods how (RFC 8176). A company's identity provider vouches for neither.
	AuthTime time.Time // auth_time
	Methods  []string  // amr

	Client    string         // client_id: the client that got the token; "": a user did
	Executive string         // the executive that acts, by itself or for the subject; "": none
	Networks  []netip.Prefix // where the token may be used; nil: everywhere
	Resource  string         // aud: the only resource that takes the token, see MCPResource; "": Config.Audience, the API
}

// ByFactors is the method of a person who has proved a second factor.
const ByFactors = "mfa"

// Strong reports whether a person who proved to be one by these methods has proved a second factor.
func Strong(methods []string) bool { return slices.Contains(methods, ByFactors) }

// wire maps the claims to their JSON.
type wire struct {
	jwt.RegisteredClaims
	Scope    string `json:"scope"`
	Company  string `json:"company"`
	Plan     string `json:"plan"`
	Provider string `json:"provider,omitempty"`
	Narrowed bool   `json:"narrowed,omitempty"`

	Roles      []string `json:"roles,omitempty"` // RFC 9068 §2.2.3.1
	Generation int64    `json:"generation,omitempty"`

	AuthTime *jwt.NumericDate `json:"auth_time,omitempty"` // RFC 9068 §2.2.1
	Methods  []string         `json:"amr,omitempty"`

	Client    string           `json:"client_id,omitempty"`
	Executive string           `json:"executive,omitempty"`
	Act       *actor           `json:"act,omitempty"`
	Depends   map[string]int64 `json:"depends,omitempty"`
	Networks  []netip.Prefix   `json:"networks,omitempty"`
}

// actor names who acts for the subject (RFC 8693 §4.1).
type actor struct {
	Subject string `json:"sub"`
}

// Signer issues tokens. It is safe for concurrent use.
type Signer struct {
	config Config
	keys   atomic.Pointer[KeySet]
}

// NewSigner makes a Signer that signs with the newest key of the set whose start has passed.
func NewSigner(config Config, keys KeySet) *Signer {
	s := &Signer{config: config}
	s.Use(keys)
	return s
}

// Use replaces the set of keys from now on.
func (s *Signer) Use(keys KeySet) { s.keys.Store(&keys) }

// Issue signs c until Expires, but for Lifetime from now at most. It sets IssuedAt itself, and makes an ID unless c has one.
func (s *Signer) Issue(c Claims) (string, error) {
	now := s.config.now()
	key := s.keys.Load().signing(now)
	if key.private == nil {
		return "", errors.New("token: no signing key")
	}
	if c.Subject == "" || !id.Valid(c.Company) {
		return "", errors.New("token: claims need a subject and a valid company id")
	}
	if c.ID == "" {
		c.ID = id.New()
	}
	expires := now.Add(Lifetime)
	if !c.Expires.IsZero() && c.Expires.Before(expires) {
		expires = c.Expires
	}
	claims := wire{
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer: s.config.Issuer, Audience: jwt.ClaimStrings{cmp.Or(c.Resource, s.config.Audience)}, Subject: c.Subject, ID: c.ID,
			IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(expires),
		},
		Scope: strings.Join(c.Scopes, " "), Company: c.Company, Plan: c.Plan, Provider: c.Provider, Narrowed: c.Narrowed, Generation: c.Generation,
		Methods: c.Methods, Client: c.Client, Executive: c.Executive, Depends: c.Depends, Networks: c.Networks,
	}
	if !c.AuthTime.IsZero() {
		claims.AuthTime = jwt.NewNumericDate(c.AuthTime)
	}
	if c.Executive != "" && c.Executive != c.Subject {
		claims.Act = &actor{c.Executive}
	}
	if c.Role != "" {
		claims.Roles = []string{c.Role}
	}
	t := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims)
	t.Header["typ"] = mediaType
	t.Header["kid"] = key.id
	return t.SignedString(key.private)
}

// Verifier checks tokens. It is safe for concurrent use.
type Verifier struct {
	config Config
	parser *jwt.Parser
	state  atomic.Pointer[verifying]
}

// verifying holds a set of keys and the cache of the tokens that they verified. Use replaces both at once, so that no cached
// token outlives its key.
type verifying struct {
	keys  PublicKeys
	cache *cache
}

// NewVerifier makes a Verifier that accepts tokens signed by a key of the set.
func NewVerifier(config Config, keys PublicKeys) *Verifier {
	v := &Verifier{config: config, parser: jwt.NewParser(
		jwt.WithValidMethods([]string{algorithm}),
		jwt.WithExpirationRequired(), jwt.WithIssuedAt(), jwt.WithLeeway(leeway),
		jwt.WithTimeFunc(config.now), jwt.WithStrictDecoding(),
	)}
	v.state.Store(&verifying{keys: keys, cache: newCache()})
	return v
}

// Use replaces the set of keys from now on. Tokens of a key that is no longer in the set are refused at once.
func (v *Verifier) Use(keys PublicKeys) {
	old := v.state.Load()
	next := &verifying{keys: keys, cache: old.cache}
	if !keys.covers(old.keys) {
		next.cache = newCache()
	}
	v.state.Store(next)
}

// Keys returns the keys that verify at present.
func (v *Verifier) Keys() PublicKeys { return v.state.Load().keys.At(v.config.now()) }

// ErrUnknownKey says that a token names no key of the set, perhaps because a newer key signed it. Verify wraps it.
var ErrUnknownKey = errors.New("kid names no key of the set")

// Verify returns the claims of an unexpired token that a key of the set signed for Config.Audience, or for one of resources. It
// refuses any other token with fault.Unauthenticated. The detail names the reason only where that helps the holder of a genuine
// token.
func (v *Verifier) Verify(text string, resources ...string) (Claims, error) {
	claims, err := v.genuine(text)
	if err == nil && claims.Resource != "" && !slices.Contains(resources, claims.Resource) {
		return Claims{}, refused(notAccepted, jwt.ErrTokenInvalidAudience)
	}
	return claims, err
}

// genuine returns the claims of an unexpired token that a key of the set signed, for any audience.
func (v *Verifier) genuine(text string) (Claims, error) {
	if len(text) > MaxSize {
		return Claims{}, refused("the token is too long", nil)
	}
	if strings.ContainsFunc(text, notBase64URL) { // decoders skip line ends, so one token would have many texts
		return Claims{}, refused(notAccepted, errors.New("a character outside base64url and dots"))
	}
	state, now := v.state.Load(), v.config.now()
	key := cacheKey(text)
	if claims, ok := state.cache.get(key, now); ok {
		return claims, nil
	}
	var w wire
	var signedBy publicKey
	_, err := v.parser.ParseWithClaims(text, &w, func(t *jwt.Token) (_ any, err error) {
		signedBy, err = keyFor(state.keys, now, t)
		return signedBy.key, err
	})
	if errors.Is(err, jwt.ErrTokenExpired) && !errors.Is(err, jwt.ErrTokenSignatureInvalid) {
		return Claims{}, refused("the token has expired; log in again", err)
	}
	if err != nil {
		return Claims{}, refused(notAccepted, err)
	}
	if w.Issuer != v.config.Issuer && (w.Issuer != v.config.Former || w.Issuer == "") {
		return Claims{}, refused(notAccepted, jwt.ErrTokenInvalidIssuer)
	}
	if len(w.Audience) != 1 {
		return Claims{}, refused(notAccepted, jwt.ErrTokenInvalidAudience)
	}
	if w.Subject == "" || w.ID == "" || w.IssuedAt == nil || !id.Valid(w.Company) {
		return Claims{}, refused(notAccepted, errors.New("a required claim is missing"))
	}
	if w.ExpiresAt.Sub(w.IssuedAt.Time) > Lifetime {
		return Claims{}, refused(notAccepted, fmt.Errorf("valid for more than %s", Lifetime))
	}
	claims := Claims{
		ID: w.ID, Subject: w.Subject, Company: w.Company, Plan: w.Plan, Provider: w.Provider, Scopes: strings.Fields(w.Scope), Narrowed: w.Narrowed,
		IssuedAt: w.IssuedAt.Time, Expires: w.ExpiresAt.Time, Role: strings.Join(w.Roles, " "), Generation: w.Generation,
		Methods: w.Methods, Client: w.Client, Executive: w.Executive, Depends: w.Depends, Networks: w.Networks,
	}
	if w.AuthTime != nil {
		claims.AuthTime = w.AuthTime.Time
	}
	if w.Audience[0] != v.config.Audience {
		claims.Resource = w.Audience[0]
	}
	state.cache.put(key, remember(claims, signedBy.period), now)
	return claims, nil
}

func notBase64URL(r rune) bool {
	letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
	return !letter && (r < '0' || r > '9') && r != '-' && r != '_' && r != '.'
}

const notAccepted = "the token is not accepted"

func refused(detail string, cause error) error {
	return fault.Wrap(fault.Unauthenticated, detail, cause)
}

// keyFor picks the key by kid alone. It ignores every other header that could point at a key (jku, jwk, x5u, x5c), and
// refuses a token with critical extensions (RFC 7515 §4.1.11).
func keyFor(keys PublicKeys, now time.Time, t *jwt.Token) (publicKey, error) {
	typ, _ := t.Header["typ"].(string)
	if typ = strings.ToLower(typ); typ != mediaType && typ != "application/"+mediaType {
		return publicKey{}, fmt.Errorf("typ is not %s", mediaType)
	}
	if _, ok := t.Header["crit"]; ok {
		return publicKey{}, errors.New("a critical header is not understood")
	}
	kid, _ := t.Header["kid"].(string)
	key, ok := keys.lookup(kid, now)
	if !ok {
		return publicKey{}, ErrUnknownKey
	}
	return key, nil
}
