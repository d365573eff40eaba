// Package vault seals credentials with a random AES-256-GCM data key per company. It stores a data key only wrapped: by a
// key file locally, by a key service in the cloud. A text sealed for one company and label opens for no other.
package vault

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Vault seals and opens credentials. Its methods are safe for concurrent use.
type Vault interface {
	// Seal encrypts plaintext for a company under a label such as "github/token". Sealing it twice gives two different texts.
	Seal(ctx context.Context, company, label string, plaintext []byte) ([]byte, error)
	// Open decrypts a sealed text. It returns ErrSealed unless Seal made the text for this company and label.
	Open(ctx context.Context, company, label string, sealed []byte) ([]byte, error)
}

// LabelFor returns the label of a secret that is given to one party, such as an origin or an issuer: a text that is sealed for
// one does not open for another. Without a party it returns label itself.
func LabelFor(label, party string) string {
	if party == "" {
		return label
	}
	return label + " for " + party
}

var (
	// ErrSealed reports a sealed text that cannot be opened: damaged, of another company, or under another label. It does
	// not say which of the three.
	ErrSealed = errors.New("vault: cannot be opened for this company and label")
	// ErrNoKey reports a company without a key. A KeyStore returns it.
	ErrNoKey = errors.New("vault: the company has no key")
	// ErrKeyExists reports a second key for a company. A KeyStore returns it.
	ErrKeyExists = errors.New("vault: the company already has a key")
)

// KeyStore stores each company's wrapped data key.
type KeyStore interface {
	// Get returns the wrapped key, or ErrNoKey.
	Get(ctx context.Context, company string) ([]byte, error)
	// Create stores a wrapped key durably, or returns ErrKeyExists. It never replaces a key, because texts sealed by the
	// old key would be lost.
	Create(ctx context.Context, company string, wrapped []byte) error
}

// Wrapper encrypts data keys. A wrapped key unwraps only for its company.
type Wrapper interface {
	Wrap(ctx context.Context, company string, key []byte) ([]byte, error)
	Unwrap(ctx context.Context, company string, wrapped []byte) ([]byte, error)
}

const (
	keyTime = 5 * time.Minute // how long an unwrapped key stays in memory
	maxKeys = 1024            // unwrapped keys in memory

	formatVersion = 1
	keySize       = 32
)

// Sealer implements Vault over any Wrapper and KeyStore.
type Sealer struct {
	wrapper Wrapper
	keys    KeyStore
	now     func() time.Time

	mu      sync.Mutex
	opened  map[string]openedKey
	opening map[string]chan struct{} // closed when the caller that opens a company's key is done
}

type openedKey struct {
	aead  cipher.AEAD
	until time.Time
}

// New returns a Sealer. A nil now means time.Now.
func New(wrapper Wrapper, keys KeyStore, now func() time.Time) *Sealer {
	if now == nil {
		now = time.Now
	}
	return &Sealer{wrapper: wrapper, keys: keys, now: now, opened: map[string]openedKey{}, opening: map[string]chan struct{}{}}
}

// Seal implements Vault. It creates the company's key on first use.
func (s *Sealer) Seal(ctx context.Context, company, label string, plaintext []byte) ([]byte, error) {
	aead, err := s.key(ctx, company, true)
	if err != nil {
		return nil, err
	}
	return seal(aead, plaintext, company, label), nil
}

// Open implements Vault. It returns ErrSealed also for a company that never sealed anything.
func (s *Sealer) Open(ctx context.Context, company, label string, sealed []byte) ([]byte, error) {
	aead, err := s.key(ctx, company, false)
	if errors.Is(err, ErrNoKey) {
		return nil, ErrSealed
	}
	if err != nil {
		return nil, err
	}
	return open(aead, sealed, company, label)
}

