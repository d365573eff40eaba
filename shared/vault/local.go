package vault

import (
	"context"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// FileKey is the Wrapper of the local run: one key in a file that only its owner may read.
type FileKey struct{ aead cipher.AEAD }

// OpenFileKey reads the key at path, or makes one with mode 0600. A file that its group or others may read is refused.
func OpenFileKey(path string) (*FileKey, error) {
	k, err := loadFileKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return k, err
	}
	if err := createFileKey(path); err != nil {
		return nil, err
	}
	return loadFileKey(path)
}

func loadFileKey(path string) (*FileKey, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("vault key %s has mode %04o; others may read it: chmod 600 it", path, info.Mode().Perm())
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
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

// createFileKey links a finished file into place, which never replaces one: of two processes that start at once, both
// use the first one's key, and nobody ever reads half of it.
func createFileKey(path string) error {
	key := make([]byte, keySize)
	rand.Read(key)
	defer clear(key)
	f, err := os.CreateTemp(filepath.Dir(path), ".vault-*") // mode 0600
	if err != nil {
		return fmt.Errorf("create the vault key: %w", err)
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(base64.StdEncoding.EncodeToString(key) + "\n")
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Link(f.Name(), path)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("create the vault key: %w", err)
	}
	return nil
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
