// Package projector maintains every company's context and the timeline entries that follow from changes. It consumes the
// change feed, folds the changes and commits the result.
//
// One transaction commits a context and the entries that the same changes caused, conditional on the context's version. The
// context records the sequence number of the last folded change of each shard, so a redelivered change counts once. The shards of a
// large company are followed at the same time, and their changes are gathered: see follow. Of two processes that fold into one context,
// one conflicts and tries again.
package projector

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"orgops/shared/base/metric"
	"orgops/shared/base/wait"
	"orgops/shared/domain/parked"
	"orgops/shared/domain/timeline"
	"orgops/shared/insight/projection"
	"orgops/shared/run/boot"
	"orgops/shared/storage/store"
)

// Projector folds changes into contexts. Its methods are safe for concurrent use, but the changes of a company in one
// shard must come from one caller at a time.
type Projector struct {
	Store   store.Store
	Logger  *slog.Logger
	Metrics *metric.Recorder // nil: no metrics are recorded
	Now     func() time.Time
	Random  func() float64 // jitter of waits, from [0, 1); nil: that of math/rand/v2
	Linger  time.Duration  // how long Run lets a burst gather before it folds; 0: DefaultLinger

	mu    sync.Mutex
	hot   map[string]cached  // contexts of recently changed companies, which need no read
	paces map[string]counted // of companies
}

// From makes a projector from the service's parts.
func From(s *boot.Services) *Projector {
	return &Projector{Store: s.Store, Logger: s.Logger, Metrics: s.Metrics, Now: s.Now, Random: s.Random}
}

// DefaultLinger sets how long Run lets a burst gather.
const DefaultLinger = 50 * time.Millisecond

const (
	maxHot     = 1000                                               // companies whose context is cached
	maxTries   = 25                                                 // of one commit, each after a new read
	maxEntries = store.MaxOps - 3 - maxTurns - maxTold - maxReviews // in one commit, next to the context, the items touched, timers and the recommendations
)

type cached struct {
	context projection.Context
	version int64
	at      time.Time // of its commit, if it was read
}

// Handle folds a batch. A company that fails does not affect the others. The error joins the failures. Handle parks a change
// that it does not understand, so that the change does not block the feed.
func (p *Projector) Handle(ctx context.Context, batch store.Batch) error {
	var failures []error
	for company, changes := range byCompany(batch.Changes) {
		if err := p.company(ctx, company, changes); err != nil {
			failures = append(failures, fmt.Errorf("project company %s: %w", company, err))
			continue
		}
		p.count(ctx, company, len(changes))
	}
	return errors.Join(failures...)
}

func byCompany(changes []store.Change) map[string][]store.Change {
	companies := map[string][]store.Change{}
	for _, c := range changes {
		companies[c.Company] = append(companies[c.Company], c)
	}
	return companies
}

// company folds the changes of one company. A nil error means that they are folded or parked.
func (p *Projector) company(ctx context.Context, company string, changes []store.Change) error {
	c := store.For(p.Store, company)
	asked := slices.ContainsFunc(changes, asks)
	if asked { // its company has sub-partitions
		changes = slices.DeleteFunc(slices.Clone(changes), asks)
	}
	var err error
	for tries := range maxTries {
		var conflict bool
		if conflict, err = p.follow(ctx, c, changes, asked); err == nil {
			if tries > 0 { // the others go on, so a context that was kept would be an old one
				p.forget(company)
			}
			return nil
		}
		p.forget(company)
		if !conflict || !wait.For(ctx, p.pause(tries)) {
			break
		}
	}
	if errors.Is(err, projection.ErrUnreadable) || errors.Is(err, store.ErrTooLarge) {
		return p.park(ctx, err, changes...)
	}
	return err
}

// pause returns how long to wait after a conflict: any time up to 20 ms, doubling up to a second, so that those that conflict part.
func (p *Projector) pause(tries int) time.Duration {
	random := rand.Float64
	if p.Random != nil {
		random = p.Random
	}
	return time.Duration(random() * float64(min(20*time.Millisecond<<min(tries, 10), time.Second)))
}

// park parks changes with the reason.
func (p *Projector) park(ctx context.Context, reason error, changes ...store.Change) error {
	lot := parked.Lot{Store: p.Store, Consumer: Consumer, Logger: p.Logger, Metrics: p.Metrics, Now: p.Now}
	for _, c := range changes {
		if err := lot.Park(ctx, c, reason); err != nil {
			return err
		}
	}
	return nil
}