// key returns a company's key, from memory if possible. One of several concurrent callers asks the key service and the
// others wait, because the service charges per request. If that caller fails, the next caller tries.
func (s *Sealer) key(ctx context.Context, company string, create bool) (cipher.AEAD, error) {
	for {
		aead, other := s.remembered(company)
		switch {
		case aead != nil:
			return aead, nil
		case other == nil:
			return s.fetch(ctx, company, create)
		}
		select {
		case <-other:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// fetch opens a key for all callers that wait for it.
func (s *Sealer) fetch(ctx context.Context, company string, create bool) (cipher.AEAD, error) {
	defer s.fetched(company)
	wrapped, err := s.keys.Get(ctx, company)
	if errors.Is(err, ErrNoKey) && create {
		wrapped, err = s.create(ctx, company)
	}
	if err != nil {
		return nil, err
	}
	key, err := s.wrapper.Unwrap(ctx, company, wrapped)
	if err != nil {
		return nil, err
	}
	aead, err := newAEAD(key)
	clear(key)
	if err != nil {
		return nil, err
	}
	s.remember(company, aead)
	return aead, nil
}

// create creates a key and returns the wrapped key in the store. If several callers create a key at once, all get the key
// that was stored first.
func (s *Sealer) create(ctx context.Context, company string) ([]byte, error) {
	key := make([]byte, keySize)
	rand.Read(key)
	wrapped, err := s.wrapper.Wrap(ctx, company, key)
	clear(key)
	if err != nil {
		return nil, err
	}
	if err := s.keys.Create(ctx, company, wrapped); err != nil && !errors.Is(err, ErrKeyExists) {
		return nil, err
	}
	return s.keys.Get(ctx, company)
}

// remembered returns a company's key if it is in memory. If another caller is opening the key, remembered returns other,
// which closes when that caller is done. If it returns neither, this caller must call fetch.
func (s *Sealer) remembered(company string) (aead cipher.AEAD, other <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if k, ok := s.opened[company]; ok {
		if s.now().Before(k.until) {
			return k.aead, nil
		}
		delete(s.opened, company)
	}
	if other, ok := s.opening[company]; ok {
		return nil, other
	}
	s.opening[company] = make(chan struct{})
	return nil, nil
}

// fetched ends the wait of the other callers.
func (s *Sealer) fetched(company string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.opening[company])
	delete(s.opening, company)
}

// remember keeps a key for keyTime. A timer drops it then, even if no caller asks for a key again.
func (s *Sealer) remember(company string, aead cipher.AEAD) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.opened) >= maxKeys {
		clear(s.opened)
	}
	s.opened[company] = openedKey{aead: aead, until: s.now().Add(keyTime)}
	time.AfterFunc(keyTime, s.forget)
}

// forget drops expired keys.
func (s *Sealer) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	for company, k := range s.opened {
		if !now.Before(k.until) {
			delete(s.opened, company)
		}
	}
}

func newAEAD(key []byte) (cipher.AEAD, error) {
	if len(key) != keySize {
		return nil, fmt.Errorf("vault: key of %d bytes; use %d", len(key), keySize)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// seal returns version, nonce and ciphertext with tag. The version and the parts are associated data.
func seal(aead cipher.AEAD, plaintext []byte, parts ...string) []byte {
	out := make([]byte, 1+aead.NonceSize(), 1+aead.NonceSize()+len(plaintext)+aead.Overhead())
	out[0] = formatVersion
	rand.Read(out[1:])
	return aead.Seal(out, out[1:], plaintext, associated(parts)) //nolint:gosec // G407 does not see that the nonce was just read from crypto/rand
}

func open(aead cipher.AEAD, sealed []byte, parts ...string) ([]byte, error) {
	head := 1 + aead.NonceSize()
	if len(sealed) < head+aead.Overhead() || sealed[0] != formatVersion {
		return nil, ErrSealed
	}
	plaintext, err := aead.Open(nil, sealed[1:head], sealed[head:], associated(parts))
	if err != nil {
		return nil, ErrSealed
	}
	return plaintext, nil
}

// associated joins parts with their lengths, so that ("ab","c") and ("a","bc") differ.
func associated(parts []string) []byte {
	b := []byte{formatVersion}
	for _, p := range parts {
		b = binary.BigEndian.AppendUint32(b, uint32(len(p)))
		b = append(b, p...)
	}
	return b
}
