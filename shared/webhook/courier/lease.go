package courier

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"orgops/shared/base/wait"
	"orgops/shared/domain/integration"
	"orgops/shared/storage/store"
)

// lease holds this process's part of an endpoint's bounds. It takes its part from the item that all processes share, by
// conditional writes. If the store does not answer, no attempt begins that needs a write.
type lease struct {
	company  store.Company
	provider string
	key      string // of the shared item
	process  string
	now      func() time.Time
	logger   *slog.Logger
	random   func() float64

	waiting  atomic.Int32 // callers of admit that wait for their turn or have it
	outcomes outcomes

	turn     chan struct{} // full while a goroutine uses what follows; a test's virtual time passes while others wait for it
	seen     sharedBounds  // as last read or written
	version  int64         // of the item; 0: absent
	seenAt   time.Time
	away     time.Time // the store has failed: do not ask it before
	tokens   []time.Time
	inFlight int
	latency  time.Duration // of the last answer
	line     line          // of the deliveries that found no slot
}

const (
	seenFresh    = time.Second // how long what was read serves; a breaker that another process opens is noticed after this time
	partInHand   = 4           // a caller with many deliveries takes the tokens of this part of a second at once,
	leastInHand  = 4           // and at least so many
	leaseTries   = 4           // writes that may lose against other processes, before the delivery waits
	apart        = 200 * time.Millisecond
	leaseTimeout = 2 * time.Second // of one call to the store
)

// demand says what an attempt needs.
type demand struct {
	rate   int // attempts a second; 0: no limit
	free   int // attempts in flight of this process that need no lease
	budget time.Duration
	spread func(at, now time.Time) time.Time // spaces attempts that must wait at the rate
	inHand int                               // deliveries that the caller has; it asks again itself, and needs no turn
}

// admit waits up to a second for the attempt's token, and reports whether the attempt may begin. If it may, the caller calls
// done after it. If it may not, until is the time to ask again. Attempts that ask at the same moment get their times in the
// order of their turns.
func (l *lease) admit(ctx context.Context, d demand) (until time.Time, ok bool) {
	token, until, ok := l.take(ctx, d)
	if !ok || d.rate == 0 {
		return until, ok
	}
	from, to := timely(token, d.rate)
	if wait.For(ctx, from.Sub(l.now())) && !l.now().After(to) {
		return time.Time{}, true
	}
	l.leave(ctx) // too late: the token is lost
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	return l.postpone(l.now(), d), false
}

// take waits for its turn and takes what an attempt needs.
func (l *lease) take(ctx context.Context, d demand) (token, until time.Time, ok bool) {
	l.waiting.Add(1)
	l.turn <- struct{}{}
	defer func() {
		l.waiting.Add(-1)
		<-l.turn
	}()
	if token, until, ok = l.try(ctx, d); !ok {
		until = l.postpone(until, d)
	}
	return token, until, ok
}

// postpone returns when an attempt that is refused until a time asks again. If only slots are missing, it stands in line. The
// caller has the turn.
func (l *lease) postpone(until time.Time, d demand) time.Time {
	if d.inHand > 0 {
		return until
	}
	now, least := l.now(), spillDelay(l.random)
	at := d.spread(until, now).Add(least)
	if until.After(now) {
		return at
	}
	if placed := l.line.place(now, pace{slots: l.inFlight, most: l.inFlight, latency: l.latency}, least); placed.After(at) {
		return placed
	}
	return at
}

// try takes what an attempt needs: from what the process has, or else from the shared item.
func (l *lease) try(ctx context.Context, d demand) (token, until time.Time, ok bool) {
	for range leaseTries {
		now := l.now().UTC()
		if now.Before(l.away) {
			return time.Time{}, l.away, false
		}
		if age := now.Sub(l.seenAt); age < 0 || age > seenFresh {
			if err := l.read(ctx); err != nil {
				continue
			}
		}
		l.tokens = slices.DeleteFunc(l.tokens, func(t time.Time) bool { return t.Add(late).Before(now) })
		a := ask{now: now, process: l.process, ends: now.Add(leadTime + d.budget), slots: max(l.inFlight+1-d.free, 0), rate: d.rate}
		if len(l.tokens) == 0 {
			a.tokens = max(int(l.waiting.Load()), min(d.inHand, max(d.rate/partInHand, leastInHand)))
		}
		after, g := l.seen.take(a)
		if !g.ok {
			return time.Time{}, g.until, false
		}
		if g.write && l.write(ctx, after) != nil {
			if !wait.For(ctx, time.Duration(l.random()*float64(apart))) { // so that the processes do not write at the same moment again
				break
			}
			continue
		}
		l.tokens = append(l.tokens, g.times...)
		if d.rate > 0 {
			token, l.tokens = l.tokens[0], l.tokens[1:]
		}
		l.inFlight++
		return token, time.Time{}, true
	}
	return time.Time{}, l.now(), false
}

