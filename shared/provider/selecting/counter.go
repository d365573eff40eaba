package selecting

import (
	"context"
	"errors"
	"sync"
	"time"

	"orgops/shared/base/id"
	"orgops/shared/domain/selection"
	"orgops/shared/storage/store"
	"orgops/shared/webhook/endpoint"
)

// Counter keeps what this process has counted of endpoints with filters or transformations, and stores it. The zero Counter is empty. It is
// safe for concurrent use.
type Counter struct {
	mu    sync.Mutex
	known map[endpoint.Key]*tally
}

// tally holds the counts of one endpoint for one day.
type tally struct {
	pending selection.Counts // guarded by Counter
	waits   bool             // a write is begun that will take what is pending; guarded by Counter

	writing sync.Mutex // held during a write; guards what follows
	stored  selection.Counts
	process string // names the item: this process, since the last conflict
	version int64
}

// maxTallies limits the endpoints in memory. At the limit, the counts begin new items.
const maxTallies = 4096

// Count counts what became of an event for an endpoint. The caller calls write, which stores the counts; after an error, the next event's
// write tries again. write is nil if a write that is begun takes what was counted: so the events of a batch share few writes. A
// change that is handled twice is counted twice.
func (c *Counter) Count(to *endpoint.Endpoint, outcome Outcome, reason string, now time.Time) (write func(context.Context, time.Time) error) {
	one := selection.Counts{Date: selection.Today(now), Reason: reason}
	switch outcome {
	case Plain:
		return nil
	case Matched:
		one.Matched = 1
	case Filtered:
		one.Filtered = 1
	case Failed:
		one.Failed = 1
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	key := to.Key()
	t := c.known[key]
	if t == nil {
		if c.known == nil || len(c.known) >= maxTallies {
			c.known = map[endpoint.Key]*tally{}
		}
		t = &tally{process: id.New()}
		c.known[key] = t
	}
	if t.pending.Add(one); t.waits {
		return nil
	}
	t.waits = true
	return func(ctx context.Context, now time.Time) error { return c.store(ctx, t, to, now) }
}

// store stores what was added to the counts of an endpoint.
func (c *Counter) store(ctx context.Context, t *tally, to *endpoint.Endpoint, now time.Time) error {
	t.writing.Lock()
	defer t.writing.Unlock()
	c.mu.Lock()
	added := t.pending
	t.pending, t.waits = selection.Counts{}, false
	c.mu.Unlock()
	next := t.stored
	if next.Date != added.Date {
		next, t.version = selection.Counts{Date: added.Date}, 0
	}
	next.Add(added)
	err := to.Company.Commit(store.Patiently(ctx), next.Write(to.Company, to.Provider, to.Incarnation, t.process, t.version, now))
	if err == nil {
		t.stored, t.version = next, t.version+1
		return nil
	}
	c.mu.Lock()
	t.pending.Add(added)
	c.mu.Unlock()
	if errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrUnknown) { // an earlier write may have succeeded after all
		t.stored, t.version, t.process = selection.Counts{}, 0, id.New()
	}
	return err
}
