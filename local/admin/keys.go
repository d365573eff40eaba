package admin

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"orgops/functions/rotator"
	"orgops/local/process"
	"orgops/shared/boot/cloud"
	"orgops/shared/boot/cloud/tokens"
	"orgops/shared/config"
	"orgops/shared/token"
)

// rotateTimeout bounds a rotation in Secrets Manager.
const rotateTimeout = 20 * time.Second

func rotateKeys(ctx context.Context, e Env, args []string) error {
	if err := flag.NewFlagSet("admin keys rotate", flag.ContinueOnError).Parse(args); err != nil {
		return err
	}
	rotate, from := rotateFile, "the next start on"
	if e.Config.Backend == config.AWS {
		rotate, from = rotateSecret, "five minutes from now at the latest"
	}
	keys, err := rotate(ctx, e)
	if err != nil {
		return err
	}
	fmt.Fprintf(e.Out, "new tokens are signed with %s from %s", keys.Current.ID(), from)
	if keys.Previous != nil {
		fmt.Fprintf(e.Out, "; tokens signed with %s stay good for their hour", keys.Previous.ID())
	}
	fmt.Fprintln(e.Out)
	return nil
}

func rotateFile(_ context.Context, e Env) (token.KeySet, error) {
	return token.Rotate(filepath.Join(e.Config.Data, process.TokenFile))
}

// rotateSecret does at once what the rotator does in the steps of Secrets Manager.
func rotateSecret(ctx context.Context, e Env) (keys token.KeySet, err error) {
	c, err := cloud.Read(e.Getenv)
	secret := tokens.Secret(c)
	if err := errors.Join(err, c.Missing()); err != nil {
		return keys, err
	}
	ctx, cancel := context.WithTimeout(ctx, rotateTimeout)
	defer cancel()
	text, err := secret.Value(ctx, "AWSCURRENT")
	if err != nil {
		return keys, fmt.Errorf("the secret of the token keys: %w", err)
	}
	next, err := rotator.Next(text)
	if err != nil {
		return keys, err
	}
	version := uuid.NewString()
	if err := secret.Pend(ctx, version, next); err != nil {
		return keys, fmt.Errorf("the secret's next version: %w", err)
	}
	if err := secret.Promote(ctx, version); err != nil {
		return keys, fmt.Errorf("the secret's next version: %w", err)
	}
	return token.DecodeKeySet(next)
}
