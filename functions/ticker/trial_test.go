package ticker_test

import (
	"bytes"
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/company"
	"orgops/shared/domain/erasure"
	"orgops/shared/domain/parked"
	"orgops/shared/storage/queue"
	"orgops/shared/storage/queue/timerqueue"
	"orgops/shared/storage/store"
	"orgops/shared/storage/vault"
	"orgops/shared/testkit/errtest"
)

// deadly ends the process of its sender, as a lack of memory does.
type deadly struct {
	queue.Queue
	tick *tick
}

func (d deadly) Send(ctx context.Context, _ ...queue.Message) error { return d.tick.killed(ctx) }

// endless takes all of the time that its sender has.
type endless struct {
	queue.Queue
	tick *tick
}

func (e endless) Send(ctx context.Context, _ ...queue.Message) error { return e.tick.killed(ctx) }

// tick ends the tick that is under way, or all of its time.
type tick struct{ over context.CancelFunc }

func (t *tick) killed(ctx context.Context) error {
	t.over()
	<-ctx.Done()
	return ctx.Err()
}

// sent counts messages.
type sent struct {
	queue.Queue
	n *int
}

func (s sent) Send(context.Context, ...queue.Message) error { *s.n++; return nil }

// minute runs a tick as Lambda does each minute: its time may end, and its process may.
func (r *running) minute(now *tick) {
	r.T.Helper()
	ctx, stop := context.WithCancel(r.T.Context())
	defer stop()
	now.over = stop
	_ = r.ticker.Tick(ctx) // its end, or its error, is what the next ticks find
	r.Clock.Advance(time.Minute)
}

// TestTicker_Lost parks the timers that end the ticker's process or take all of its time, keeps the timer that fails, and fires those
// behind them.
func TestTicker_Lost(t *testing.T) {
	t.Parallel()
	r := setup(t)
	var late, last int
	var now tick
	queues := map[string]queue.Queue{"failing": closed{r.Retries}, "deadly": deadly{tick: &now}, "endless": endless{tick: &now}, "last": sent{n: &last}}
	r.ticker.Queues = queues
	due := r.Clock.Now().Add(time.Hour)
	for n, name := range []string{"failing", "deadly", "endless", "last"} {
		long := timerqueue.Queue{Queue: r.Retries, Store: r.Store, Name: name, Now: r.Clock.Now}
		errtest.Must(t, long.Send(t.Context(), queue.Message{Body: []byte(name), Group: "a", Due: due.Add(time.Duration(n) * time.Second)}))
	}
	r.Clock.Set(due.Add(time.Minute))
	for minutes := 0; last == 0; minutes++ {
		if minutes == 25 {
			t.Fatal("the timer behind the others is not fired after 25 minutes")
		}
		r.minute(&now)
	}
	for range 10 {
		r.minute(&now)
	}
	r.wantParked("deadly", "endless")
	queues["failing"] = sent{n: &late}
	r.minute(&now)
	if late != 1 {
		t.Errorf("the timer that failed was fired %d times, want once", late)
	}
	r.wantNoTimers(due)
}

// wantParked compares the queues of the messages whose timers are parked.
func (r *running) wantParked(want ...string) {
	r.T.Helper()
	var got []string
	for item, err := range r.Company("a").Items(r.T.Context(), store.Query{Prefix: parked.Prefix}) {
		errtest.Must(r.T, err)
		p, err := parked.Decode(item.Body)
		errtest.Must(r.T, err)
		timer, err := p.Original("a")
		errtest.Must(r.T, err)
		for _, name := range []string{"failing", "deadly", "endless", "last"} {
			if bytes.Contains(timer.New.Body, []byte(name)) {
				got = append(got, name)
			}
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		r.T.Errorf("parked timers (-want +got):\n%s", diff)
	}
}

// deadlyKeys ends the process that destroys a key.
type deadlyKeys struct{ tick *tick }

func (d deadlyKeys) Destroy(ctx context.Context, _ string) error { return d.tick.killed(ctx) }

// TestTicker_Lost_Erasure puts an erasure off that ends the ticker, fires the timers behind it, and erases the company later.
func TestTicker_Lost_Erasure(t *testing.T) {
	t.Parallel()
	r := setup(t)
	c, last := r.Company("a"), 0
	var now tick
	r.ticker.Queues, r.ticker.Keys = map[string]queue.Queue{"last": sent{n: &last}}, deadlyKeys{tick: &now}
	r.Put("a", company.Key, company.Entity, company.Company{ID: "a", Name: "Acme"})
	ops, err := erasure.Begin(t.Context(), c, r.Clock.Now())
	errtest.Must(t, err)
	errtest.Must(t, c.Commit(t.Context(), ops...))
	long := timerqueue.Queue{Queue: r.Retries, Store: r.Store, Name: "last", Now: r.Clock.Now}
	errtest.Must(t, long.Send(t.Context(), queue.Message{Body: []byte("last"), Group: "a", Due: r.Clock.Now().Add(20 * time.Minute)}))
	r.Clock.Advance(16 * time.Minute)
	for minutes := 0; last == 0; minutes++ {
		if minutes == 15 {
			t.Fatal("the timer behind the erasure is not fired after 15 minutes")
		}
		r.minute(&now)
	}
	r.wantParked()
	r.ticker.Keys = vault.StoreKeys{Store: r.Store}
	r.Clock.Advance(time.Hour)
	r.minute(&now)
	if r.Get("a", company.Key, nil) {
		t.Error("the company is there an hour later, want it erased")
	}
}
