package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"orgops/shared/id"
	"orgops/shared/store"
	"orgops/shared/wait"
)

// A table's feed has one reader: two would both hand out every change, and every delivery would come twice. The reader is
// who renews the lease, an item of the table. Nobody's clock is compared with another's: whoever wants a lease that is
// there watches it for as long as it lasts, and takes it over only if it was not renewed in that time.
const (
	leaseKey    = "SERVING"
	leaseEntity = "lease"
	renewEvery  = 2 * time.Second
	leaseLasts  = 8 * time.Second
)

// lease is the right to consume a table's feed and to work on its queues.
type lease struct {
	store   store.Store
	logger  *slog.Logger
	body    leaseBody
	version int64
	every   time.Duration // between renewals
	lasts   time.Duration // without a renewal
}

type leaseBody struct {
	ID     string    `json:"id"`
	Holder string    `json:"holder"`
	Since  time.Time `json:"since"`
}

func newLease(st store.Store, logger *slog.Logger, now time.Time) *lease {
	host, err := os.Hostname()
	if err != nil {
		host = "a machine without a name"
	}
	holder := fmt.Sprintf("process %d on %s", os.Getpid(), host)
	return &lease{
		store: st, logger: logger, body: leaseBody{ID: id.New(), Holder: holder, Since: now.UTC()}, every: renewEvery, lasts: leaseLasts,
	}
}

// take waits for a lease that is no longer renewed. One that is renewed is refused, within the time between renewals.
func (l *lease) take(ctx context.Context) error {
	var seen int64 // the version of another's lease when it was first looked at
	var since time.Time
	for {
		other, version, err := l.look(ctx)
		switch {
		case err != nil:
			return err
		case version == 0:
			seen = 0
		case seen == 0:
			seen, since = version, time.Now()
			l.logger.WarnContext(ctx, "the table is served, or was by a process that did not end in order; waiting to see", "by", other.Holder, "since", other.Since)
		case version != seen:
			return fmt.Errorf("the table is served by %s since %s: stop it first", other.Holder, other.Since.Format(time.RFC3339))
		}
		if version == 0 || time.Since(since) >= l.lasts {
			if err := l.write(ctx, version); !errors.Is(err, store.ErrConflict) {
				return err
			}
			continue
		}
		if !wait.For(ctx, l.every/2) {
			return ctx.Err()
		}
	}
}

// look is the lease as it is; version 0 is none.
func (l *lease) look(ctx context.Context) (body leaseBody, version int64, err error) {
	item, err := l.store.Get(ctx, store.System(), leaseKey)
	if errors.Is(err, store.ErrNotFound) {
		return body, 0, nil
	}
	if err != nil {
		return body, 0, err
	}
	return body, item.Version, json.Unmarshal(item.Body, &body)
}

// write makes the lease this process's, or renews it, where it is at a version.
func (l *lease) write(ctx context.Context, version int64) error {
	err := l.store.Commit(ctx, store.System().Entry(leaseKey, leaseEntity, version, l.body))
	if err == nil {
		l.version = version + 1
	}
	return err
}

// keep renews the lease until ctx ends. Its error is that another process has taken it over.
func (l *lease) keep(ctx context.Context) error {
	ticks := time.NewTicker(l.every)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C:
		}
		if err := l.renew(ctx); err != nil {
			return err
		}
	}
}

// renew tries once, to its end: whoever gives the lease back must know its version. What the store cannot do in a quarter
// of the lease, the next renewal may.
func (l *lease) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.lasts/4)
	defer cancel()
	err := l.write(ctx, l.version)
	if errors.Is(err, store.ErrConflict) { // or an earlier renewal was made that nobody heard of
		var now leaseBody
		var version int64
		if now, version, err = l.look(ctx); err == nil {
			if version > 0 && now.ID != l.body.ID {
				return fmt.Errorf("the table is served by %s now: this process had not renewed its lease in time", now.Holder)
			}
			l.version = version
		}
	}
	if err != nil {
		l.logger.WarnContext(ctx, "the lease of the table is not renewed", "error", err)
	}
	return nil
}

// give ends the lease if it is still this process's, so that the next one need not wait.
func (l *lease) give(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, l.lasts)
	defer cancel()
	op := store.Op{
		Partition: store.System(), Key: leaseKey, Entity: leaseEntity, Action: store.Delete, Condition: store.IfVersion, Version: l.version, Quiet: true,
	}
	if err := l.store.Commit(ctx, op); err != nil && !errors.Is(err, store.ErrConflict) {
		return fmt.Errorf("the lease of the table is not given back: %w", err)
	}
	return nil
}
