package token

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// jwk is a key with its private half, D.
type jwk struct {
	JWK
	D string `json:"d"`
	timed
}

// keyFile is the stored form of a KeySet.
type keyFile struct {
	Current  jwk   `json:"current"`
	Previous []jwk `json:"previous,omitempty"`
}

// Encode writes the set with its private keys as JSON: for a key file or a secrets manager, nothing else. It is not
// MarshalJSON, so that no log or answer can hold a key by accident.
func (s KeySet) Encode() ([]byte, error) {
	file := keyFile{Current: privateJWK(s.Current)}
	for _, k := range s.Previous {
		file.Previous = append(file.Previous, privateJWK(k))
	}
	return json.MarshalIndent(file, "", "  ")
}

// DecodeKeySet reads what Encode wrote. Its errors never hold key material.
func DecodeKeySet(b []byte) (KeySet, error) {
	var file keyFile
	if err := json.Unmarshal(b, &file); err != nil {
		return KeySet{}, errors.New("read a key set: not the JSON of one")
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

// LoadOrCreateKeys reads the key file at path, or makes one with mode 0600. A file that its group or others may read
// is refused: whoever read it can sign as anybody.
func LoadOrCreateKeys(path string) (KeySet, error) {
	set, err := loadKeys(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return set, err
	}
	key, err := NewKey(nil)
	if err != nil {
		return KeySet{}, err
	}
	temp, err := writeKeys(path, KeySet{Current: key})
	if err != nil {
		return KeySet{}, err
	}
	defer os.Remove(temp)
	// A link never replaces: of two processes that start at once, both end up with the first one's keys.
	if err := os.Link(temp, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return KeySet{}, fmt.Errorf("create the key file: %w", err)
	}
	return loadKeys(path)
}

// Rotate makes a new current key in the key file at path, as KeySet.Rotated does. It signs at once: whoever reads the
// file verifies by it too.
func Rotate(path string, now time.Time) (KeySet, error) {
	set, err := loadKeys(path)
	if err != nil {
		return KeySet{}, err
	}
	key, err := NewKey(nil)
	if err != nil {
		return KeySet{}, err
	}
	if set, err = set.Rotated(key, now, 0); err != nil {
		return KeySet{}, err
	}
	temp, err := writeKeys(path, set)
	if err != nil {
		return KeySet{}, err
	}
	if err := os.Rename(temp, path); err != nil {
		os.Remove(temp)
		return KeySet{}, fmt.Errorf("replace the key file: %w", err)
	}
	return set, nil
}

func loadKeys(path string) (KeySet, error) {
	info, err := os.Stat(path)
	if err != nil {
		return KeySet{}, err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return KeySet{}, fmt.Errorf("key file %s has mode %04o; others may read it: chmod 600 it, and rotate the keys", path, info.Mode().Perm())
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return KeySet{}, err
	}
	set, err := DecodeKeySet(b)
	if err != nil {
		return KeySet{}, fmt.Errorf("key file %s: %w", path, err)
	}
	return set, nil
}

// writeKeys writes the set beside path, synced, and returns the temporary file's name.
func writeKeys(path string, set KeySet) (string, error) {
	b, err := set.Encode()
	if err != nil {
		return "", err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".keys-*") // mode 0600
	if err != nil {
		return "", fmt.Errorf("write the key file: %w", err)
	}
	_, err = f.Write(append(b, '\n'))
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		os.Remove(f.Name())
		return "", fmt.Errorf("write the key file: %w", err)
	}
	return f.Name(), nil
}
