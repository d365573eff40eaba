package tokensecret

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"orgops/shared/fault"
	"orgops/shared/token"
)

const (
	// keysFresh is how long a process that stays warm goes on with the keys that it has read.
	keysFresh = 5 * time.Minute
	// keysPause is the least time between two reads: of a token that verifies by no known key, whoever sent it, one read
	// may come, not one each.
	keysPause = 20 * time.Second
	// readTimeout bounds a read while a request waits.
	readTimeout = 4 * time.Second
)

// Keyring is the keys in use by a process. It follows rotations: keys are read again now and then, and when a token
// verifies by none of them. It is safe for concurrent use.
type Keyring struct {
	secret   *Secret
	logger   *slog.Logger
	now      func() time.Time
	signer   *token.Signer
	verifier *token.Verifier
	cursor   []byte

	mu      sync.Mutex
	readAt  time.Time // of the keys in use
	triedAt time.Time
}

// NewKeyring reads the secret. Its error is one that another try may not meet.
func NewKeyring(ctx context.Context, s *Secret, config token.Config, logger *slog.Logger, now func() time.Time) (*Keyring, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	keys, err := s.Read(ctx)
	if err != nil {
		return nil, err
	}
	at := now()
	return &Keyring{
		secret: s, logger: logger, now: now, readAt: at, triedAt: at, cursor: keys.Cursor,
		signer: token.NewSigner(config, keys.Signing), verifier: token.NewVerifier(config, keys.Signing.Public()),
	}, nil
}

// Signer signs with the current key.
func (k *Keyring) Signer() *token.Signer { return k.signer }

// Public is the keys that verify.
func (k *Keyring) Public() token.PublicKeys { return k.verifier.Keys() }

// Cursor is what cursors are sealed with.
func (k *Keyring) Cursor() []byte { return k.cursor }

// Verify is token.Verifier's, with a second look when a rotation may have been missed.
func (k *Keyring) Verify(text string) (token.Claims, error) {
	claims, err := k.verifier.Verify(text)
	if fault.KindOf(err) == fault.Unauthenticated && k.reread(context.Background(), 0) {
		return k.verifier.Verify(text)
	}
	return claims, err
}

// Refresh reads the keys again when it is time to. What cannot be read leaves those that are there in use.
func (k *Keyring) Refresh(ctx context.Context) { k.reread(ctx, keysFresh) }

// reread reads keys that are older than age, and reports whether it did.
func (k *Keyring) reread(ctx context.Context, age time.Duration) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	if now.Sub(k.readAt) < age || now.Sub(k.triedAt) < keysPause {
		return false
	}
	k.triedAt = now
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	keys, err := k.secret.Read(ctx)
	if err != nil {
		k.logger.WarnContext(ctx, "token keys not read again; those in use stay", "error", err)
		return false
	}
	k.readAt = now
	k.signer.Use(keys.Signing)
	k.verifier.Use(keys.Signing.Public())
	return true
}
