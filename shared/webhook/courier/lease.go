package courier

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"orgops/shared/base/wait"
	"orgops/shared/domain/integration"
	"orgops/shared/storage/store"
	"orgops/shared/webhook/breaker"
	"orgops/shared/webhook/post"
)

// lease is the home of a process that shares an endpoint with others. It takes its part of the bounds from their item, by
// conditional writes. If the store does not answer, no attempt begins that needs a write.
type lease struct {
	vitals
	company  store.Company
	provider string
	key      string // of the item
	process  string
	logger   *slog.Logger

	waiting atomic.Int32  // callers of admit that wait for the lock or have it
	results []post.Result // not yet in the item; guarded by vitals

	lock     chan struct{} // full while a goroutine uses what follows; a test's virtual time passes while others wait for it
	bounds   bounds        // as last read or written
	version  int64         // of the item; 0: absent
	seenAt   time.Time
	away     time.Time // the store has failed: do not ask it before
	tokens   []time.Time
	inFlight int
	latency  time.Duration // of the last answer
	comeback comeback      // of the deliveries that found no slot
}

const (
	seenFresh    = time.Second // how long what was read serves; a breaker that another process opens is noticed after this time
	partInHand   = 4           // a caller with many deliveries takes the tokens of this part of a second at once,
	leastInHand  = 4           // and at least so many
	leaseTries   = 4           // writes that may lose against other processes, before the delivery waits
	apart        = 200 * time.Millisecond
	leaseTimeout = 2 * time.Second // of one call to the store
)

// admit waits up to a second for the attempt's token. Attempts that ask at the same moment get their times in the order in which they
// get the lock.
func (l *lease) admit(ctx context.Context, t *Task) (by time.Time, ok bool) {
	token, until, ok := l.take(ctx, t)
	switch {
	case !ok:
		return until, false
	case t.Endpoint.RateLimit == 0:
		return l.now().Add(leadTime), true
	}
	from, to := timely(token, t.Endpoint.RateLimit)
	if wait.For(ctx, from.Sub(l.now())) && !l.now().After(to) {
		return l.now().Add(late), true
	}
	l.leave(ctx) // too late: the token is lost
	l.lock <- struct{}{}
	defer func() { <-l.lock }()
	return l.postpone(l.now(), t), false
}

// take waits for the lock and takes what an attempt needs.
func (l *lease) take(ctx context.Context, t *Task) (token, until time.Time, ok bool) {
	l.waiting.Add(1)
	l.lock <- struct{}{}
	defer func() {
		l.waiting.Add(-1)
		<-l.lock
	}()
	if token, until, ok = l.try(ctx, t); !ok {
		until = l.postpone(until, t)
	}
	return token, until, ok
}

// postpone returns when an attempt that is refused until a time asks again. If only slots are missing, it comes back after the others. The
// caller has the lock.
func (l *lease) postpone(until time.Time, t *Task) time.Time {
	if t.InHand > 0 {
		return until
	}
	now, least := l.now(), spillDelay(l.random)
	l.mu.Lock()
	at := l.spaced(until, now, t.Endpoint.RateLimit).Add(least)
	l.mu.Unlock()
	if until.After(now) {
		return at
	}
	return wait.Later(at, l.comeback.place(now, l.inFlight, l.inFlight, l.latency, least))
}

// try takes what an attempt needs: from what the process has, or else from the shared item.
func (l *lease) try(ctx context.Context, t *Task) (token, until time.Time, ok bool) {
	for range leaseTries {
		now := l.now().UTC()
		if now.Before(l.away) {
			return time.Time{}, l.away, false
		}
		if l.freshen(ctx) != nil {
			continue
		}
		l.tokens = slices.DeleteFunc(l.tokens, func(token time.Time) bool { return token.Add(late).Before(now) })
		n := need{now: now, process: l.process, ends: now.Add(leadTime + t.budget), slots: max(l.inFlight+1-t.free, 0), more: min(t.InHand, firstWindow), rate: t.Endpoint.RateLimit, lead: leadTime}
		if len(l.tokens) == 0 {
			n.tokens = max(int(l.waiting.Load()), min(t.InHand, max(t.Endpoint.RateLimit/partInHand, leastInHand)))
		}
		after := l.bounds
		times, until, changed, ok := after.take(n)
		if !ok {
			return time.Time{}, until, false
		}
		if changed && l.write(ctx, after) != nil {
			if !wait.For(ctx, time.Duration(l.random()*float64(apart))) { // so that the processes do not write at the same moment again
				break
			}
			continue
		}
		l.tokens = append(l.tokens, times...)
		if t.Endpoint.RateLimit > 0 {
			token, l.tokens = l.tokens[0], l.tokens[1:]
		}
		l.inFlight++
		return token, time.Time{}, true
	}
	return time.Time{}, l.now(), false
}

