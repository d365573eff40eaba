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
	"orgops/shared/domain/company"
	"orgops/shared/domain/integration"
	"orgops/shared/run/cloud"
	"orgops/shared/run/cloud/dynamodb"
	"orgops/shared/run/cloud/kms"
	"orgops/shared/run/config"
	"orgops/shared/storage/store"
	"orgops/shared/storage/vault"
)

// rewrapKeys prints a line for each company that failed, and the totals in the last line.
func rewrapKeys(ctx context.Context, e Env, flags *flag.FlagSet, args []string) error {
	if err := parse(flags, args); err != nil {
		return err
	}
	if e.Config.Backend == config.AWS {
		return rewrapByKMS(ctx, e)
	}
	return rewrapByFile(ctx, e)
}

// rewrapByKMS rewraps from the keys of ORGOPS_FORMER_WRAPPING_KEYS to that of ORGOPS_WRAPPING_KEY.
func rewrapByKMS(ctx context.Context, e Env) error {
	c, err := cloud.Read(e.Getenv)
	if err != nil {
		return err
	}
	main, keys, wrapper := dynamodb.Main(c), vault.StoreKeys{Store: dynamodb.Keys(c)}, kms.Wrapper(c)
	if err := c.Missing(); err != nil {
		return err
	}
	if len(c.Settings.FormerKeys) == 0 {
		e.tell("ORGOPS_FORMER_WRAPPING_KEYS is not set: only data keys that ORGOPS_WRAPPING_KEY wrapped can be unwrapped")
	}
	return e.rewrap(ctx, main, keys, wrapper, kms.Vault(c))
}

// rewrapByFile creates a new key. No service may run meanwhile, because a running service keeps the key that it read at its
// start.
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
	keys := vault.StoreKeys{Store: backend.Store}
	if err := e.rewrap(ctx, backend.Store, keys, wrapper, vault.New(wrapper, keys, nil)); err != nil {
		return err
	}
	return vault.DropFormerFileKeys(path)
}

// errNotRewrapped ends the command with an error; the lines before it give the reasons.
var errNotRewrapped = errors.New("some data keys were not rewrapped, so the former key is still needed; see the errors above and repeat the command")

// rewrapped counts what the command did: companies by their data key, and the integrations whose secrets it sealed again.
type rewrapped struct {
	vault.Rewrapped
	Resealed int `json:"resealed"` // integrations whose secrets release 0.1.0 sealed as one text
}

func (r *rewrapped) reseal(ctx context.Context, c store.Company, v vault.Vault) error {
	n, err := integration.Reseal(ctx, c, v)
	r.Resealed += n
	return err
}

func (e Env) rewrap(ctx context.Context, st store.Store, keys vault.StoreKeys, w vault.Rewrapper, v vault.Vault) error {
	out := json.NewEncoder(e.Out)
	var sum rewrapped
	broken := map[string]bool{}
	failed := func(company string, err error) {
		broken[company] = true
		_ = out.Encode(map[string]string{"company": company, "error": err.Error()}) // an error does not matter: the totals count the company too
	}
	var err error
	if sum.Rewrapped, err = vault.Rewrap(ctx, e.counted(withPersons(ctx, keys, ids(ctx, st))), keys, w, failed); err != nil {
		return fmt.Errorf("%w: %w", errNotRewrapped, err)
	}
	for company, err := range ids(ctx, st) {
		if err == nil && broken[company] {
			continue
		}
		if err == nil {
			err = sum.reseal(ctx, store.For(st, company), v)
		}
		if err != nil {
			sum.Failed++
			failed(company, err)
		}
	}
	if err := out.Encode(sum); err != nil {
		return err
	}
	if sum.Failed > 0 {
		return errNotRewrapped
	}
	return nil
}

// progressEvery sets after how many companies the command prints its progress. Rewrapping that many takes some seconds.
const progressEvery = 100

// counted reports progress as the caller iterates over companies.
func (e Env) counted(companies iter.Seq2[string, error]) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		n := 0
		for company, err := range companies {
			if !yield(company, err) {
				return
			}
			if n++; n%progressEvery == 0 {
				e.tell("%d companies processed", n)
			}
		}
	}
}

// withPersons adds the key that seals the secrets of persons, who belong to no single company, if there is one.
func withPersons(ctx context.Context, keys vault.StoreKeys, companies iter.Seq2[string, error]) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for id, err := range companies {
			if !yield(id, err) {
				return
			}
		}
		if _, err := keys.Get(ctx, company.PersonsKey); !errors.Is(err, vault.ErrNoKey) {
			yield(company.PersonsKey, err)
		}
	}
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
