package admin

import (
	"context"
	"encoding/json"
	"flag"
	"time"

	"orgops/functions/provisioner"
	"orgops/local/process"
	"orgops/shared/domain/company"
	"orgops/shared/domain/erasure"
	"orgops/shared/identity/password"
	"orgops/shared/run/cloud"
	"orgops/shared/run/cloud/dynamodb"
	"orgops/shared/run/config"
	"orgops/shared/storage/store"
	"orgops/shared/storage/vault"
)

// eraseCompany erases a company and prints the receipt. The rounds that remove what a running service has written meanwhile are
// that service's. A command that was interrupted can be repeated.
func eraseCompany(ctx context.Context, e Env, flags *flag.FlagSet, args []string) error {
	r := provisioner.Request{Action: provisioner.Erase}
	flags.StringVar(&r.CompanyID, "company", "", "the company's id (required)")
	flags.StringVar(&r.Name, "name", "", "the company's name, to confirm which company is meant (required)")
	flags.BoolVar(&r.WithoutRequest, "without-request", false, "erase the company although no founder has asked for it")
	if err := parse(flags, args); err != nil {
		return err
	}
	return e.withKeys(ctx, func(st store.Store, keys erasure.Keys) error {
		if err := e.beginErasure(ctx, st, r); err != nil {
			return err
		}
		receipt, err := erase(ctx, erasure.Eraser{Store: st, Keys: keys, Now: time.Now}, r.CompanyID, e.told("erased"))
		if err != nil {
			return err
		}
		e.tell("Backups that were made before keep the company's items, but not its secrets, until they expire.")
		return json.NewEncoder(e.Out).Encode(receipt)
	})
}

// beginErasure begins an erasure, unless an interrupted command has.
func (e Env) beginErasure(ctx context.Context, st store.Store, r provisioner.Request) error {
	_, version, err := erasure.Find(ctx, st, r.CompanyID)
	if err != nil || version > 0 {
		return err
	}
	is, _, err := company.Get(ctx, store.For(st, r.CompanyID))
	if err == nil && is.Erasing != nil {
		return nil
	}
	_, err = e.provisioner(st, password.New(), nil).Administer(ctx, r)
	return err
}

// erase runs rounds until the company is erased, and sets the timers of the later ones. It tells how many items are erased after each turn.
func erase(ctx context.Context, e erasure.Eraser, companyID string, tell func(items int)) (erasure.Receipt, error) {
	const turn = 10 * time.Second // after which the receipt is written at the latest
	for {
		receipt, done, err := e.Run(ctx, companyID, e.Now().Add(turn))
		if err != nil {
			return receipt, err
		}
		tell(receipt.Erased())
		if done {
			c := store.For(e.Store, companyID)
			return receipt, c.Commit(ctx, erasure.Later(c, e.Now())...)
		}
		if ctx.Err() != nil {
			return receipt, ctx.Err()
		}
	}
}

// withKeys opens the store and the store of data keys, calls do with them and closes them.
func (e Env) withKeys(ctx context.Context, do func(store.Store, erasure.Keys) error) error {
	if e.Config.Backend != config.AWS {
		return with(ctx, e, func(st store.Store, _ *password.Hasher) error { return do(st, vault.StoreKeys{Store: st}) })
	}
	c, err := cloud.Read(e.Getenv)
	if err != nil {
		return err
	}
	keys := dynamodb.Keys(c)
	if err := c.Missing(); err != nil {
		return err
	}
	table, err := process.OpenTable(ctx, e.Getenv, c.Logger)
	if err != nil {
		return err
	}
	return do(table, vault.StoreKeys{Store: keys})
}
