package tokensecret

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"orgops/shared/identity/token"
)

const (
	// MaxAge limits how long a warm process uses the keys that it has read: half the time between a key's publication and
	// its first signature.
	MaxAge = token.Lead / 2
	// minInterval separates two reads. It keeps a flood of tokens that name an unknown key from causing a read each.
	minInterval = 20 * time.Second
	// readTimeout bounds a read while a request waits.
	readTimeout = 4 * time.Second
)

// Secrets names the two secrets that hold the keys.
type Secrets struct {
	Published *Secret
	Signing   *Secret // nil in a process that only verifies
}

// Keyring holds the keys that a process uses. It follows rotations: it reads the keys again when they are stale, and when a
// token names an unknown key. It is safe for concurrent use.
type Keyring struct {
	secrets  Secrets
	logger   *slog.Logger
	now      func() time.Time
	signer   *token.Signer
	verifier *token.Verifier
	cursor   []byte

	mu      sync.Mutex
	readAt  time.Time // of the keys in use
	triedAt time.Time
}

// NewKeyring reads the secrets and makes a Keyring. Its errors may be temporary, so the caller may try again.
func NewKeyring(ctx context.Context, s Secrets, config token.Config, logger *slog.Logger, now func() time.Time) (*Keyring, error) {
	published, signing, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	at := now()
	return &Keyring{
		secrets: s, logger: logger, now: now, readAt: at, triedAt: at, cursor: published.Cursor,
		signer: token.NewSigner(config, signing), verifier: token.NewVerifier(config, published.Keys),
	}, nil
}

// read reads both secrets at once and leaves out signing keys that are not published. If a rotation happens between the two
// reads, the process therefore signs no token that other processes refuse.
func (s Secrets) read(ctx context.Context) (Published, token.KeySet, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	var signing token.KeySet
	var signingErr error
	var reading sync.WaitGroup
	if s.Signing != nil {
		reading.Go(func() { signing, signingErr = s.Signing.Signing(ctx) })
	}
	published, err := s.Published.Published(ctx)
	reading.Wait()
	if err = errors.Join(err, signingErr); err != nil || s.Signing == nil {
		return published, signing, err
	}
	signing, err = signing.Within(published.Keys)
	return published, signing, err
}

// Signer signs, in a process that has the signing keys.
func (k *Keyring) Signer() *token.Signer { return k.signer }

// Public returns the keys that verify.
func (k *Keyring) Public() token.PublicKeys { return k.verifier.Keys() }

// Cursor returns the text that seals page cursors.
func (k *Keyring) Cursor() []byte { return k.cursor }

// Verify checks a token like token.Verifier. If the token names an unknown key, Verify reads the keys again, unless the last
// read is recent. It then checks the token once more in any case, because a concurrent request may have read the new keys.
func (k *Keyring) Verify(text string, resources ...string) (token.Claims, error) {
	claims, err := k.verifier.Verify(text, resources...)
	if !errors.Is(err, token.ErrUnknownKey) {
		return claims, err
	}
	k.again()
	return k.verifier.Verify(text, resources...)
}

func (k *Keyring) again() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.reread(context.Background(), 0)
}

// Refresh reads the keys again when they are stale. If the read fails, the current keys stay in use.
func (k *Keyring) Refresh(ctx context.Context) {
	if k.mu.TryLock() { // otherwise another request is reading them
		k.reread(ctx, MaxAge)
		k.mu.Unlock()
	}
}

// reread reads the keys again if they are older than age. The caller holds the lock.
func (k *Keyring) reread(ctx context.Context, age time.Duration) {
	now := k.now()
	if now.Sub(k.readAt) < age || now.Sub(k.triedAt) < minInterval {
		return
	}
	k.triedAt = now
	published, signing, err := k.secrets.read(ctx)
	if err != nil {
		k.logger.WarnContext(ctx, "token keys could not be read again; the current keys stay in use", "error", err)
		return
	}
	k.readAt = now
	k.verifier.Use(published.Keys)
	k.signer.Use(signing)
}
