package process

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"orgops/shared/base/id"
	"orgops/shared/base/wait"
	"orgops/shared/storage/store"
)

// Only one process consumes a table's feed. Two processes would each hand out every change, and every delivery would be sent
// twice. The process holds a lease, which is an item of the table, and renews it. Processes do not compare clocks. A process
// that finds the lease of another process watches it for leaseLasts. It takes the lease over only if the other process has
// not renewed it in that time.
const (
	leaseKey    = "SERVING"
	leaseEntity = "lease"
	renewEvery  = 2 * time.Second
	leaseLasts  = 8 * time.Second
)

// lease grants the right to consume a table's feed and to work its queues.
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

// take acquires the lease. If another process holds the lease and has stopped renewing it, take waits until the lease
// expires. If the other process still renews the lease, take returns an error at the next renewal.
func (l *lease) take(ctx context.Context) error {
	var seen int64 // version of the other process's lease when first read
	var since time.Time
	for {
		other, version, err := l.read(ctx)
		switch {
		case err != nil:
			return err
		case version == 0:
			seen = 0
		case seen == 0:
			seen, since = version, time.Now()
			l.logger.WarnContext(ctx, "table lease held by another process; waiting for it to expire", "holder", other.Holder, "since", other.Since, "expires_in", l.lasts)
		case version != seen:
			return fmt.Errorf("the table has been served by %s since %s; stop that process first", other.Holder, other.Since.Format(time.RFC3339))
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

// read returns the current lease; version 0 means no lease.
func (l *lease) read(ctx context.Context) (body leaseBody, version int64, err error) {
	item, err := l.store.Get(ctx, store.System(), leaseKey)
	if errors.Is(err, store.ErrNotFound) {
		return body, 0, nil
	}
	if err != nil {
		return body, 0, err
	}
	return body, item.Version, json.Unmarshal(item.Body, &body)
}

// write acquires or renews the lease if it is at the given version.
func (l *lease) write(ctx context.Context, version int64) error {
	err := l.store.Commit(ctx, store.System().Entry(leaseKey, leaseEntity, version, l.body))
	if err == nil {
		l.version = version + 1
	}
	return err
}

// keep renews the lease until ctx ends. It returns an error if another process has taken the lease over.
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

// renew tries once. It ignores the end of ctx, because release must know the version that renew wrote. If the store does not
// answer within a quarter of the lease, the next renewal tries again.
func (l *lease) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.lasts/4)
	defer cancel()
	err := l.write(ctx, l.version)
	if errors.Is(err, store.ErrConflict) { // another process took the lease, or the answer to an earlier renewal was lost
		var now leaseBody
		var version int64
		if now, version, err = l.read(ctx); err == nil {
			if version > 0 && now.ID != l.body.ID {
				return fmt.Errorf("the table is now served by %s; this process did not renew its lease in time", now.Holder)
			}
			l.version = version
		}
	}
	if err != nil {
		l.logger.WarnContext(ctx, "table lease not renewed; retrying", "error", err)
	}
	return nil
}

// release ends the lease if this process still holds it, so that the next process need not wait.
func (l *lease) release(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, l.lasts)
	defer cancel()
	op := store.Op{
		Partition: store.System(), Key: leaseKey, Entity: leaseEntity, Action: store.Delete, Condition: store.IfVersion, Version: l.version, Quiet: true,
	}
	if err := l.store.Commit(ctx, op); err != nil && !errors.Is(err, store.ErrConflict) {
		return fmt.Errorf("release the table lease: %w", err)
	}
	return nil
}
