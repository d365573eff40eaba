package vault

import (
	"context"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"strings"

	"orgops/shared/base/keyfile"
)

// FileKey implements Wrapper for the local run. It keeps its keys in a file that only the owner may read, one key per line.
// The first key wraps and unwraps; the others only unwrap, until every data key has been rewrapped.
type FileKey struct{ aeads []cipher.AEAD }

// OpenFileKey reads the file at path, or creates it with mode 0600. It refuses a file readable by the group or others.
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

// AddFileKey prepends a new key to the file at path. It leaves a file with several keys unchanged: such a file comes from a
// replacement that is unfinished.
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

// DropFormerFileKeys removes all but the first key from the file at path. Call it only when the first key wraps every data
// key.
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

const wrapLabel = "data key" // keeps wrapped keys and sealed texts apart

// Wrap encrypts a data key and binds it to the company.
func (k *FileKey) Wrap(_ context.Context, company string, key []byte) ([]byte, error) {
	return seal(k.aeads[0], key, wrapLabel, company), nil
}

// Unwrap returns the data key, or ErrSealed if it was wrapped for another company.
func (k *FileKey) Unwrap(_ context.Context, company string, wrapped []byte) ([]byte, error) {
	key, _, err := k.unwrap(company, wrapped)
	return key, err
}

// unwrap returns the data key and the index of the file key that unwrapped it.
func (k *FileKey) unwrap(company string, wrapped []byte) (key []byte, by int, err error) {
	for i, aead := range k.aeads {
		if key, err = open(aead, wrapped, wrapLabel, company); err == nil {
			return key, i, nil
		}
	}
	return nil, 0, err
}

// Rewrap implements Rewrapper. It leaves a data key as it is if the first key wrapped it.
func (k *FileKey) Rewrap(ctx context.Context, company string, wrapped []byte) (again []byte, changed bool, err error) {
	key, by, err := k.unwrap(company, wrapped)
	if err != nil || by == 0 {
		return wrapped, false, err
	}
	defer clear(key)
	again, err = k.Wrap(ctx, company, key)
	return again, err == nil, err
}
