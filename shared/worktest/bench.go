// Package worktest runs workers on what they work with: a real store with its feed, real queues, a vault, endpoints that
// are real servers, and a clock that the test moves.
package worktest

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"orgops/shared/clocktest"
	"orgops/shared/courier"
	"orgops/shared/integration"
	"orgops/shared/logtest"
	"orgops/shared/metric"
	"orgops/shared/metric/metrictest"
	"orgops/shared/outbound"
	"orgops/shared/queue/sqlitequeue"
	"orgops/shared/sqlitedb"
	"orgops/shared/store"
	"orgops/shared/store/sqlitestore"
	"orgops/shared/vault"
)

// Consumer is the name under which a test itself may consume the feed.
const Consumer = "test"

// Patience is how long a test waits for what must happen.
const Patience = time.Minute

// Bench is everything, gone with the test.
type Bench struct {
	T       testing.TB
	Clock   *clocktest.Clock
	Store   *sqlitestore.Store
	Retries *sqlitequeue.Queue
	Syncs   *sqlitequeue.Queue
	Vault   integration.Vault
	Client  *outbound.Client
	Logger  *slog.Logger
	Metrics *metric.Recorder

	measured *logtest.Log
}

// New is a bench whose feed these consumers may consume, and the test.
func New(t testing.TB, consumers ...string) *Bench {
	t.Helper()
	ctx, folder := context.Background(), t.TempDir()
	b := &Bench{
		T: t, Clock: clocktest.At(time.Now().UTC().Truncate(time.Millisecond)), Logger: slog.New(slog.DiscardHandler),
		Client: outbound.New(outbound.Options{AllowLoopback: true}),
	}
	b.Metrics, b.measured = metrictest.New(b.Clock.Now)
	db, err := sqlitedb.Open(ctx, filepath.Join(folder, "orgops.db"), sqlitedb.Options{})
	Must(t, err)
	b.Store, err = sqlitestore.Open(ctx, db, sqlitestore.Options{
		Now: b.Clock.Now, Consumers: append(consumers, Consumer), Upkeep: -1,
	})
	Must(t, err)
	queues := sqlitequeue.Options{Now: b.Clock.Now, Notice: 5 * time.Millisecond} // it looks at the clock so often
	b.Retries, err = sqlitequeue.Open(ctx, db, "retries", queues)
	Must(t, err)
	b.Syncs, err = sqlitequeue.Open(ctx, db, "syncs", queues)
	Must(t, err)
	wrapper, err := vault.OpenFileKey(filepath.Join(folder, "vault.key"))
	Must(t, err)
	b.Vault = vault.New(wrapper, vault.StoreKeys{Store: b.Store}, b.Clock.Now)
	t.Cleanup(func() {
		b.Client.CloseIdle()
		Must(t, b.Store.Close())
		Must(t, db.Close())
	})
	return b
}

// Courier is a courier that remembers endpoints for a minute, as in a process that consumes the feed.
func (b *Bench) Courier() *courier.Courier {
	return courier.New(courier.Deps{
		Store: b.Store, Vault: b.Vault, Client: b.Client, Logger: b.Logger, Now: b.Clock.Now, Fresh: time.Minute,
		Metrics: b.Metrics,
	})
}

// Measured is what has been measured since the test began: of a count the sum, of a time how many there were. Companies
// are those that are named for what went wrong.
func (b *Bench) Measured() (sums map[string]float64, companies []string) {
	b.T.Helper()
	b.Metrics.Flush("")
	for _, d := range metrictest.Read(b.T, b.measured.String()) {
		named, _ := d.Others["companies"].([]any)
		for _, company := range named {
			companies = append(companies, company.(string))
		}
	}
	slices.Sort(companies)
	return metrictest.Sums(b.T, b.measured.String()), slices.Compact(companies)
}

// Go runs a worker until the test is over or stop is called, which waits for it to return.
func (b *Bench) Go(run func(ctx context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		run(ctx)
	}()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			select {
			case <-ended:
			case <-time.After(Patience):
				b.T.Error("the worker does not stop")
			}
		})
	}
	b.T.Cleanup(stop)
	return stop
}

// Company is a company's view of the store.
func (b *Bench) Company(id string) store.Company { return store.For(b.Store, id) }

// Put writes an item over whatever is there.
func (b *Bench) Put(company, key, entity string, body any) {
	b.T.Helper()
	c := b.Company(company)
	item, err := c.Get(b.T.Context(), key, nil)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		b.T.Fatal(err)
	}
	Must(b.T, c.Commit(b.T.Context(), c.Save(key, entity, item.Version, body)))
}

// Get reads an item into into, and reports whether it is there.
func (b *Bench) Get(company, key string, into any) bool {
	b.T.Helper()
	_, err := b.Company(company).Get(b.T.Context(), key, into)
	if errors.Is(err, store.ErrNotFound) {
		return false
	}
	Must(b.T, err)
	return true
}

// All reads every item of a company under a prefix.
func All[T any](b *Bench, company, prefix string) []T {
	b.T.Helper()
	var all []T
	q := store.Query{Prefix: prefix}
	for {
		page, err := b.Company(company).Query(b.T.Context(), q)
		Must(b.T, err)
		for _, item := range page.Items {
			var one T
			Must(b.T, json.Unmarshal(item.Body, &one))
			all = append(all, one)
		}
		if q.After = page.Next; q.After == "" {
			return all
		}
	}
}

// Changes takes the next n changes from the feed as the test's own consumer.
func (b *Bench) Changes(n int) []store.Change {
	b.T.Helper()
	ctx, cancel := context.WithTimeout(b.T.Context(), Patience)
	defer cancel()
	var changes []store.Change
	Must(b.T, b.Store.Consume(ctx, Consumer, func(_ context.Context, batch store.Batch, done func(error)) {
		changes = append(changes, batch.Changes...)
		done(nil)
		if len(changes) >= n {
			cancel()
		}
	}))
	if len(changes) < n {
		b.T.Fatalf("the feed has %d changes, want %d", len(changes), n)
	}
	return changes
}

// Until waits for something to become true, and ends the test where it does not.
func Until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	deadline := time.NewTimer(Patience)
	defer deadline.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

// Must ends the test on an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
