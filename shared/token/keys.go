package token

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// Key is a signing key and its times. Its zero value is no key.
type Key struct {
	id      string
	private ed25519.PrivateKey
	period
}

// period is when a key is in use.
type period struct {
	from  time.Time // it signs from then on
	until time.Time // its tokens are accepted until then; zero while no key has taken its place
}

func (p period) over(now time.Time) bool { return !p.until.IsZero() && !now.Before(p.until) }

// NewKey makes a key from random (nil: crypto/rand).
func NewKey(random io.Reader) (Key, error) {
	if random == nil {
		random = rand.Reader
	}
	seed := make([]byte, ed25519.SeedSize)
	if _, err := io.ReadFull(random, seed); err != nil {
		return Key{}, fmt.Errorf("read a key seed: %w", err)
	}
	return keyFromSeed(seed), nil
}

func keyFromSeed(seed []byte) Key {
	private := ed25519.NewKeyFromSeed(seed)
	return Key{id: thumbprint(private.Public().(ed25519.PublicKey)), private: private}
}

// ID is the key's kid: the RFC 7638 thumbprint (SHA-256, base64url) of its public half.
func (k Key) ID() string { return k.id }

// String is the kid: a key that is printed shows nothing else.
func (k Key) String() string { return k.id }

// GoString is String.
func (k Key) GoString() string { return k.id }

