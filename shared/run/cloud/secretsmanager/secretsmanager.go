// Package secretsmanager opens the keys that sign and verify tokens.
package secretsmanager

import (
	"context"

	"orgops/shared/identity/token"
	"orgops/shared/identity/token/tokensecret"
	"orgops/shared/run/cloud"
)

// Keys reads the keys that verify tokens. A missing setting is a permanent error; any other error may be temporary.
func Keys(ctx context.Context, c *cloud.Cloud) (*tokensecret.Keyring, error) {
	return read(ctx, c, tokensecret.Secrets{Published: Published(c)})
}

// SigningKeys reads the keys that verify tokens and the keys that sign them.
func SigningKeys(ctx context.Context, c *cloud.Cloud) (*tokensecret.Keyring, error) {
	return read(ctx, c, tokensecret.Secrets{Published: Published(c), Signing: Signing(c)})
}

func read(ctx context.Context, c *cloud.Cloud, secrets tokensecret.Secrets) (*tokensecret.Keyring, error) {
	if err := c.Missing(); err != nil {
		return nil, err
	}
	config := token.Config{Issuer: c.Config.Issuer, Former: c.Config.FormerIssuer, Audience: c.Config.Audience, Now: c.Now}
	return tokensecret.NewKeyring(ctx, secrets, config, c.Logger, c.Now)
}

// The settings that hold the ARNs of the secrets.
const (
	publishedSetting = "ORGOPS_TOKEN_KEYS"
	signingSetting   = "ORGOPS_SIGNING_KEYS"
)

// Published opens the secret with the keys that verify.
func Published(c *cloud.Cloud) *tokensecret.Secret {
	return tokensecret.Open(c.Access, c.Need(publishedSetting, c.Settings.TokenKeys))
}

// Signing opens the secret with the keys that sign.
func Signing(c *cloud.Cloud) *tokensecret.Secret {
	return tokensecret.Open(c.Access, c.Need(signingSetting, c.Settings.SigningKeys))
}

// Lazy verifies tokens. If its keys cannot be read, the next use reads again. Lazy is safe for concurrent use: concurrent
// first uses share one read.
type Lazy struct {
	read    func(ctx context.Context) (*tokensecret.Keyring, error)
	reading chan struct{} // holds a token while a caller reads
	keys    *tokensecret.Keyring
}

// Lazily returns the keys that verify tokens, for a process that needs them in every invocation. It tries to read them at
// once; if that fails, it logs the error and the first use reads them.
func Lazily(c *cloud.Cloud) *Lazy {
	l := &Lazy{
		read:    func(ctx context.Context) (*tokensecret.Keyring, error) { return Keys(ctx, c) },
		reading: make(chan struct{}, 1),
	}
	if _, err := l.ready(context.Background()); err != nil {
		c.Logger.Error("token keys not read", "error", err)
	}
	return l
}

// Verify returns the claims of a valid token.
func (l *Lazy) Verify(ctx context.Context, text string) (token.Claims, error) {
	keys, err := l.ready(ctx)
	if err != nil {
		return token.Claims{}, err
	}
	return keys.Verify(text)
}

// ready returns the keys, and refreshes them if a refresh is due.
func (l *Lazy) ready(ctx context.Context) (*tokensecret.Keyring, error) {
	keys, err := l.first(ctx)
	if err == nil {
		keys.Refresh(ctx)
	}
	return keys, err
}

// first returns the keys, and reads them if no caller has read them yet. It waits for a concurrent read, at most until ctx
// ends.
func (l *Lazy) first(ctx context.Context) (*tokensecret.Keyring, error) {
	select {
	case l.reading <- struct{}{}:
		defer func() { <-l.reading }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if l.keys != nil {
		return l.keys, nil
	}
	keys, err := l.read(ctx)
	if err != nil {
		return nil, err
	}
	l.keys = keys
	return keys, nil
}
