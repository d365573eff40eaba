package tokensecret

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"orgops/shared/token"
)

const (
	// keysFresh is how long a process that stays warm goes on with the keys that it has read: half the time between a
	// key's publication and its first signature.
	keysFresh = token.Lead / 2
	// keysPause is the least time between two reads: of a token that names no known key, whoever sent it, one read may
	// come, not one each.
	keysPause = 20 * time.Second
	// readTimeout bounds a read while a request waits.
	readTimeout = 4 * time.Second
)

// Secrets is where the keys are.
type Secrets struct {
	Published *Secret
	Signing   *Secret // nil for who only verifies
}

// Keyring is the keys in use by a process. It follows rotations: keys are read again now and then, and when a token
// names none of them. It is safe for concurrent use.
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

// NewKeyring reads the secrets. Its error is one that another try may not meet.
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

// read leaves out what is not published: whichever secret is read first, and whatever happens in between, no token is
// signed that others do not accept.
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

// Public is the keys that verify.
func (k *Keyring) Public() token.PublicKeys { return k.verifier.Keys() }

// Cursor is what cursors are sealed with.
func (k *Keyring) Cursor() []byte { return k.cursor }

// Verify is token.Verifier's, with a second look when a rotation may have been missed: also where somebody else has read
// the keys meanwhile.
func (k *Keyring) Verify(text string) (token.Claims, error) {
	claims, err := k.verifier.Verify(text)
	if !errors.Is(err, token.ErrUnknownKey) {
		return claims, err
	}
	k.again()
	return k.verifier.Verify(text)
}

func (k *Keyring) again() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.reread(context.Background(), 0)
}

// Refresh reads the keys again when it is time to. What cannot be read leaves those that are there in use.
func (k *Keyring) Refresh(ctx context.Context) {
	if k.mu.TryLock() { // or else another request is reading them
		k.reread(ctx, keysFresh)
		k.mu.Unlock()
	}
}

// reread reads keys that are older than age. The lock is held.
func (k *Keyring) reread(ctx context.Context, age time.Duration) {
	now := k.now()
	if now.Sub(k.readAt) < age || now.Sub(k.triedAt) < keysPause {
		return
	}
	k.triedAt = now
	published, signing, err := k.secrets.read(ctx)
	if err != nil {
		k.logger.WarnContext(ctx, "token keys not read again; those in use stay", "error", err)
		return
	}
	k.readAt = now
	k.verifier.Use(published.Keys)
	k.signer.Use(signing)
}
