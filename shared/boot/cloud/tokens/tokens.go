// Package tokens opens the keys that sign and verify tokens.
package tokens

import (
	"context"

	"orgops/shared/boot/cloud"
	"orgops/shared/fault"
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

// The settings that name the secrets.
const (
	publishedSetting = "ORGOPS_TOKEN_KEYS"
	signingSetting   = "ORGOPS_SIGNING_KEYS"
)

// Published is the secret with the keys that verify.
func Published(c *cloud.Cloud) *tokensecret.Secret {
	return tokensecret.Open(c.Access, c.Need(publishedSetting, c.Settings.TokenKeys))
}

// Signing is the secret with the keys that sign.
func Signing(c *cloud.Cloud) *tokensecret.Secret {
	return tokensecret.Open(c.Access, c.Need(signingSetting, c.Settings.SigningKeys))
}

// Lazy is keys that are read when they are first needed or, as long as that fails, with each use. It is safe for concurrent
// use: of many that need them at the same time one reads.
type Lazy struct {
	read    func(ctx context.Context) (*tokensecret.Keyring, error)
	reading chan struct{} // holds one of whoever reads
	keys    *tokensecret.Keyring
}

func lazy(read func(context.Context) (*tokensecret.Keyring, error)) *Lazy {
	return &Lazy{read: read, reading: make(chan struct{}, 1)}
}

// Lazily is the keys that verify, for a process that needs them with every use: it tries to read them at once.
func Lazily(c *cloud.Cloud) *Lazy {
	l := lazy(func(ctx context.Context) (*tokensecret.Keyring, error) { return Keys(ctx, c) })
	if _, err := l.ready(context.Background()); err != nil {
		c.Logger.Error("token keys", "error", err)
	}
	return l
}

// LazilySigning is the keys that sign as well. It reads nothing yet; that they cannot be read is fault.Unavailable.
func LazilySigning(c *cloud.Cloud) *Lazy {
	c.Need(publishedSetting, c.Settings.TokenKeys)
	c.Need(signingSetting, c.Settings.SigningKeys)
	return lazy(func(ctx context.Context) (*tokensecret.Keyring, error) {
		keys, err := SigningKeys(ctx, c)
		if err != nil {
			return nil, fault.Wrap(fault.Unavailable, "the service is not ready; try again", err)
		}
		return keys, nil
	})
}

// Verify is the keyring's.
func (l *Lazy) Verify(ctx context.Context, text string) (token.Claims, error) {
	keys, err := l.ready(ctx)
	if err != nil {
		return token.Claims{}, err
	}
	return keys.Verify(text)
}

// Signer is the keyring's.
func (l *Lazy) Signer(ctx context.Context) (*token.Signer, error) {
	keys, err := l.ready(ctx)
	if err != nil {
		return nil, err
	}
	return keys.Signer(), nil
}

// Public is the keyring's.
func (l *Lazy) Public(ctx context.Context) (token.PublicKeys, error) {
	keys, err := l.ready(ctx)
	if err != nil {
		return token.PublicKeys{}, err
	}
	return keys.Public(), nil
}

// ready is the keys, read again where it is time to.
func (l *Lazy) ready(ctx context.Context) (*tokensecret.Keyring, error) {
	keys, err := l.first(ctx)
	if err == nil {
		keys.Refresh(ctx)
	}
	return keys, err
}

// first waits for whoever reads the keys for the first time, no longer than ctx lets it.
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
