package vault

import (
	"context"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"strings"

	"orgops/shared/keyfile"
)

// FileKey is the Wrapper of the local run: one key in a file that only its owner may read.
type FileKey struct{ aead cipher.AEAD }

// OpenFileKey reads the key at path, or makes one with mode 0600. A file that its group or others may read is refused.
func OpenFileKey(path string) (*FileKey, error) {
	text, err := keyfile.LoadOrCreate(path, newFileKey)
	if err != nil {
		return nil, fmt.Errorf("vault key: %w", err)
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(text)))
	if err != nil {
		return nil, fmt.Errorf("vault key %s: not base64", path)
	}
	defer clear(key)
	aead, err := newAEAD(key)
	if err != nil {
		return nil, fmt.Errorf("vault key %s: %w", path, err)
	}
	return &FileKey{aead: aead}, nil
}

func newFileKey() ([]byte, error) {
	key := make([]byte, keySize)
	defer clear(key)
	if _, err := rand.Read(key); err != nil {
		return nil, err
	}
	return []byte(base64.StdEncoding.EncodeToString(key) + "\n"), nil
}

const wrapLabel = "data key" // keeps what wraps keys apart from what seals labels

// Wrap binds the key to the company.
func (k *FileKey) Wrap(_ context.Context, company string, key []byte) ([]byte, error) {
	return seal(k.aead, key, wrapLabel, company), nil
}

// Unwrap is ErrSealed for another company's key.
func (k *FileKey) Unwrap(_ context.Context, company string, wrapped []byte) ([]byte, error) {
	return open(k.aead, wrapped, wrapLabel, company)
}
