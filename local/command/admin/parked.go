package admin

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"time"

	"orgops/functions/dispatcher"
	"orgops/functions/ticker"
	"orgops/shared/domain/company"
	"orgops/shared/domain/parked"
	"orgops/shared/identity/password"
	"orgops/shared/storage/store"
	"orgops/shared/storage/store/dynamostore"
)

// parkedLine shows a parked change without its images.
type parkedLine struct {
	Company  string         `json:"company"`
	ID       string         `json:"id"`
	Consumer string         `json:"consumer"`
	Entity   string         `json:"entity"`
	Key      string         `json:"key"`
	Sequence store.Sequence `json:"sequence"`
	At       time.Time      `json:"at"`
	ParkedAt time.Time      `json:"parkedAt"`
	Reason   string         `json:"reason"`
	Retries  int            `json:"retries"`
	Error    string         `json:"error,omitempty"` // why retry did not give it back
}

func lineOf(companyID string, p parked.Change) parkedLine {
	return parkedLine{
		Company: companyID, ID: p.ID, Consumer: p.Consumer, Entity: p.Entity, Key: p.Key, Sequence: p.Sequence,
		At: p.At, ParkedAt: p.ParkedAt, Reason: p.Reason, Retries: p.Retries,
	}
}

// listParked prints a line for each parked change.
func listParked(ctx context.Context, e Env, flags *flag.FlagSet, args []string) error {
	only := flags.String("company", "", "the company's id; without it, every company")
	if err := parse(flags, args); err != nil {
		return err
	}
	out := json.NewEncoder(e.Out)
	return with(ctx, e, func(st store.Store, _ *password.Hasher) error {
		return eachParked(ctx, st, *only, func(c store.Company, _ store.Item, p parked.Change) error {
			return out.Encode(lineOf(c.ID(), p))
		})
	})
}

// errNotRetried ends the command with an error; the lines before it give the reasons.
var errNotRetried = errors.New("some parked changes were not given back; see the errors above")

// retryParked gives parked changes to their consumer again, and prints a line for each.
func retryParked(ctx context.Context, e Env, flags *flag.FlagSet, args []string) error {
	only := flags.String("company", "", "the company's id; without it, every company")
	one := flags.String("id", "", "the id of one parked change; without it, all")
	if err := parse(flags, args); err != nil {
		return err
	}
	out, failed := json.NewEncoder(e.Out), false
	err := with(ctx, e, func(st store.Store, _ *password.Hasher) error {
		return eachParked(ctx, st, *only, func(c store.Company, item store.Item, p parked.Change) error {
			if *one != "" && p.ID != *one {
				return nil
			}
			line := lineOf(c.ID(), p)
			if err := giveBack(ctx, c, item, p); err != nil {
				line.Error, failed = err.Error(), true
			} else {
				line.Retries++
			}
			return out.Encode(line)
		})
	})
	if err == nil && failed {
		return errNotRetried
	}
	return err
}

// resetTimer sets a parked timer again, which is due at once.
func resetTimer(ctx context.Context, c store.Company, item store.Item, p parked.Change, now time.Time) error {
	original, err := p.Original(c.ID())
	if err != nil {
		return err
	}
	var timer store.Timer
	if err := (store.Item{Key: p.Key, Body: original.New.Body}).Decode(&timer); err != nil {
		return err
	}
	return store.Fault(c.Commit(ctx, c.TimerWith(now, timer.Kind, timer.Subject, timer.Data), c.Delete(item.Key, parked.Entity, item.Version).Quietly()), "it is gone")
}

// giveBack writes a parked change so that the feed carries it to its consumer, which removes it when all of its work is done.
// The projector takes none back: it has folded later changes, and an earlier one must not overwrite them.
func giveBack(ctx context.Context, c store.Company, item store.Item, p parked.Change) error {
	if p.Consumer == ticker.Consumer {
		return resetTimer(ctx, c, item, p, time.Now())
	}
	if p.Consumer != dispatcher.Consumer {
		return fmt.Errorf("the %s folds changes in order; build the context from the records instead: orgops admin context rebuild --company %s", p.Consumer, c.ID())
	}
	if r := p.Record; r != nil {
		before, after := r.Attributes()
		change, ok, err := dynamostore.Record{Sequence: r.Sequence, Created: r.Created, Old: before, New: after}.Change()
		if err != nil {
			return err
		}
		if !ok { // no consumer receives it
			return c.Commit(ctx, c.Delete(item.Key, parked.Entity, item.Version).Quietly())
		}
		p = p.WithImages(change)
	}
	if _, err := p.Original(c.ID()); err != nil {
		return err
	}
	p.Retries++
	return store.Fault(c.Commit(ctx, c.Replace(item.Key, parked.Entity, item.Version, p).Until(item.Expires)), "it is gone")
}

// eachParked calls do for each parked change of a company, or of every company if the id is empty.
func eachParked(ctx context.Context, st store.Store, companyID string, do func(store.Company, store.Item, parked.Change) error) error {
	if companyID != "" {
		return parkedOf(ctx, store.For(st, companyID), do)
	}
	for entry, err := range company.Registered(ctx, st) {
		if err != nil {
			return err
		}
		if err := parkedOf(ctx, store.For(st, entry.Key), do); err != nil {
			return err
		}
	}
	return nil
}

func parkedOf(ctx context.Context, c store.Company, do func(store.Company, store.Item, parked.Change) error) error {
	for item, err := range c.Items(ctx, store.Query{Prefix: parked.Prefix}) {
		if err != nil {
			return err
		}
		p, err := parked.Decode(item.Body)
		if err != nil {
			return fmt.Errorf("%s of company %s: %w", item.Key, c.ID(), err)
		}
		if err := do(c, item, p); err != nil {
			return err
		}
	}
	return nil
}
