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
	"orgops/shared/identity/token"
	"orgops/shared/run/cloud"
	"orgops/shared/run/cloud/secretsmanager"
	"orgops/shared/run/config"
)

// rotateTimeout bounds a rotation in Secrets Manager.
const rotateTimeout = 20 * time.Second

func rotateKeys(ctx context.Context, e Env, flags *flag.FlagSet, args []string) error {
	if err := parse(flags, args); err != nil {
		return err
	}
	rotate, from := rotateFile, "from the next start of the service"
	if e.Config.Backend == config.AWS {
		rotate, from = rotateSecret, "once every process has read it, in "+token.Lead.String()
	}
	keys, err := rotate(ctx, e)
	if err != nil {
		return err
	}
	fmt.Fprintf(e.Out, "new tokens are signed with %s %s", keys.Current.ID(), from)
	if len(keys.Previous) > 0 {
		fmt.Fprintf(e.Out, "; tokens signed with %s stay valid until they expire", keys.Previous[0].ID())
	}
	fmt.Fprintln(e.Out)
	return nil
}

func rotateFile(_ context.Context, e Env) (token.KeySet, error) {
	return token.Rotate(filepath.Join(e.Config.Data, process.TokenFile), time.Now())
}

// rotateSecret does in one call what the rotator does in the steps of Secrets Manager.
func rotateSecret(ctx context.Context, e Env) (keys token.KeySet, err error) {
	c, err := cloud.Read(e.Getenv)
	r := &rotator.Rotator{Signing: secretsmanager.Signing(c), Published: secretsmanager.Published(c), Now: time.Now}
	if err := errors.Join(err, c.Missing()); err != nil {
		return keys, err
	}
	ctx, cancel := context.WithTimeout(ctx, rotateTimeout)
	defer cancel()
	if err := r.Rotate(ctx, uuid.NewString()); err != nil {
		return keys, fmt.Errorf("rotate the secrets of the token keys: %w", err)
	}
	return secretsmanager.Signing(c).Signing(ctx)
}
