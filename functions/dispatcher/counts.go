package dispatcher

import (
	"context"
	"errors"
	"sync"

	"orgops/shared/base/id"
	"orgops/shared/domain/selection"
	"orgops/shared/provider/selecting"
	"orgops/shared/storage/store"
	"orgops/shared/webhook/courier"
)

// counts keeps what this process has counted of endpoints with filters or transformations, and stores it.
type counts struct {
	mu    sync.Mutex
	known map[courier.EndpointKey]*tally
}

// tally holds the counts of one endpoint for one day.
type tally struct {
	pending selection.Counts // guarded by counts
	waits   bool             // a write is begun that will take what is pending; guarded by counts

	writing sync.Mutex // held during a write; guards what follows
	stored  selection.Counts
	process string // names the item: this process, since the last conflict
	version int64
}

// maxTallies limits the endpoints in memory. At the limit, the counts begin new items.
const maxTallies = 4096

// add adds to the counts of an endpoint. It reports whether a write must be begun: the write that is waiting takes what is added meanwhile.
func (c *counts) add(key courier.EndpointKey, one selection.Counts) (t *tally, begin bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t = c.known[key]; t == nil {
		if c.known == nil || len(c.known) >= maxTallies {
			c.known = map[courier.EndpointKey]*tally{}
		}
		t = &tally{process: id.New()}
		c.known[key] = t
	}
	begin, t.waits = !t.waits, true
	t.pending.Add(one)
	return t, begin
}

// count counts what became of an event for an endpoint, and stores the counts in the background. The events of a batch share few
// writes. A change that is handled twice is counted twice.
func (d *Dispatcher) count(ctx context.Context, to *courier.Endpoint, outcome selecting.Outcome, reason string, work *tracker) {
	if outcome == selecting.Plain {
		return
	}
	one := selection.Counts{Date: selection.Today(d.Now()), Reason: reason}
	switch outcome {
	case selecting.Matched:
		one.Matched = 1
	case selecting.Filtered:
		one.Filtered = 1
	case selecting.Failed:
		one.Failed = 1
	}
	t, begin := d.counts.add(courier.EndpointKey{Company: to.Company.ID(), Provider: to.Provider, Incarnation: to.Incarnation}, one)
	if !begin {
		return
	}
	work.do(ctx, func(ctx context.Context) error {
		if err := d.store(ctx, t, to); err != nil {
			d.Logger.WarnContext(ctx, "counts of a filter not stored; trying again with the next event", "company", to.Company.ID(), "provider", to.Provider, "error", err)
		}
		return nil
	})
}

// store stores what was added to the counts of an endpoint.
func (d *Dispatcher) store(ctx context.Context, t *tally, to *courier.Endpoint) error {
	t.writing.Lock()
	defer t.writing.Unlock()
	d.counts.mu.Lock()
	added := t.pending
	t.pending, t.waits = selection.Counts{}, false
	d.counts.mu.Unlock()
	next := t.stored
	if next.Date != added.Date {
		next, t.version = selection.Counts{Date: added.Date}, 0
	}
	next.Add(added)
	err := to.Company.Commit(store.Patiently(ctx), next.Write(to.Company, to.Provider, to.Incarnation, t.process, t.version, d.Now()))
	if err == nil {
		t.stored, t.version = next, t.version+1
		return nil
	}
	d.counts.mu.Lock()
	t.pending.Add(added)
	d.counts.mu.Unlock()
	if errors.Is(err, store.ErrConflict) || errors.Is(err, store.ErrUnknown) { // an earlier write may have succeeded after all
		t.stored, t.version, t.process = selection.Counts{}, 0, id.New()
	}
	return err
}
