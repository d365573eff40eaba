package courier

import (
	"context"
	"errors"
	"log/slog"
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
	process  string
	now      func() time.Time
	logger   *slog.Logger

	waiting  atomic.Int32 // callers of admit that wait for their turn or have it
	outcomes outcomes

	turn     chan struct{} // full while a goroutine uses what follows; a test's virtual time passes while others wait for it
	seen     sharedBounds  // as last read or written
	version  int64         // of the item; 0: absent
	seenAt   time.Time
	away     time.Time // the store has failed: do not ask it before
	tokens   []time.Time
	inFlight int
}

const (
	seenFresh    = time.Second     // how long what was read serves; a breaker that another process opens is noticed after this time
	leaseTries   = 3               // writes that may lose against other processes, before the delivery waits
	leaseTimeout = 2 * time.Second // of one call to the store
)

// demand says what an attempt needs.
type demand struct {
	rate   int // attempts a second; 0: no limit
	free   int // attempts in flight of this process that need no lease
	budget time.Duration
}

// admit waits up to a second for the attempt's token, and reports whether the attempt may begin. If it may, the caller calls
// done after it. If it may not, until is the time to ask again.
func (l *lease) admit(ctx context.Context, d demand) (until time.Time, ok bool) {
	token, until, ok := l.take(ctx, d)
	if !ok || d.rate == 0 {
		return until, ok
	}
	from, to := timely(token, d.rate)
	if wait.For(ctx, from.Sub(l.now())) && !l.now().After(to) {
		return time.Time{}, true
	}
	l.leave() // too late: the token is lost
	return l.now(), false
}

// take takes what an attempt needs: from what the process has, or else from the shared item.
func (l *lease) take(ctx context.Context, d demand) (token, until time.Time, ok bool) {
	l.waiting.Add(1)
	l.turn <- struct{}{}
	defer func() {
		l.waiting.Add(-1)
		<-l.turn
	}()
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
			a.tokens = int(l.waiting.Load())
		}
		after, g := l.seen.take(a)
		if !g.ok {
			return time.Time{}, g.until, false
		}
		if g.write && l.write(ctx, after) != nil {
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

// leave ends an admitted attempt that was not made.
func (l *lease) leave() {
	l.turn <- struct{}{}
	l.inFlight--
	<-l.turn
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
	item, err := l.company.Get(ctx, integration.BoundsKey(l.provider), nil)
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
	op := l.company.Save(integration.BoundsKey(l.provider), integration.BoundsEntity, l.version, b).Until(now.Add(boundsKept)).Quietly()
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
