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
	"orgops/shared/identity/token/tokensecret"
	"orgops/shared/run/cloud"
	"orgops/shared/run/cloud/secretsmanager"
	"orgops/shared/run/config"
)

// rotateTimeout bounds a rotation in Secrets Manager.
const rotateTimeout = 20 * time.Second

func rotateKeys(ctx context.Context, e Env, flags *flag.FlagSet, args []string) error {
	revoke := flags.Bool("revoke", false, "end every earlier key now: all users have to log in again")
	if err := parse(flags, args); err != nil {
		return err
	}
	rotate := rotateFile
	if e.Config.Backend == config.AWS {
		rotate = rotateSecret
	}
	keys, err := rotate(ctx, e, *revoke)
	if err != nil {
		return err
	}
	fmt.Fprintln(e.Out, rotated(keys, e.Config.Backend, *revoke))
	return nil
}

// rotated tells the operator what a rotation did.
func rotated(keys token.KeySet, backend string, revoke bool) string {
	aws := backend == config.AWS
	switch {
	case revoke && aws:
		return fmt.Sprintf("new tokens are signed with %s; every token issued before is refused once every process has read the keys again, "+
			"within %d minutes. A login in this time may get a token that is refused; log in again then", keys.Current.ID(), int(tokensecret.MaxAge.Minutes()))
	case revoke:
		return fmt.Sprintf("new tokens are signed with %s from now on; every token issued before is refused", keys.Current.ID())
	}
	from := "from now on"
	if aws {
		from = "once every process has read it, in " + token.Lead.String()
	}
	text := fmt.Sprintf("new tokens are signed with %s %s", keys.Current.ID(), from)
	if len(keys.Previous) > 0 {
		text += fmt.Sprintf("; tokens signed with %s stay valid until they expire", keys.Previous[0].ID())
	}
	return text
}

func rotateFile(_ context.Context, e Env, revoke bool) (token.KeySet, error) {
	replace := token.Rotate
	if revoke {
		replace = token.Revoke
	}
	return replace(filepath.Join(e.Config.Data, process.TokenFile), time.Now())
}

// rotateSecret does in one call what the rotator does in the steps of Secrets Manager.
func rotateSecret(ctx context.Context, e Env, revoke bool) (keys token.KeySet, err error) {
	c, err := cloud.Read(e.Getenv)
	r := &rotator.Rotator{Signing: secretsmanager.Signing(c), Published: secretsmanager.Published(c), Now: time.Now}
	if err := errors.Join(err, c.Missing()); err != nil {
		return keys, err
	}
	ctx, cancel := context.WithTimeout(ctx, rotateTimeout)
	defer cancel()
	rotate := r.Rotate
	if revoke {
		rotate = r.Revoke
	}
	if err := rotate(ctx, uuid.NewString()); err != nil {
		return keys, fmt.Errorf("rotate the secrets of the token keys: %w", err)
	}
	return secretsmanager.Signing(c).Signing(ctx)
}
