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

// FileKey is the Wrapper of the local run: the keys of a file that only its owner may read, one a line. The first wraps;
// the others are there while data keys are wrapped anew, and only unwrap.
type FileKey struct{ aeads []cipher.AEAD }

// OpenFileKey reads the file at path, or makes one with mode 0600. A file that its group or others may read is refused.
func OpenFileKey(path string) (*FileKey, error) {
	text, err := keyfile.LoadOrCreate(path, newFileKey)
	if err != nil {
		return nil, fmt.Errorf("vault key: %w", err)
	}
	k := &FileKey{}
	for line := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n") {
		key, err := base64.StdEncoding.DecodeString(strings.TrimSpace(line))
		if err != nil {
			return nil, fmt.Errorf("vault key %s: not base64", path)
		}
		aead, err := newAEAD(key)
		clear(key)
		if err != nil {
			return nil, fmt.Errorf("vault key %s: %w", path, err)
		}
		k.aeads = append(k.aeads, aead)
	}
	return k, nil
}

// AddFileKey puts a new key before the one of the file at path. A file that has several already, because an earlier
// change was not ended, stays as it is.
func AddFileKey(path string) error {
	text, err := keyfile.Load(path)
	if err != nil || strings.Count(strings.TrimSpace(string(text)), "\n") > 0 {
		return err
	}
	key, err := newFileKey()
	if err != nil {
		return err
	}
	return keyfile.Replace(path, append(key, text...))
}

// DropFormerFileKeys leaves the first key alone in the file at path: when nothing is wrapped by another any more.
func DropFormerFileKeys(path string) error {
	text, err := keyfile.Load(path)
	if err != nil {
		return err
	}
	first, _, _ := strings.Cut(string(text), "\n")
	return keyfile.Replace(path, []byte(first+"\n"))
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
	return seal(k.aeads[0], key, wrapLabel, company), nil
}

// Unwrap is ErrSealed for another company's key.
func (k *FileKey) Unwrap(_ context.Context, company string, wrapped []byte) ([]byte, error) {
	key, _, err := k.unwrap(company, wrapped)
	return key, err
}

// unwrap also tells by which of the keys.
func (k *FileKey) unwrap(company string, wrapped []byte) (key []byte, by int, err error) {
	for i, aead := range k.aeads {
		if key, err = open(aead, wrapped, wrapLabel, company); err == nil {
			return key, i, nil
		}
	}
	return nil, 0, err
}

// Rewrap implements Rewrapper.
func (k *FileKey) Rewrap(ctx context.Context, company string, wrapped []byte) (again []byte, changed bool, err error) {
	key, by, err := k.unwrap(company, wrapped)
	if err != nil || by == 0 {
		return wrapped, false, err
	}
	defer clear(key)
	again, err = k.Wrap(ctx, company, key)
	return again, err == nil, err
}