// thumbprint hashes the required members of an OKP key in lexical order, as RFC 8037 appendix A.3 does.
func thumbprint(public ed25519.PublicKey) string {
	x := base64.RawURLEncoding.EncodeToString(public)
	sum := sha256.Sum256([]byte(`{"crv":"Ed25519","kty":"OKP","x":"` + x + `"}`))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

const (
	// Lead is how long a key is known to those that verify before it signs, where they are other processes. They look
	// for new keys twice in that time.
	Lead = 10 * time.Minute
	// retain is how long a key verifies after the next one signs: longer than tokens live, because who signs may have
	// heard late that there is a next one.
	retain = 2 * Lifetime
	// maxKeys bounds a set; it is reached by rotating for ever within retain.
	maxKeys = 16
)

// KeySet is what signs and what verifies.
type KeySet struct {
	Current  Key   // the newest; until its time has come, the one before it signs
	Previous []Key // whose tokens may still be good, newest first
}

// all is every key, newest first.
func (s KeySet) all() []Key {
	if s.Current.private == nil {
		return s.Previous
	}
	return append([]Key{s.Current}, s.Previous...)
}

// Rotated is the set after a rotation to next, which signs when lead has passed, or at once where there is no other key.
// What was current stays valid for as long as its tokens are; what was replaced longer ago is dropped.
func (s KeySet) Rotated(next Key, now time.Time, lead time.Duration) (KeySet, error) {
	set := KeySet{Current: next}
	for _, k := range s.all() {
		if !k.over(now) {
			set.Previous = append(set.Previous, k)
		}
	}
	if len(set.Previous) == 0 {
		lead = 0
	}
	if len(set.Previous) >= maxKeys {
		return KeySet{}, fmt.Errorf("%d keys have tokens that are still good: rotate again when some have expired", maxKeys)
	}
	return set.Starting(now.Add(lead)), nil
}

// Starting is the set with a current key that signs from then on.
func (s KeySet) Starting(from time.Time) KeySet {
	s.Current.from = from
	if len(s.Previous) > 0 {
		s.Previous = slices.Clone(s.Previous)
		s.Previous[0].until = from.Add(retain)
	}
	return s
}

// Within is the part of the set that has been published, with the times that were published: what is signed by any other
// key, nobody accepts. It is an error when that is none.
func (s KeySet) Within(published PublicKeys) (KeySet, error) {
	var known []Key
	for _, k := range s.all() {
		if public, ok := published.byID[k.id]; ok {
			k.period = public.period
			known = append(known, k)
		}
	}
	if len(known) == 0 {
		return KeySet{}, errors.New("none of the signing keys is published")
	}
	return KeySet{Current: known[0], Previous: known[1:]}, nil
}

// signing is the key that signs: the newest whose time has come, or else the oldest.
func (s KeySet) signing(now time.Time) Key {
	var key Key
	for _, k := range s.all() {
		key = k
		if !now.Before(k.from) {
			break
		}
	}
	return key
}

// Public is the verifying half.
func (s KeySet) Public() PublicKeys {
	keys := PublicKeys{}
	for _, k := range s.all() {
		keys = keys.with(k.id, publicKey{k.private.Public().(ed25519.PublicKey), k.period})
	}
	return keys
}

// PublicKeys is a set of verifying keys by kid.
type PublicKeys struct {
	order []string // newest first
	byID  map[string]publicKey
}

type publicKey struct {
	key ed25519.PublicKey
	period
}

// with is p and one more key; p must not be used after it.
func (p PublicKeys) with(id string, key publicKey) PublicKeys {
	if p.byID == nil {
		p.byID = map[string]publicKey{}
	}
	p.order = append(p.order, id)
	p.byID[id] = key
	return p
}

// Has reports whether the set holds the public half of a key.
func (p PublicKeys) Has(k Key) bool {
	public, ok := p.byID[k.id]
	return ok && k.private != nil && public.key.Equal(k.private.Public())
}

// At is the keys that verify at a time.
func (p PublicKeys) At(now time.Time) PublicKeys {
	keys := PublicKeys{}
	for _, id := range p.order {
		if key := p.byID[id]; !key.over(now) {
			keys = keys.with(id, key)
		}
	}
	return keys
}

// lookup compares kid for equality with the keys of the set and does nothing else with it: a kid is the sender's text.
func (p PublicKeys) lookup(kid string, now time.Time) (ed25519.PublicKey, bool) {
	key, ok := p.byID[kid]
	return key.key, ok && !key.over(now)
}

// covers reports whether every key of q is in p too, for as long.
func (p PublicKeys) covers(q PublicKeys) bool {
	for id, key := range q.byID {
		if own, ok := p.byID[id]; !ok || !bytes.Equal(own.key, key.key) || !own.until.Equal(key.until) {
			return false
		}
	}
	return true
}

// JWK is the public half of a key (RFC 7517, with the members of RFC 8037).
type JWK struct {
	Kty string `json:"kty" enum:"OKP"`
	Crv string `json:"crv" enum:"Ed25519"`
	X   string `json:"x" doc:"The public key, base64url"`
	Kid string `json:"kid" doc:"RFC 7638 thumbprint"`
	Use string `json:"use" enum:"sig"`
	Alg string `json:"alg" enum:"EdDSA"`
}

// JWKSet is the document of RFC 7517 §5.
type JWKSet struct {
	Keys []JWK `json:"keys" nullable:"false"`
}

func publicJWK(id string, key ed25519.PublicKey) JWK {
	return JWK{Kty: "OKP", Crv: "Ed25519", X: base64.RawURLEncoding.EncodeToString(key), Kid: id, Use: "sig", Alg: algorithm}
}

// JWKS is the set as a document, newest key first.
func (p PublicKeys) JWKS() JWKSet {
	set := JWKSet{Keys: []JWK{}}
	for _, id := range p.order {
		set.Keys = append(set.Keys, publicJWK(id, p.byID[id].key))
	}
	return set
}

// timed is the members that tell a key's times, in seconds, as OpenID Federation 1.0 §8.7 has them in a JWK.
type timed struct {
	From  int64 `json:"nbf,omitempty"`
	Until int64 `json:"exp,omitempty"`
}

func (p period) timed() timed {
	var t timed
	if !p.from.IsZero() {
		t.From = p.from.Unix()
	}
	if !p.until.IsZero() {
		t.Until = p.until.Unix()
	}
	return t
}

func (t timed) period() period {
	var p period
	if t.From != 0 {
		p.from = time.Unix(t.From, 0)
	}
	if t.Until != 0 {
		p.until = time.Unix(t.Until, 0)
	}
	return p
}

type timedJWK struct {
	JWK
	timed
}

type timedSet struct {
	Keys []timedJWK `json:"keys"`
}

// Encode writes the set as a JWK Set whose keys tell their times too: for those that verify and cannot sign.
func (p PublicKeys) Encode() ([]byte, error) {
	var set timedSet
	for _, id := range p.order {
		key := p.byID[id]
		set.Keys = append(set.Keys, timedJWK{publicJWK(id, key.key), key.timed()})
	}
	return json.Marshal(set)
}

var errNotOurKey = errors.New("not an Ed25519 key (RFC 8037) named by its thumbprint")

// ParseJWKS reads what Encode wrote, or any JWK Set of such keys.
func ParseJWKS(document []byte) (PublicKeys, error) {
	var doc timedSet
	if err := json.Unmarshal(document, &doc); err != nil {
		return PublicKeys{}, fmt.Errorf("read a JWK Set: %w", err)
	}
	if len(doc.Keys) == 0 || len(doc.Keys) > maxKeys {
		return PublicKeys{}, fmt.Errorf("a key set holds 1 to %d keys, this one %d", maxKeys, len(doc.Keys))
	}
	keys := PublicKeys{}
	for _, k := range doc.Keys {
		x, err := base64.RawURLEncoding.DecodeString(k.X)
		if err != nil || k.Kty != "OKP" || k.Crv != "Ed25519" || len(x) != ed25519.PublicKeySize || k.Kid != thumbprint(x) {
			return PublicKeys{}, errNotOurKey
		}
		keys = keys.with(k.Kid, publicKey{x, k.period()})
	}
	return keys, nil
}
