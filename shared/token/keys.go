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
)

// Key is a signing key. Its zero value is no key.
type Key struct {
	id      string
	private ed25519.PrivateKey
}

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

// KeySet is what signs (Current) and what still verifies: Current and, after a rotation, Previous.
type KeySet struct {
	Current  Key
	Previous *Key
}

// Rotated is the set after a rotation to next: what was current stays valid, what was previous does not.
func (s KeySet) Rotated(next Key) KeySet {
	old := s.Current
	return KeySet{Current: next, Previous: &old}
}

// Public is the verifying half.
func (s KeySet) Public() PublicKeys {
	keys := PublicKeys{}
	for _, k := range []*Key{&s.Current, s.Previous} {
		if k != nil && k.private != nil {
			keys.order = append(keys.order, k.id)
			keys.byID = with(keys.byID, k.id, k.private.Public().(ed25519.PublicKey))
		}
	}
	return keys
}

// PublicKeys is a set of verifying keys by kid.
type PublicKeys struct {
	order []string
	byID  map[string]ed25519.PublicKey
}

func with(m map[string]ed25519.PublicKey, id string, key ed25519.PublicKey) map[string]ed25519.PublicKey {
	if m == nil {
		m = map[string]ed25519.PublicKey{}
	}
	m[id] = key
	return m
}

// lookup compares kid for equality with the keys of the set and does nothing else with it: a kid is the sender's text.
func (p PublicKeys) lookup(kid string) (ed25519.PublicKey, bool) {
	key, ok := p.byID[kid]
	return key, ok
}

// covers reports whether every key of q is in p too.
func (p PublicKeys) covers(q PublicKeys) bool {
	for id, key := range q.byID {
		if own, ok := p.byID[id]; !ok || !bytes.Equal(own, key) {
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

// JWKS is the set as a document, current key first.
func (p PublicKeys) JWKS() JWKSet {
	set := JWKSet{Keys: []JWK{}}
	for _, id := range p.order {
		set.Keys = append(set.Keys, publicJWK(id, p.byID[id]))
	}
	return set
}

var errNotOurKey = errors.New("not an Ed25519 key (RFC 8037) named by its thumbprint")

// ParseJWKS reads the JSON of such a document: for a process that verifies and must not be able to sign.
func ParseJWKS(document []byte) (PublicKeys, error) {
	var doc JWKSet
	if err := json.Unmarshal(document, &doc); err != nil {
		return PublicKeys{}, fmt.Errorf("read a JWK Set: %w", err)
	}
	if len(doc.Keys) == 0 || len(doc.Keys) > 2 {
		return PublicKeys{}, fmt.Errorf("a key set holds one or two keys, this one %d", len(doc.Keys))
	}
	keys := PublicKeys{}
	for _, k := range doc.Keys {
		x, err := base64.RawURLEncoding.DecodeString(k.X)
		if err != nil || k.Kty != "OKP" || k.Crv != "Ed25519" || len(x) != ed25519.PublicKeySize || k.Kid != thumbprint(x) {
			return PublicKeys{}, errNotOurKey
		}
		keys.order = append(keys.order, k.Kid)
		keys.byID = with(keys.byID, k.Kid, x)
	}
	return keys, nil
}