// done ends an admitted attempt and applies its outcome to the shared breaker, if that changes the breaker. Attempts that
// end while another outcome is written share the next write. opened reports that the breaker opened.
func (l *lease) done(ctx context.Context, o Outcome) (opened bool) {
	if o.Class != Aborted {
		l.outcomes.put(o)
	}
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	l.inFlight--
	if o.Class == Delivered {
		l.latency = o.Latency
	}
	all := l.outcomes.take()
	for range leaseTries {
		after := l.seen
		opened = false
		for _, one := range all {
			opened = after.Circuit.record(one, l.now().UTC()) || opened
		}
		if after.Circuit == l.seen.Circuit {
			return false
		}
		err := l.write(ctx, after)
		if err == nil {
			return opened
		}
		if !errors.Is(err, store.ErrConflict) || l.read(ctx) != nil {
			break
		}
	}
	l.outcomes.put(all...)
	return false
}

// broken reports whether the breaker makes attempts wait, as far as the process has seen.
func (l *lease) broken(now time.Time) bool {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	return l.seen.Circuit.state(now) != BreakerClosed
}

// leave ends an admitted attempt that was not made. If it was the probe, another attempt may be: while a probe is going on, no
// other attempt is admitted.
func (l *lease) leave(ctx context.Context) {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	l.inFlight--
	if after := l.seen; !after.Circuit.ProbeUntil.IsZero() {
		after.Circuit.ProbeUntil = time.Time{}
		_ = l.write(ctx, after) // without it, the probe expires
	}
}

// reserve leases slots for this many attempts at once, if they are free and the breaker is closed. Without it, each attempt leases
// what it needs.
func (l *lease) reserve(ctx context.Context, attempts int) {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	now := l.now().UTC()
	if age := now.Sub(l.seenAt); (age < 0 || age > seenFresh) && l.read(ctx) != nil {
		return
	}
	a := ask{now: now, process: l.process, ends: now.Add(leadTime + RetryTimeout), slots: attempts - freeRetries}
	if after, g := l.seen.take(a); g.ok && g.write && l.seen.Circuit.state(now) == BreakerClosed {
		_ = l.write(ctx, after)
	}
}

// yield gives the leased slots back, unless attempts are in flight.
func (l *lease) yield(ctx context.Context) {
	l.turn <- struct{}{}
	defer func() { <-l.turn }()
	for range leaseTries {
		if _, leased := l.seen.Slots[l.process]; !leased || l.inFlight > 0 {
			return
		}
		after := l.seen
		after.Slots = maps.Clone(after.Slots)
		delete(after.Slots, l.process)
		if err := l.write(ctx, after); !errors.Is(err, store.ErrConflict) || l.read(ctx) != nil {
			return
		}
	}
}

// saw takes over what a query that began at a time has read, unless the process has seen newer bounds.
func (l *lease) saw(item store.Item, at time.Time) {
	select {
	case l.turn <- struct{}{}:
	default:
		return // another goroutine reads or writes
	}
	defer func() { <-l.turn }()
	if at.After(l.seenAt) || at.Equal(l.seenAt) && item.Version > l.version {
		l.apply(item, at)
	}
}

// apply decodes the item. Bounds that cannot be decoded count as unused, so that they do not block the endpoint.
func (l *lease) apply(item store.Item, at time.Time) {
	l.seen, l.version, l.seenAt = sharedBounds{}, item.Version, at
	if item.Version == 0 {
		return
	}
	if err := item.Decode(&l.seen); err != nil {
		l.logger.Error("shared bounds not usable", "company", l.company.ID(), "provider", l.provider, "error", err)
		l.seen = sharedBounds{}
	}
}

func (l *lease) read(ctx context.Context) error {
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
func (l *lease) write(ctx context.Context, b sharedBounds) error {
	ctx, cancel := context.WithTimeout(ctx, leaseTimeout)
	defer cancel()
	now := l.now().UTC()
	op := l.company.Save(l.key, integration.BoundsEntity, l.version, b).Until(b.kept(now)).Quietly()
	err := l.company.Commit(ctx, op)
	switch {
	case err == nil:
		l.seen, l.version, l.seenAt = b, l.version+1, now
	case errors.Is(err, store.ErrConflict):
		l.seenAt = time.Time{}
	default:
		l.seenAt = time.Time{} // the outcome may be unknown
		l.failed(ctx, err)
	}
	return err
}

// failed notes that the store has failed, so that attempts do not all wait for it.
func (l *lease) failed(ctx context.Context, err error) {
	l.away = l.now().UTC().Add(time.Second)
	l.logger.WarnContext(ctx, "shared bounds not read or written", "company", l.company.ID(), "provider", l.provider, "error", err)
}

// outcomes collects the outcomes that are not yet in the shared item.
type outcomes struct {
	mu  sync.Mutex
	all []Outcome
}

// maxOutcomes limits the outcomes kept while the store fails. More would not change the breaker.
const maxOutcomes = 2 * breakAfter

func (s *outcomes) put(o ...Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = append(s.all, o...)
	s.all = s.all[max(len(s.all)-maxOutcomes, 0):]
}

func (s *outcomes) take() []Outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.all
	s.all = nil
	return all
}
