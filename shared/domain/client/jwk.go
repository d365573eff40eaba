package client

import (
	"encoding/json"
	"fmt"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/identity/assertion"
)

// KeySet holds public keys as the API takes them (RFC 7517).
type KeySet struct {
	Keys []JWK `json:"keys" nullable:"false" minItems:"1" maxItems:"5" doc:"the public keys"`
}

// JWK holds one public key: an Ed25519 key (kty OKP), a P-256 key (EC) or an RSA key of at least 2,048 bits.
type JWK struct {
	Type      string   `json:"kty" enum:"OKP,EC,RSA" doc:"the kind of key" example:"OKP"`
	Curve     string   `json:"crv,omitempty" enum:"Ed25519,P-256" doc:"the curve of OKP and EC" example:"Ed25519"`
	X         string   `json:"x,omitempty" maxLength:"100" doc:"the public key of OKP, the x coordinate of EC; base64url" example:"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"`
	Y         string   `json:"y,omitempty" maxLength:"100" doc:"the y coordinate of EC, base64url"`
	Modulus   string   `json:"n,omitempty" maxLength:"2000" doc:"the modulus of RSA, base64url"`
	Exponent  string   `json:"e,omitempty" maxLength:"20" doc:"the exponent of RSA, base64url" example:"AQAB"`
	ID        string   `json:"kid,omitempty" maxLength:"200" doc:"names the key in the header of an assertion; absent: the key's thumbprint (RFC 7638)" example:"2026-05"`
	Algorithm string   `json:"alg,omitempty" enum:"EdDSA,ES256,RS256" doc:"the only algorithm that the key is used with, which follows from the key"`
	Use       string   `json:"use,omitempty" enum:"sig" doc:"what the key is for"`
	KeyOps    []string `json:"key_ops,omitempty" nullable:"false" maxItems:"5" enum:"verify" doc:"what the key is for, as WebCrypto says it; taken and not kept"`
	Ext       bool     `json:"ext,omitempty" doc:"whether WebCrypto may export the key; taken and not kept"`
}

// Parse returns the keys of a set, or what is wrong with each below pointer.
func (s KeySet) Parse(pointer string) ([]assertion.Key, error) {
	var keys []assertion.Key
	var problems []fault.FieldError
	seen := map[string]bool{}
	for n, jwk := range s.Keys {
		refuse := func(detail string) {
			problems = append(problems, fault.FieldError{Pointer: fmt.Sprintf("%s/keys/%d", pointer, n), Detail: detail})
		}
		raw, err := json.Marshal(jwk)
		if err != nil {
			return nil, err
		}
		key, err := assertion.ParseKey(raw)
		if err != nil {
			refuse(err.Error())
			continue
		}
		if seen[key.ID()] {
			refuse("has the kid of another key; give each its own")
		}
		seen[key.ID()] = true
		keys = append(keys, key)
	}
	return keys, fault.Refuse(problems)
}

// PublicKey shows a registered key.
type PublicKey struct {
	JWK
	ExpiresAt *time.Time `json:"expiresAt,omitempty" doc:"until when a key is accepted that was replaced; absent for a current one"`
}

// PublicKeys shows the keys that are accepted at now.
func (c Client) PublicKeys(now time.Time) ([]PublicKey, error) {
	shown := []PublicKey{}
	for _, k := range c.Keys {
		if k.ExpiresAt != nil && !now.Before(*k.ExpiresAt) {
			continue
		}
		raw, err := json.Marshal(k.Key)
		if err != nil {
			return nil, err
		}
		one := PublicKey{ExpiresAt: k.ExpiresAt}
		if err := json.Unmarshal(raw, &one.JWK); err != nil {
			return nil, err
		}
		shown = append(shown, one)
	}
	return shown, nil
}
