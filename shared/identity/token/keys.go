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

// Key holds a signing key and its period of use. The zero value means no key.
type Key struct {
	id      string
	private ed25519.PrivateKey
	period
}

// period says when a key is in use.
type period struct {
	from  time.Time // signs from this time on
	until time.Time // verifies until this time; zero until a newer key replaces it
}

func (p period) ended(now time.Time) bool { return !p.until.IsZero() && !now.Before(p.until) }

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

// ID returns the key's kid: the RFC 7638 thumbprint (SHA-256, base64url) of its public half.
func (k Key) ID() string { return k.id }

// String returns the kid, so that printing a key shows no key material.
func (k Key) String() string { return k.id }

// GoString returns the kid, like String.
func (k Key) GoString() string { return k.id }

// thumbprint hashes the required members of an OKP key in lexical order, as RFC 8037 appendix A.3 does.
func thumbprint(public ed25519.PublicKey) string {
	x := base64.RawURLEncoding.EncodeToString(public)
	sum := sha256.Sum256([]byte(`{"crv":"Ed25519","kty":"OKP","x":"` + x + `"}`))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

const (
	// Lead sets the time from a key's publication to its first signature, if other processes verify tokens. These processes
	// look for new keys twice in that time.
	Lead = 10 * time.Minute
	// retain sets how long a key still verifies after the next key starts to sign. It exceeds the lifetime of tokens,
	// because a signing process may learn late of the next key.
	retain = 2 * Lifetime
	// maxKeys limits the keys of a set. Only many rotations within retain reach the limit.
	maxKeys = 16
)

// KeySet holds the keys that sign and the keys that verify.
type KeySet struct {
	Current  Key   // the newest key; before its start, the previous key signs
	Previous []Key // keys whose tokens may still be valid, newest first
}

// all returns every key, newest first.
func (s KeySet) all() []Key {
	if s.Current.private == nil {
		return s.Previous
	}
	return append([]Key{s.Current}, s.Previous...)
}

// Rotated returns the set with next as its current key. next signs after lead, or at once if the set has no other key. The
// replaced key still verifies while its tokens are valid. Rotated drops keys that have ended. It returns an error for a full
// set.
func (s KeySet) Rotated(next Key, now time.Time, lead time.Duration) (KeySet, error) {
	set := KeySet{Current: next}
	for _, k := range s.all() {
		if !k.ended(now) {
			set.Previous = append(set.Previous, k)
		}
	}
	if len(set.Previous) == 0 {
		lead = 0
	}
	if len(set.Previous) >= maxKeys {
		return KeySet{}, fmt.Errorf("%d keys still verify; rotate again when some have expired", maxKeys)
	}
	return set.Starting(now.Add(lead)), nil
}

// Sole returns a set with one key, which signs from now on. A token of any other key is refused where the set is in use.
func Sole(key Key, now time.Time) KeySet { return KeySet{Current: key}.Starting(now) }

// Starting returns the set with a current key that signs from the time from on.
func (s KeySet) Starting(from time.Time) KeySet {
	s.Current.from = from
	if len(s.Previous) > 0 {
		s.Previous = slices.Clone(s.Previous)
		s.Previous[0].until = from.Add(retain)
	}
	return s
}

// Within returns the keys of the set that are published, with their published times. It leaves out other keys, because no
// verifier accepts their tokens. It returns an error when no key of the set is published.
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

// signing returns the key that signs: the newest whose start has passed, or else the oldest.
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

// Public returns the public halves of the keys.
func (s KeySet) Public() PublicKeys {
	keys := PublicKeys{}
	for _, k := range s.all() {
		keys = keys.with(k.id, publicKey{k.private.Public().(ed25519.PublicKey), k.period})
	}
	return keys
}

// PublicKeys holds a set of verifying keys by kid.
type PublicKeys struct {
	order []string // newest first
	byID  map[string]publicKey
}

type publicKey struct {
	key ed25519.PublicKey
	period
}

// with returns p with one more key; the caller must not use p afterwards.
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

// At returns the keys that verify at the time now.
func (p PublicKeys) At(now time.Time) PublicKeys {
	keys := PublicKeys{}
	for _, id := range p.order {
		if key := p.byID[id]; !key.ended(now) {
			keys = keys.with(id, key)
		}
	}
	return keys
}

// lookup only compares kid with the keys of the set and uses it for nothing else, because it is the sender's text.
func (p PublicKeys) lookup(kid string, now time.Time) (publicKey, bool) {
	key, ok := p.byID[kid]
	return key, ok && !key.ended(now)
}

// covers reports whether p has every key of q, with the same end.
func (p PublicKeys) covers(q PublicKeys) bool {
	for id, key := range q.byID {
		if own, ok := p.byID[id]; !ok || !bytes.Equal(own.key, key.key) || !own.until.Equal(key.until) {
			return false
		}
	}
	return true
}

// JWK describes the public half of a key (RFC 7517, with the members of RFC 8037).
type JWK struct {
	Kty string `json:"kty" doc:"key type (RFC 8037)" enum:"OKP"`
	Crv string `json:"crv" doc:"curve (RFC 8037)" enum:"Ed25519"`
	X   string `json:"x" doc:"public key, base64url"`
	Kid string `json:"kid" doc:"RFC 7638 thumbprint"`
	Use string `json:"use" doc:"use of the key: signatures" enum:"sig"`
	Alg string `json:"alg" doc:"signature algorithm (RFC 8037)" enum:"EdDSA"`
}

// JWKSet holds the document of RFC 7517 §5.
type JWKSet struct {
	Keys []JWK `json:"keys" doc:"the keys that verify tokens, newest first" nullable:"false"`
}

func publicJWK(id string, key ed25519.PublicKey) JWK {
	return JWK{Kty: "OKP", Crv: "Ed25519", X: base64.RawURLEncoding.EncodeToString(key), Kid: id, Use: "sig", Alg: algorithm}
}

// JWKS returns the set as a document, newest key first.
func (p PublicKeys) JWKS() JWKSet {
	set := JWKSet{Keys: []JWK{}}
	for _, id := range p.order {
		set.Keys = append(set.Keys, publicJWK(id, p.byID[id].key))
	}
	return set
}

// timed holds the members of a JWK for the key's times, in Unix seconds, as in OpenID Federation 1.0 §8.7.
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

// Encode writes the set as a JWK Set with the times of each key. It serves processes that verify and cannot sign.
func (p PublicKeys) Encode() ([]byte, error) {
	var set timedSet
	for _, id := range p.order {
		key := p.byID[id]
		set.Keys = append(set.Keys, timedJWK{publicJWK(id, key.key), key.timed()})
	}
	return json.Marshal(set)
}

var errNotOurKey = errors.New("not an Ed25519 key (RFC 8037) named by its thumbprint")

// ParseJWKS reads the output of Encode, or another JWK Set of Ed25519 keys that are named by their thumbprints.
func ParseJWKS(document []byte) (PublicKeys, error) {
	var doc timedSet
	if err := json.Unmarshal(document, &doc); err != nil {
		return PublicKeys{}, fmt.Errorf("read a JWK Set: %w", err)
	}
	if len(doc.Keys) == 0 || len(doc.Keys) > maxKeys {
		return PublicKeys{}, fmt.Errorf("a key set needs 1 to %d keys, this one has %d", maxKeys, len(doc.Keys))
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
