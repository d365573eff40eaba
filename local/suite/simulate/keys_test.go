package simulate_test

import (
	"context"
	"slices"
	"sync"
	"time"

	basefault "orgops/shared/base/fault"
	"orgops/shared/storage/vault"
)

// keyring holds the companies' data keys and wraps them with nothing. The vault above it is the real one.
type keyring struct {
	mu   sync.Mutex
	keys map[string][]byte
}

// keysOf is the keyring as an environment sees it: each call is a request to KMS, or to the item with the wrapped key.
type keysOf struct{ e *environment }

// errKeys is what the driver of KMS returns for a throttle, a timeout and a key that is disabled for a while.
var errKeys = basefault.New(basefault.Unavailable, "credentials are unavailable; try again")

func (k keysOf) ask(ctx context.Context, what string, do func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return k.e.w.ask(ctx, &call{id: k.e.who(ctx) + " " + what, kind: keys, env: k.e.faulted(), at: time.Now().Add(k.e.w.latency), refusal: errKeys, do: do})
}

// Get implements vault.KeyStore.
func (k keysOf) Get(ctx context.Context, company string) (key []byte, err error) {
	err = k.ask(ctx, "get key of "+company, func() error {
		var err error
		key, err = k.e.w.keys.Get(ctx, company)
		return err
	})
	return key, err
}

// Create implements vault.KeyStore.
func (k keysOf) Create(ctx context.Context, company string, wrapped []byte) error {
	return k.ask(ctx, "create key of "+company, func() error { return k.e.w.keys.Create(ctx, company, wrapped) })
}

// Destroy implements erasure.Keys.
func (k keysOf) Destroy(ctx context.Context, company string) error {
	return k.ask(ctx, "destroy key of "+company, func() error {
		k.e.w.keys.mu.Lock()
		defer k.e.w.keys.mu.Unlock()
		delete(k.e.w.keys.keys, company)
		return nil
	})
}

// Wrap implements vault.Wrapper.
func (k keysOf) Wrap(ctx context.Context, company string, key []byte) (wrapped []byte, err error) {
	err = k.ask(ctx, "wrap key of "+company, func() error {
		var err error
		wrapped, err = k.e.w.keys.Wrap(ctx, company, key)
		return err
	})
	return wrapped, err
}

// Unwrap implements vault.Wrapper.
func (k keysOf) Unwrap(ctx context.Context, company string, wrapped []byte) (key []byte, err error) {
	err = k.ask(ctx, "unwrap key of "+company, func() error {
		var err error
		key, err = k.e.w.keys.Unwrap(ctx, company, wrapped)
		return err
	})
	return key, err
}

// Get implements vault.KeyStore.
func (k *keyring) Get(_ context.Context, company string) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if key, ok := k.keys[company]; ok {
		return slices.Clone(key), nil
	}
	return nil, vault.ErrNoKey
}

// Create implements vault.KeyStore.
func (k *keyring) Create(_ context.Context, company string, wrapped []byte) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, ok := k.keys[company]; ok {
		return vault.ErrKeyExists
	}
	k.keys[company] = slices.Clone(wrapped)
	return nil
}

// Wrap implements vault.Wrapper.
func (k *keyring) Wrap(_ context.Context, _ string, key []byte) ([]byte, error) {
	return slices.Clone(key), nil
}

// Unwrap implements vault.Wrapper.
func (k *keyring) Unwrap(_ context.Context, _ string, wrapped []byte) ([]byte, error) {
	return slices.Clone(wrapped), nil
}

// safe is the vault of an environment. It lets the callers of a company in one after the other, in the order of their calls. The
// vault alone wakes all callers at once when the key service has failed one of them, and Go's scheduler would choose which of
// them asks next. Then a seed would not decide it.
type safe struct {
	vault.Vault
	mu      sync.Mutex
	waiting map[string][]chan struct{} // by company, of callers who wait; present while a caller is in
}

func newSafe(v vault.Vault) *safe { return &safe{Vault: v, waiting: map[string][]chan struct{}{}} }

// Seal implements vault.Vault.
func (s *safe) Seal(ctx context.Context, company, label string, plaintext []byte) ([]byte, error) {
	defer s.leave(company)
	<-s.enter(company)
	return s.Vault.Seal(ctx, company, label, plaintext)
}

// Open implements vault.Vault.
func (s *safe) Open(ctx context.Context, company, label string, sealed []byte) ([]byte, error) {
	defer s.leave(company)
	<-s.enter(company)
	return s.Vault.Open(ctx, company, label, sealed)
}

// enter returns a channel that is closed when it is the caller's turn.
func (s *safe) enter(company string) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	turn := make(chan struct{})
	if others, busy := s.waiting[company]; busy {
		s.waiting[company] = append(others, turn)
		return turn
	}
	s.waiting[company] = nil
	close(turn)
	return turn
}

// leave ends the caller's turn.
func (s *safe) leave(company string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	others := s.waiting[company]
	if len(others) == 0 {
		delete(s.waiting, company)
		return
	}
	s.waiting[company] = others[1:]
	close(others[0])
}