// done stores the result if it changes the breaker. Attempts that end while another result is written share the next write.
func (l *lease) done(ctx context.Context, r post.Result, started time.Time) (was, is breaker.Circuit) {
	if l.counts(r, started) {
		l.put(r)
	}
	l.lock <- struct{}{}
	defer func() { <-l.lock }()
	l.inFlight--
	if r.Class == post.Delivered {
		l.latency = r.Latency
	}
	all := l.collect()
	err := l.store(ctx, func(b *bounds, now time.Time, _ string) bool {
		was = l.bounds.Circuit
		for _, one := range all {
			b.Circuit.Record(one, now)
		}
		is = b.Circuit
		return was != is
	})
	if err != nil {
		l.put(all...)
		return was, was
	}
	return was, is
}

// leave ends the probe if there is one: while a probe is going on, no other attempt is admitted.
func (l *lease) leave(ctx context.Context) {
	l.lock <- struct{}{}
	defer func() { <-l.lock }()
	l.inFlight--
	_ = l.store(ctx, unprobe) // without it, the probe expires
}

func (l *lease) seen(ctx context.Context, fresh bool) (_ bounds, err error) {
	l.lock <- struct{}{}
	defer func() { <-l.lock }()
	if fresh {
		err = l.refresh(ctx)
	}
	return l.bounds, err
}

func (l *lease) change(ctx context.Context, change func(*bounds, time.Time, string) bool) error {
	l.lock <- struct{}{}
	defer func() { <-l.lock }()
	if err := l.freshen(ctx); err != nil {
		return err
	}
	return l.store(ctx, change)
}

// freshen reads the item, unless what was read serves now.
func (l *lease) freshen(ctx context.Context) error {
	if age := l.now().Sub(l.seenAt); age >= 0 && age <= seenFresh {
		return nil
	}
	return l.refresh(ctx)
}

// store applies a change and writes the item if it returns true. After a conflict it reads the item and tries again. The caller has
// the lock.
func (l *lease) store(ctx context.Context, change func(*bounds, time.Time, string) bool) (err error) {
	idle := ""
	if l.inFlight == 0 {
		idle = l.process
	}
	for range leaseTries {
		after := l.bounds
		if !change(&after, l.now().UTC(), idle) {
			return nil
		}
		if err = l.write(ctx, after); !errors.Is(err, store.ErrConflict) {
			return err
		}
		if err := l.refresh(ctx); err != nil {
			return err
		}
	}
	return err
}

// saw takes over what a query that began at a time has read, unless the process has seen newer bounds.
func (l *lease) saw(item *store.Item, at time.Time) {
	if item == nil {
		return
	}
	select {
	case l.lock <- struct{}{}:
	default:
		return // another goroutine reads or writes
	}
	defer func() { <-l.lock }()
	if at.After(l.seenAt) || at.Equal(l.seenAt) && item.Version > l.version {
		l.apply(*item, at)
	}
}

// apply decodes the item. Bounds that cannot be decoded count as unused, so that they do not block the endpoint.
func (l *lease) apply(item store.Item, at time.Time) {
	l.bounds, l.version, l.seenAt = bounds{}, item.Version, at
	if item.Version == 0 {
		return
	}
	if err := item.Decode(&l.bounds); err != nil {
		l.logger.Error("shared bounds not usable", "company", l.company.ID(), "provider", l.provider, "error", err)
		l.bounds = bounds{}
	}
}

func (l *lease) refresh(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, leaseTimeout)
	defer cancel()
	at := l.now().UTC()
	item, err := l.company.Get(ctx, l.key, nil)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		l.failed(ctx, err)
		return err
	}
	l.apply(item, at)
	return nil
}

// write stores bounds in place of those seen. After ErrConflict the next take reads the item again.
func (l *lease) write(ctx context.Context, b bounds) error {
	ctx, cancel := context.WithTimeout(ctx, leaseTimeout)
	defer cancel()
	now := l.now().UTC()
	op := l.company.Save(l.key, integration.BoundsEntity, l.version, b).Until(b.kept(now)).Quietly()
	err := l.company.Commit(ctx, op)
	if err == nil {
		l.bounds, l.version, l.seenAt = b, l.version+1, now
		return nil
	}
	l.seenAt = time.Time{} // another process has written, or the outcome may be unknown
	if !errors.Is(err, store.ErrConflict) {
		l.failed(ctx, err)
	}
	return err
}

// failed notes that the store has failed, so that attempts do not all wait for it.
func (l *lease) failed(ctx context.Context, err error) {
	l.away = l.now().UTC().Add(time.Second)
	l.logger.WarnContext(ctx, "shared bounds not read or written", "company", l.company.ID(), "provider", l.provider, "error", err)
}

// maxResults limits the results kept while the store fails. More would not change the breaker.
const maxResults = 2 * breaker.After

// put keeps results until they are in the item.
func (l *lease) put(all ...post.Result) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.results = append(l.results, all...)
	l.results = l.results[max(len(l.results)-maxResults, 0):]
}

// collect returns the results that are not yet in the item, and forgets them.
func (l *lease) collect() []post.Result {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.results
	l.results = nil
	return all
}
