// Package tokens opens the keys that sign and verify tokens.
package tokens

import (
	"context"
	"sync"

	"orgops/shared/boot/cloud"
	"orgops/shared/token"
	"orgops/shared/token/tokensecret"
)

// Keys reads the keys that verify. Its error is one that another try may not meet, except for a setting that is missing.
func Keys(ctx context.Context, c *cloud.Cloud) (*tokensecret.Keyring, error) {
	return read(ctx, c, tokensecret.Secrets{Published: Published(c)})
}

// SigningKeys reads those that sign as well.
func SigningKeys(ctx context.Context, c *cloud.Cloud) (*tokensecret.Keyring, error) {
	return read(ctx, c, tokensecret.Secrets{Published: Published(c), Signing: Signing(c)})
}

func read(ctx context.Context, c *cloud.Cloud, secrets tokensecret.Secrets) (*tokensecret.Keyring, error) {
	if err := c.Missing(); err != nil {
		return nil, err
	}
	config := token.Config{Issuer: c.Config.Issuer, Audience: c.Config.Audience, Now: c.Now}
	return tokensecret.NewKeyring(ctx, secrets, config, c.Logger, c.Now)
}

// Published is the secret with the keys that verify.
func Published(c *cloud.Cloud) *tokensecret.Secret {
	return tokensecret.Open(c.Access, c.Need("ORGOPS_TOKEN_KEYS", c.Settings.TokenKeys))
}

// Signing is the secret with the keys that sign.
func Signing(c *cloud.Cloud) *tokensecret.Secret {
	return tokensecret.Open(c.Access, c.Need("ORGOPS_SIGNING_KEYS", c.Settings.SigningKeys))
}

// Lazy is keys that are read when they are first needed: at the start or, as long as that fails, with each use.
type Lazy struct {
	cloud *cloud.Cloud
	mu    sync.Mutex
	keys  *tokensecret.Keyring
}

// Lazily tries to read the keys at once.
func Lazily(c *cloud.Cloud) *Lazy {
	l := &Lazy{cloud: c}
	if _, err := l.ready(context.Background()); err != nil {
		c.Logger.Error("token keys", "error", err)
	}
	return l
}

// Verify is the keyring's.
func (l *Lazy) Verify(ctx context.Context, text string) (token.Claims, error) {
	keys, err := l.ready(ctx)
	if err != nil {
		return token.Claims{}, err
	}
	keys.Refresh(ctx)
	return keys.Verify(text)
}

func (l *Lazy) ready(ctx context.Context) (*tokensecret.Keyring, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.keys != nil {
		return l.keys, nil
	}
	keys, err := Keys(ctx, l.cloud)
	l.keys = keys
	return keys, err
}
