// Package assertion verifies the JWTs by which a client proves who it is (RFC 7523 §3): those that it signs with a key of its own,
// and those that an OpenID provider gives it, such as a CI job's.
//
// The algorithm follows from the key. What the header of an assertion says can only refuse it.
package assertion

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"

	"github.com/go-jose/go-jose/v4"
)

// minRSA is the least length of an RSA key, in bits (RFC 7518 §3.3).
const minRSA = 2048

// Key holds a public key. Its JSON is a JWK (RFC 7517) with kid and alg.
type Key struct{ jwk jose.JSONWebKey }

// ID returns the key's kid.
func (k Key) ID() string { return k.jwk.KeyID }

// MarshalJSON implements json.Marshaler.
func (k Key) MarshalJSON() ([]byte, error) { return k.jwk.MarshalJSON() }

// UnmarshalJSON implements json.Unmarshaler, as ParseKey.
func (k *Key) UnmarshalJSON(data []byte) (err error) {
	*k, err = ParseKey(data)
	return err
}

// ParseKey reads a JWK that verifies signatures. Its errors say what to change, and quote nothing. A key without a kid gets its
// thumbprint (RFC 7638).
func ParseKey(data []byte) (Key, error) {
	var jwk jose.JSONWebKey
	if err := jwk.UnmarshalJSON(data); err != nil {
		return Key{}, errors.New("is not a JSON Web Key; send kty with crv and x, with crv, x and y, or with n and e, of at most 4,096 bits")
	}
	alg, ok := algorithmOf(jwk.Key)
	switch {
	case !ok:
		return Key{}, errors.New("is not a public key of a known kind; send an Ed25519, a P-256 or an RSA key of at least 2,048 bits, without its private members")
	case jwk.Algorithm != "" && jwk.Algorithm != string(alg):
		return Key{}, errors.New("has an alg that does not fit the key; Ed25519 is used with EdDSA, P-256 with ES256, RSA with RS256")
	case jwk.Use != "" && jwk.Use != "sig":
		return Key{}, errors.New("has a use other than sig")
	}
	jwk.Algorithm, jwk.Use = string(alg), "sig"
	if jwk.KeyID == "" {
		thumbprint, err := jwk.Thumbprint(crypto.SHA256)
		if err != nil {
			return Key{}, err
		}
		jwk.KeyID = base64.RawURLEncoding.EncodeToString(thumbprint)
	}
	return Key{jose.JSONWebKey{Key: jwk.Key, KeyID: jwk.KeyID, Algorithm: jwk.Algorithm, Use: jwk.Use}}, nil
}

// algorithmOf returns the only algorithm that a key is used with.
func algorithmOf(key any) (jose.SignatureAlgorithm, bool) {
	switch key := key.(type) {
	case ed25519.PublicKey:
		return jose.EdDSA, true
	case *ecdsa.PublicKey:
		return jose.ES256, key.Curve == elliptic.P256()
	case *rsa.PublicKey:
		return jose.RS256, key.N.BitLen() >= minRSA
	}
	return "", false
}

// ParseSet reads the keys of a JWK Set that verify signatures, and leaves out the others, as a provider may publish keys of any kind.
func ParseSet(data []byte) ([]Key, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(data, &set); err != nil {
		return nil, errors.New("is not a JSON Web Key Set")
	}
	var keys []Key
	for _, raw := range set.Keys {
		if k, err := ParseKey(raw); err == nil {
			keys = append(keys, k)
		}
	}
	return keys, nil
}
