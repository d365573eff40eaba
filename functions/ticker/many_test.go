package ticker_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/functions/ticker"
	"orgops/shared/domain/integration"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
)

// superseded sets timers of a company without an effect, about different things.
func (r *running) superseded(company string, n int, at time.Time) {
	r.T.Helper()
	c := r.Company(company)
	for n > 0 {
		var ops []store.Op
		for range min(n, store.MaxOps) {
			n--
			ops = append(ops, c.Timer(at, integration.ExpiryTimer, fmt.Sprintf("gone-%d@1", n)))
		}
		errtest.Must(r.T, c.Commit(r.T.Context(), ops...))
	}
}

// fired records the companies whose timers fire, in order.
func (r *running) fired() func() []string {
	var mu sync.Mutex
	var all []string
	r.faulty.Before(func(ops []store.Op) error {
		var timer store.Timer
		item, err := r.Store.Get(context.Background(), ops[0].Partition, ops[0].Key)
		if err == nil && item.Decode(&timer) == nil {
			mu.Lock()
			defer mu.Unlock()
			all = append(all, timer.Company)
		}
		return nil
	})
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}
}

// TestTicker_Many fires the timers of more than a page of each shard, each once, at the pace of the shards.
func TestTicker_Many(t *testing.T) {
	t.Parallel()
	r := setup(t)
	const timers = 2000
	r.superseded("a", timers, r.Clock.Now())
	fired := r.fired()
	r.ticker.Page = 100
	begun := time.Now()
	r.tick()
	t.Logf("%d timers took %v", timers, time.Since(begun))
	if n := len(fired()); n != timers {
		t.Errorf("%d timers fired, want %d", n, timers)
	}
	r.wantNoTimers(r.Clock.Now())
}

// TestTicker_Fair fires the timers of companies in turn, although one of them has many that are due before.
func TestTicker_Fair(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.superseded("noisy", 1000, r.Clock.Now())
	r.superseded("quiet", 10, r.Clock.Now().Add(time.Second))
	r.Clock.Advance(time.Minute)
	fired := r.fired()
	r.tick()
	last := 0
	for n, company := range fired() {
		if company == "quiet" {
			last = n
		}
	}
	if last > 100 {
		t.Errorf("the last timer of the quiet company fired after %d others, want at most 100", last)
	}
}

// TestTicker_Order fires the timers about one thing in the order of their times.
func TestTicker_Order(t *testing.T) {
	t.Parallel()
	r := setup(t)
	c := r.Company("a")
	for n := range 20 {
		errtest.Must(t, c.Commit(t.Context(), c.Timer(r.Clock.Now().Add(time.Duration(n)*time.Second), "kind", fmt.Sprint("thing@", n))))
	}
	r.Clock.Advance(time.Minute)
	var fired []string
	r.faulty.Before(func(ops []store.Op) error {
		fired = append(fired, ops[0].Key)
		return nil
	})
	r.tick()
	if len(fired) != 20 {
		t.Errorf("%d timers fired, want 20", len(fired))
	}
	if !slices.IsSorted(fired) {
		t.Errorf("fired %q, want them in order", fired)
	}
}

// helpers records the shards for which a tick asks, and fires their timers, or refuses to.
type helpers struct {
	ticker *ticker.Ticker
	err    error
	asked  []int
}

func (h *helpers) ask(ctx context.Context, event any) error {
	e := event.(ticker.Event)
	h.asked = append(h.asked, *e.Shard)
	if h.err != nil {
		return h.err
	}
	return h.ticker.Handle(ctx, e)
}

// TestTicker_Helpers asks for a helper for each shard with more due timers than a page. Without an answer the tick fires them itself.
func TestTicker_Helpers(t *testing.T) {
	t.Parallel()
	for name, refused := range map[string]error{"asked": nil, "refused": errors.New("too many calls")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := setup(t)
			r.superseded("a", 200, r.Clock.Now())
			h := &helpers{ticker: r.another(), err: refused}
			r.ticker.Ask, r.ticker.Page = h.ask, 4
			r.tick()
			if diff := cmp.Diff([]int{0, 1, 2, 3, 4, 5, 6, 7}, h.asked); diff != "" {
				t.Errorf("asked for shards (-want +got):\n%s", diff)
			}
			r.wantNoTimers(r.Clock.Now())
			h.asked = nil
			r.superseded("a", 8, r.Clock.Now())
			r.ticker.Page = 8
			if r.tick(); len(h.asked) > 0 {
				t.Errorf("asked for shards %v of few timers, want none", h.asked)
			}
		})
	}
}
