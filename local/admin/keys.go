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

func rotateKeys(ctx context.Context, e Env, flags *flag.FlagSet, args []string) error {
	if err := parse(flags, args); err != nil {
		return err
	}
	rotate, from := rotateFile, "from the next start on"
	if e.Config.Backend == config.AWS {
		rotate, from = rotateSecret, "when every process knows it, in "+token.Lead.String()
	}
	keys, err := rotate(ctx, e)
	if err != nil {
		return err
	}
	fmt.Fprintf(e.Out, "new tokens are signed with %s %s", keys.Current.ID(), from)
	if len(keys.Previous) > 0 {
		fmt.Fprintf(e.Out, "; tokens signed with %s stay good for their hour", keys.Previous[0].ID())
	}
	fmt.Fprintln(e.Out)
	return nil
}

func rotateFile(_ context.Context, e Env) (token.KeySet, error) {
	return token.Rotate(filepath.Join(e.Config.Data, process.TokenFile), time.Now())
}

// rotateSecret does at once what the rotator does in the steps of Secrets Manager.
func rotateSecret(ctx context.Context, e Env) (keys token.KeySet, err error) {
	c, err := cloud.Read(e.Getenv)
	r := &rotator.Rotator{Signing: tokens.Signing(c), Published: tokens.Published(c), Now: time.Now}
	if err := errors.Join(err, c.Missing()); err != nil {
		return keys, err
	}
	ctx, cancel := context.WithTimeout(ctx, rotateTimeout)
	defer cancel()
	if err := r.Rotate(ctx, uuid.NewString()); err != nil {
		return keys, fmt.Errorf("the secrets of the token keys: %w", err)
	}
	return tokens.Signing(c).Signing(ctx)
}
