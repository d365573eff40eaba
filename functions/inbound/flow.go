package inbound

import (
	"context"
	"errors"
	"sync"
	"time"

	"orgops/shared/storage/store"
)

// Limits of the webhooks that a company receives, all of its integrations together. They count only what its providers have
// signed, so no stranger can use them up. They keep one company from what the store serves for a key, so a company that is spread
// over sub-partitions receives as many for each.
const (
	MaxAMinute = 12_000 // in every window of a minute, on average 200 a second
	window     = time.Minute
)

// paceOf returns the time between two webhooks of a company at an even pace.
func paceOf(parts int) time.Duration { return window / time.Duration(MaxAMinute*parts) }

// A process on AWS takes its first webhooks of a company without a look at the store, so that a quiet company costs none, and
// leases the others in shares. With n processes, a company receives up to 2n a second more than the limit.
const (
	ownInterval = time.Second / 2
	ownAhead    = 10 * time.Second // 20 at once
	leasedShare = 100
	leaseLasts  = 10 * time.Second
	leaseTries  = 4
	leastWait   = time.Second // of a refused webhook, in which a flood does not ask the store
	maxFlows    = 4096
)

const (
	flowKey    = "INBOUNDRATE"
	flowEntity = "inbound-rate"
	flowKept   = time.Hour
)

// flows limits the webhooks of each company.
type flows struct {
	shared bool // other processes receive webhooks too
	mu     sync.Mutex
	of     map[string]*flow
}

// flow holds what a process may still take of a company's limit.
type flow struct {
	mu      sync.Mutex
	due     time.Time // when the next webhook is due at an even pace
	leased  int       // unused ones
	until   time.Time // when they expire
	refused time.Time // the company has no share before
}

// take takes up to n webhooks that are a pace apart, up to ahead before their time.
func take(due, now time.Time, pace, ahead time.Duration, n int) (time.Time, int) {
	if due.Before(now) {
		due = now
	}
	n = min(n, int((ahead-due.Sub(now))/pace))
	return due.Add(time.Duration(max(n, 0)) * pace), max(n, 0)
}

// admit counts a webhook. Beyond the limit it returns after which time to send it again.
func (f *flows) admit(ctx context.Context, c store.Company, now time.Time) (wait time.Duration, ok bool) {
	one := f.flow(c.ID(), now)
	one.mu.Lock()
	defer one.mu.Unlock()
	step, ahead := paceOf(1), window
	if f.shared {
		step, ahead = ownInterval, ownAhead
	}
	due, n := take(one.due, now, step, ahead, 1)
	switch {
	case n > 0:
		one.due = due
		return 0, true
	case !f.shared:
		return max(due.Sub(now)-ahead+step, leastWait), false
	case one.leased > 0 && now.Before(one.until):
		one.leased--
		return 0, true
	case now.Before(one.refused):
		return one.refused.Sub(now), false
	}
	return one.lease(ctx, c, now)
}

// lease takes a share of the limit from the item that all processes share. Without an answer of the store it admits the
// webhook, because the store then decides about its commit too.
func (f *flow) lease(ctx context.Context, c store.Company, now time.Time) (wait time.Duration, ok bool) {
	parts, err := c.Parts(ctx)
	if err != nil {
		return 0, true
	}
	pace := paceOf(parts)
	for range leaseTries {
		var shared struct {
			Due time.Time `json:"due"`
		}
		item, err := c.Get(ctx, flowKey, &shared)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return 0, true
		}
		due, n := take(shared.Due, now, pace, window, leasedShare)
		if n == 0 {
			wait = max(due.Sub(now)-window+pace, leastWait)
			f.refused = now.Add(wait)
			return wait, false
		}
		shared.Due = due
		err = c.Commit(ctx, c.Save(flowKey, flowEntity, item.Version, shared).Until(now.Add(flowKept)).Quietly())
		if err == nil {
			f.leased, f.until = n-1, now.Add(leaseLasts)
			return 0, true
		}
		if !errors.Is(err, store.ErrConflict) {
			return 0, true
		}
	}
	return 0, true // other processes have taken shares meanwhile
}

// flow returns the flow of a company. It drops those that have used up nothing when there are many.
func (f *flows) flow(company string, now time.Time) *flow {
	f.mu.Lock()
	defer f.mu.Unlock()
	one := f.of[company]
	if one != nil {
		return one
	}
	if len(f.of) >= maxFlows {
		for other, o := range f.of {
			if o.mu.TryLock() {
				if !o.due.After(now) && !o.refused.After(now) {
					delete(f.of, other)
				}
				o.mu.Unlock()
			}
		}
	}
	one = &flow{}
	f.of[company] = one
	return one
}