// attempt folds and commits once; conflict reports that another process has written the context in between.
func (p *Projector) attempt(ctx context.Context, c store.Company, changes []store.Change) (conflict bool, err error) {
	was, err := p.load(ctx, c)
	if err != nil {
		return false, err
	}
	steps, entries, failures := fold(was.context, changes)
	next := steps[len(steps)-1]
	touched, err := projection.Track(c, was.version, was.context, next, changes)
	if (len(entries) > maxEntries || err != nil) && len(changes) > 1 { // more than a commit may hold: fold one half after the other
		half := len(changes) / 2
		if conflict, err = p.attempt(ctx, c, changes[:half]); err != nil {
			return conflict, err
		}
		return p.attempt(ctx, c, changes[half:])
	}
	for _, failed := range failures {
		if err := p.park(ctx, failed.Err, failed.Change); err != nil {
			return false, err
		}
	}
	if err != nil { // the rebuild cannot learn of this change
		p.Logger.WarnContext(ctx, "rebuild of a company's context ended", "company", c.ID(), "rebuild", next.Rebuilding.ID, "error", err)
		next.Rebuilding = projection.Rebuilding{}
	}
	if !next.Differs(was.context) {
		return false, nil
	}
	if !next.Gathers && next.Scattered() {
		parts, err := c.Parts(ctx)
		if err != nil {
			return false, err
		}
		next.Gathers = parts > 1
	}
	turns, told := turnings(steps)
	settled, err := settle(ctx, c, turns)
	if err != nil {
		return false, err
	}
	telling, err := tell(ctx, c, told)
	if err != nil {
		return errors.Is(err, store.ErrConflict), err
	}
	further := slices.Concat(touched, settled, telling, timers(c, was.context, next, p.Now()))
	if err := commit(ctx, c, was.version, next, entries, further); err != nil {
		return errors.Is(err, store.ErrConflict), err
	}
	p.Metrics.Since(metric.ProjectionDelay, changes[0].At)
	if next.Gathers { // other processes write it
		p.forget(c.ID())
	} else {
		p.keep(c.ID(), cached{context: next, version: was.version + 1})
	}
	return false, nil
}

// commit stores a context, its new entries and further writes. It skips an entry or a timer that exists already: an earlier
// fold of the same change wrote it, before the context was rebuilt.
func commit(ctx context.Context, c store.Company, version int64, next projection.Context, entries []timeline.Entry, further []store.Op) error {
	ops := append([]store.Op{projection.Save(c, version, next)}, further...)
	for _, e := range entries {
		ops = append(ops, e.Create(c))
	}
	for {
		err := c.Commit(store.Patiently(ctx), ops...)
		var conflict *store.ConflictError
		if !errors.As(err, &conflict) || !strings.HasPrefix(conflict.Key, timeline.Prefix) && !isTimer(c, conflict.Key) {
			return err
		}
		ops = without(ops, conflict.Key)
	}
}

func without(ops []store.Op, key string) []store.Op {
	var rest []store.Op
	for _, op := range ops {
		if op.Key != key {
			rest = append(rest, op)
		}
	}
	return rest
}

func (p *Projector) load(ctx context.Context, c store.Company) (cached, error) {
	p.mu.Lock()
	hit, ok := p.hot[c.ID()]
	p.mu.Unlock()
	if ok {
		return hit, nil
	}
	item, err := c.Get(ctx, projection.Key, nil)
	if errors.Is(err, store.ErrNotFound) {
		return cached{context: projection.Empty(c.ID())}, nil
	}
	if err != nil {
		return cached{}, err
	}
	known, err := projection.Decode(item)
	return cached{known, item.Version, item.At}, err
}

// keep caches a context. A full cache evicts an arbitrary other context, at the cost of one read.
func (p *Projector) keep(company string, c cached) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hot == nil {
		p.hot = map[string]cached{}
	}
	p.hot[company] = c
	for other := range p.hot {
		if len(p.hot) <= maxHot {
			return
		}
		if other != company {
			delete(p.hot, other)
		}
	}
}

func (p *Projector) forget(company string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.hot, company)
}
