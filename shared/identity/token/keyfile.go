package token

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"orgops/shared/base/keyfile"
)

// jwk describes a key with its private half, D.
type jwk struct {
	JWK
	D string `json:"d"`
	timed
}

// keyFile maps a KeySet to its stored form.
type keyFile struct {
	Current  jwk   `json:"current"`
	Previous []jwk `json:"previous,omitempty"`
}

// Encode writes the set with its private keys as JSON, only for a key file or a secrets manager. It is not called
// MarshalJSON, so that no log or response can contain a key by accident.
func (s KeySet) Encode() ([]byte, error) {
	file := keyFile{Current: privateJWK(s.Current)}
	for _, k := range s.Previous {
		file.Previous = append(file.Previous, privateJWK(k))
	}
	return json.MarshalIndent(file, "", "  ")
}

// DecodeKeySet reads the output of Encode. Its errors never contain key material.
func DecodeKeySet(b []byte) (KeySet, error) {
	var file keyFile
	if err := json.Unmarshal(b, &file); err != nil {
		return KeySet{}, errors.New("read a key set: not valid JSON")
	}
	var set KeySet
	for i, j := range append([]jwk{file.Current}, file.Previous...) {
		key, err := keyFromJWK(j)
		if err != nil {
			return KeySet{}, err
		}
		if i == 0 {
			set.Current = key
		} else {
			set.Previous = append(set.Previous, key)
		}
	}
	return set, nil
}

func privateJWK(k Key) jwk {
	if k.private == nil {
		return jwk{}
	}
	return jwk{
		JWK: publicJWK(k.id, k.private.Public().(ed25519.PublicKey)),
		D:   base64.RawURLEncoding.EncodeToString(k.private.Seed()), timed: k.timed(),
	}
}

func keyFromJWK(j jwk) (Key, error) {
	seed, err := base64.RawURLEncoding.DecodeString(j.D)
	if err != nil || len(seed) != ed25519.SeedSize || j.Kty != "OKP" || j.Crv != "Ed25519" {
		return Key{}, errNotOurKey
	}
	k := keyFromSeed(seed)
	if k.id != j.Kid {
		return Key{}, errNotOurKey
	}
	k.period = j.period()
	return k, nil
}

// LoadOrCreateKeys reads the key file at path, or makes one with mode 0600. It refuses a file that its group or others may
// access, because any reader of the file can sign tokens for any user.
func LoadOrCreateKeys(path string) (KeySet, error) {
	b, err := keyfile.LoadOrCreate(path, func() ([]byte, error) {
		key, err := NewKey(nil)
		if err != nil {
			return nil, err
		}
		return encodeFile(KeySet{Current: key})
	})
	if err != nil {
		return KeySet{}, fmt.Errorf("token keys: %w", err)
	}
	return decodeFile(path, b)
}

// Rotate makes a new current key in the key file at path, as KeySet.Rotated does. The new key signs at once, because every
// process that reads the file also verifies with the new key.
func Rotate(path string, now time.Time) (KeySet, error) {
	return replaceKeys(path, func(set KeySet, next Key) (KeySet, error) { return set.Rotated(next, now, 0) })
}

// Revoke makes a new key in the key file at path and ends all others, as Sole does.
func Revoke(path string, now time.Time) (KeySet, error) {
	return replaceKeys(path, func(_ KeySet, next Key) (KeySet, error) { return Sole(next, now), nil })
}

func replaceKeys(path string, change func(set KeySet, next Key) (KeySet, error)) (KeySet, error) {
	set, err := loadKeys(path)
	if err != nil {
		return KeySet{}, err
	}
	key, err := NewKey(nil)
	if err != nil {
		return KeySet{}, err
	}
	if set, err = change(set, key); err != nil {
		return KeySet{}, err
	}
	b, err := encodeFile(set)
	if err != nil {
		return KeySet{}, err
	}
	if err := keyfile.Replace(path, b); err != nil {
		return KeySet{}, fmt.Errorf("token keys: %w", err)
	}
	return set, nil
}

func loadKeys(path string) (KeySet, error) {
	b, err := keyfile.Load(path)
	if err != nil {
		return KeySet{}, fmt.Errorf("token keys: %w", err)
	}
	return decodeFile(path, b)
}

func encodeFile(set KeySet) ([]byte, error) {
	b, err := set.Encode()
	return append(b, '\n'), err
}

func decodeFile(path string, b []byte) (KeySet, error) {
	set, err := DecodeKeySet(b)
	if err != nil {
		return KeySet{}, fmt.Errorf("key file %s: %w", path, err)
	}
	return set, nil
}
