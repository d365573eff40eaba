package admin

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"iter"
	"path/filepath"
	"time"

	"orgops/local/process"
	"orgops/shared/boot/cloud"
	"orgops/shared/boot/cloud/data"
	"orgops/shared/boot/cloud/sealing"
	"orgops/shared/company"
	"orgops/shared/config"
	"orgops/shared/store"
	"orgops/shared/vault"
)

// rewrapKeys prints a line for each company that failed, and what became of all in the last.
func rewrapKeys(ctx context.Context, e Env, args []string) error {
	if err := flag.NewFlagSet("admin keys rewrap", flag.ContinueOnError).Parse(args); err != nil {
		return err
	}
	if e.Config.Backend == config.AWS {
		return rewrapByKMS(ctx, e)
	}
	return rewrapByFile(ctx, e)
}

// rewrapByKMS goes from the keys of ORGOPS_FORMER_WRAPPING_KEYS to that of ORGOPS_WRAPPING_KEY.
func rewrapByKMS(ctx context.Context, e Env) error {
	c, err := cloud.Read(e.Getenv)
	if err != nil {
		return err
	}
	main, keys, wrapper := data.Main(c), vault.StoreKeys{Store: data.Keys(c)}, sealing.Wrapper(c)
	if err := c.Missing(); err != nil {
		return err
	}
	return e.rewrap(ctx, main, keys, wrapper)
}

// rewrapByFile makes a new key. No service may run meanwhile: it would go on with the key that it has read.
func rewrapByFile(ctx context.Context, e Env) (err error) {
	backend, err := process.OpenEmbedded(ctx, e.Config.Data, true, time.Now)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, backend.Close()) }()
	path := filepath.Join(e.Config.Data, process.VaultFile)
	if err := vault.AddFileKey(path); err != nil {
		return err
	}
	wrapper, err := vault.OpenFileKey(path)
	if err != nil {
		return err
	}
	if err := e.rewrap(ctx, backend.Store, vault.StoreKeys{Store: backend.Store}, wrapper); err != nil {
		return err
	}
	return vault.DropFormerFileKeys(path)
}

// errNotRewrapped ends the command; why stands in its output.
var errNotRewrapped = errors.New("not every data key was wrapped anew, so the former key is still needed: see above, and repeat the command")

func (e Env) rewrap(ctx context.Context, st store.Store, keys vault.StoreKeys, w vault.Rewrapper) error {
	out := json.NewEncoder(e.Out)
	sum, err := vault.Rewrap(ctx, ids(ctx, st), keys, w, func(company string, err error) {
		_ = out.Encode(map[string]string{"company": company, "error": err.Error()}) // the count tells of it too
	})
	if err != nil {
		return fmt.Errorf("%w: %w", errNotRewrapped, err)
	}
	if err := out.Encode(sum); err != nil {
		return err
	}
	if sum.Failed > 0 {
		return errNotRewrapped
	}
	return nil
}

func ids(ctx context.Context, st store.Store) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for item, err := range company.Registered(ctx, st) {
			if !yield(item.Key, err) {
				return
			}
		}
	}
}
