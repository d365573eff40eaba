// Package tokens opens the keys that sign and verify tokens.
package tokens

import (
	"context"
	"sync"

	"orgops/shared/boot/cloud"
	"orgops/shared/token"
	"orgops/shared/token/tokensecret"
)

// Keys reads the secret. Its error is one that another try may not meet, except for a setting that is missing.
func Keys(ctx context.Context, c *cloud.Cloud) (*tokensecret.Keyring, error) {
	secret := Secret(c)
	if err := c.Missing(); err != nil {
		return nil, err
	}
	config := token.Config{Issuer: c.Config.Issuer, Audience: c.Config.Audience, Now: c.Now}
	return tokensecret.NewKeyring(ctx, secret, config, c.Logger, c.Now)
}

// Secret is the secret itself.
func Secret(c *cloud.Cloud) *tokensecret.Secret {
	return tokensecret.Open(c.Access, c.Need("ORGOPS_TOKEN_KEYS", c.Settings.TokenKeys))
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
