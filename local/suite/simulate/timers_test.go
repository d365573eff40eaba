package simulate_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"orgops/functions/ticker"
	"orgops/local/suite/simulate/simstore"
	"orgops/shared/domain/integration"
	"orgops/shared/storage/store"
)

// These model a process of the ticker: how long a call of the store takes, and how much of that the process itself works. Lambda gives
// 512 MiB a third of a processor.
const (
	tableTakes  = 6 * time.Millisecond
	tickerWorks = 700 * time.Microsecond
	tickerTime  = 45 * time.Second // the function's timeout, less the margin
)

// clockwork is a ticker whose calls take time. It counts the write units of each shard's key.
type clockwork struct {
	table   *simstore.Table
	mu      sync.Mutex
	seconds map[string]int // write units by key and second
	helpers int
	all     sync.WaitGroup
	failed  error
}

// process is one process of the ticker.
type process struct {
	simstore.Store
	work   *clockwork
	worker chan struct{} // its processor
}

func (w *clockwork) process() *ticker.Ticker {
	p := process{simstore.Store{Table: w.table, Now: time.Now}, w, make(chan struct{}, 1)}
	return &ticker.Ticker{Store: p, Logger: slog.New(slog.DiscardHandler), Now: time.Now, Page: ticker.Alone, Ask: w.ask}
}

func (w *clockwork) ask(_ context.Context, event any) error {
	w.helpers++
	w.begin(event.(ticker.Event))
	return nil
}

// begin runs a process.
func (w *clockwork) begin(e ticker.Event) {
	w.all.Go(func() {
		ctx, stop := context.WithTimeout(context.Background(), tickerTime)
		defer stop()
		if err := w.process().Handle(ctx, e); err != nil {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.failed = err
		}
	})
}

func (p process) takes() {
	p.worker <- struct{}{}
	<-time.After(tickerWorks)
	<-p.worker
	<-time.After(tableTakes)
}

// Get implements store.Store.
func (p process) Get(ctx context.Context, of store.Partition, key string) (store.Item, error) {
	p.takes()
	return p.Store.Get(ctx, of, key)
}

// Query implements store.Store.
func (p process) Query(ctx context.Context, of store.Partition, q store.Query) (store.Page, error) {
	p.takes()
	return p.Store.Query(ctx, of, q)
}

// Commit implements store.Store.
func (p process) Commit(ctx context.Context, ops ...store.Op) error {
	p.takes()
	p.work.mu.Lock()
	for _, op := range ops {
		if strings.HasPrefix(op.Partition.String(), "DUE#") {
			p.work.seconds[fmt.Sprint(op.Partition, time.Now().Unix())] += 2
		}
	}
	p.work.mu.Unlock()
	return p.Store.Commit(ctx, ops...)
}

// TestTimers fires 100,000 timers that are due in one minute, all of one company, within the minute after. No key of the timers is
// written faster than a partition of DynamoDB bears.
func TestTimers(t *testing.T) {
	t.Parallel()
	const timers, keyBears = 100_000, 800
	synctest.Test(t, func(t *testing.T) {
		w := &clockwork{table: simstore.NewTable(), seconds: map[string]int{}}
		c := store.For(simstore.Store{Table: w.table, Now: time.Now}, "acme")
		for n := 0; n < timers; n += store.MaxOps {
			var ops []store.Op
			for i := range store.MaxOps {
				at := time.Now().Add(time.Duration(n+i) * time.Minute / timers)
				ops = append(ops, c.Timer(at, integration.ExpiryTimer, fmt.Sprintf("webhook-%d@1", n+i)))
			}
			if err := c.Commit(t.Context(), ops...); err != nil {
				t.Fatal(err)
			}
		}
		<-time.After(time.Minute)
		begun := time.Now()
		w.begin(ticker.Event{})
		w.all.Wait()
		t.Logf("%d timers took %v with %d helpers", timers, time.Since(begun), w.helpers)
		if w.failed != nil {
			t.Error(w.failed)
		}
		left := 0
		for shard := range store.DueShards {
			left += len(w.table.Query(time.Now(), store.Due(shard), store.Query{}).Items)
		}
		if left > 0 {
			t.Errorf("timers are left after %v, want none", time.Since(begun))
		}
		for key, units := range w.seconds {
			if units > keyBears {
				t.Errorf("%d write units of %s, want at most %d", units, key, keyBears)
			}
		}
	})
}
