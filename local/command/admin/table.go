package admin

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"orgops/shared/base/awsclient"
	"orgops/shared/domain/company"
	"orgops/shared/insight/rebuild"
	"orgops/shared/run/cloud"
	"orgops/shared/run/config"
	"orgops/shared/storage/store"
	"orgops/shared/storage/store/dynamostore"
)

const (
	restoreWithin = 12 * time.Hour  // AWS's restore and the rebuilding of contexts
	restoreLook   = 5 * time.Second // pause between two looks at the table
)

// restoredTable reports a restored table.
type restoredTable struct {
	Table        string   `json:"table"`
	StreamARN    string   `json:"streamArn,omitempty"`
	Contexts     int      `json:"contexts"`               // rebuilt
	ErasedSince  []string `json:"erasedSince,omitempty"`  // companies that the restore has brought back
	CreatedSince []string `json:"createdSince,omitempty"` // companies that the restored table does not have
	Deploy       string   `json:"deploy"`                 // the context value that points the stack at the table
}

// restoreTable restores one of the stack's tables as another table, which no stack uses until it is deployed with the printed
// context value.
func restoreTable(ctx context.Context, e Env, flags *flag.FlagSet, args []string) error {
	which := flags.String("table", "", "main or keys (required)")
	to := flags.String("to", "", "the name of the restored table (required)")
	at := flags.String("at", "", "the moment to restore, such as 2026-11-25T19:00:00Z; default: the latest one, about five minutes ago")
	if err := parse(flags, args); err != nil {
		return err
	}
	var moment time.Time
	if *at != "" {
		var err error
		if moment, err = time.Parse(time.RFC3339, *at); err != nil {
			return fmt.Errorf("--at: %q is not a time such as 2026-11-25T19:00:00Z", *at)
		}
	}
	if e.Config.Backend != config.AWS {
		return errors.New("only a stack on AWS has tables to restore; of a data folder, restore your copy of the folder")
	}
	c, err := cloud.Read(e.Getenv)
	if err != nil {
		return err
	}
	from, ok := map[string]string{"main": c.Need("ORGOPS_TABLE", c.Settings.Table), "keys": c.Need("ORGOPS_KEYS_TABLE", c.Settings.KeysTable)}[*which]
	switch {
	case !ok:
		return errors.New("--table: pass main or keys")
	case *to == "" || *to == from:
		return errors.New("--to: pass the name of a table that does not exist yet")
	}
	if err := c.Missing(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, restoreWithin)
	defer cancel()
	e.tell("restoring %s as %s; AWS needs 20 minutes or more", from, *to)
	stream, err := dynamostore.Restore(ctx, c.Access, dynamostore.Restoration{From: from, To: *to, At: moment, Stream: *which == "main", Look: restoreLook})
	if err != nil {
		return err
	}
	done := restoredTable{Table: *to, StreamARN: stream, Deploy: "-c keysTable=" + *to}
	if *which == "main" {
		done.Deploy = "-c mainTable=" + stream
		if err := done.settle(ctx, e, c.Access, from); err != nil {
			return err
		}
	}
	return json.NewEncoder(e.Out).Encode(done)
}

// settle rebuilds the contexts of a restored main table, and compares its companies with those of the former table.
func (r *restoredTable) settle(ctx context.Context, e Env, access awsclient.Access, from string) error {
	open := func(table string) store.Store {
		return dynamostore.New(access, dynamostore.Options{Table: table, Logger: slog.New(slog.DiscardHandler)})
	}
	restored, former := open(r.Table), open(from)
	now, err := companies(ctx, restored)
	if err != nil {
		return err
	}
	was, err := companies(ctx, former)
	if err != nil {
		return err
	}
	for _, id := range now {
		out, err := rebuild.Restored(ctx, store.For(restored, id), time.Now)
		if err != nil {
			return fmt.Errorf("rebuild the context of company %s; repeat the command, which continues: %w", id, err)
		}
		if out.Damaged != "" {
			e.tell("%s: %s", id, out.Damaged)
		}
		r.Contexts++
	}
	r.ErasedSince, r.CreatedSince = without(now, was), without(was, now)
	return nil
}

// companies returns the ids of a table's companies, in order.
func companies(ctx context.Context, st store.Store) ([]string, error) {
	var all []string
	for item, err := range company.Registered(ctx, st) {
		if err != nil {
			return nil, err
		}
		all = append(all, item.Key)
	}
	slices.Sort(all)
	return all, nil
}

// without returns what is in all and not in others, which is in order.
func without(all, others []string) []string {
	var left []string
	for _, one := range all {
		if _, found := slices.BinarySearch(others, one); !found {
			left = append(left, one)
		}
	}
	return left
}
