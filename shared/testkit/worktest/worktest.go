// Package worktest runs workers in tests with a real store and its feed, real queues, a vault, real servers as endpoints,
// and a clock that the test controls.
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

	"orgops/shared/base/id"
	"orgops/shared/base/metric"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/policy"
	"orgops/shared/storage/queue/sqlitequeue"
	"orgops/shared/storage/sqlitedb"
	"orgops/shared/storage/store"
	"orgops/shared/storage/store/sqlitestore"
	"orgops/shared/storage/vault"
	"orgops/shared/testkit/clocktest"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/logtest"
	"orgops/shared/testkit/metrictest"
	"orgops/shared/webhook/courier"
	"orgops/shared/webhook/outbound"
)

// Consumer names the test's own consumer of the feed.
const Consumer = "test"

// Patience limits how long a test waits for an event.
const Patience = time.Minute

// Harness holds everything that a worker needs. It is closed at the end of the test.
type Harness struct {
	T       testing.TB
	Clock   *clocktest.Clock
	Store   *sqlitestore.Store
	Retries *sqlitequeue.Queue
	Syncs   *sqlitequeue.Queue
	Notices *sqlitequeue.Queue
	Vault   integration.Vault
	Client  *outbound.Client
	Engine  policy.Engine // of the harness's couriers; permits everything unless the test replaces it
	Logger  *slog.Logger
	Metrics *metric.Recorder

	measured *logtest.Log
}

// New makes a harness whose feed has these consumers and the test's own.
func New(t testing.TB, consumers ...string) *Harness {
	t.Helper()
	ctx, folder := context.Background(), t.TempDir()
	h := &Harness{
		T: t, Clock: clocktest.At(time.Now().UTC().Truncate(time.Millisecond)), Logger: slog.New(slog.DiscardHandler),
		Engine: permits{}, Client: outbound.New(outbound.Options{AllowLoopback: true}),
	}
	h.Metrics, h.measured = metrictest.New(h.Clock.Now)
	db, err := sqlitedb.Open(ctx, filepath.Join(folder, "orgops.db"), sqlitedb.Options{})
	errtest.Must(t, err)
	h.Store, err = sqlitestore.Open(ctx, db, sqlitestore.Options{
		Now: h.Clock.Now, Consumers: append(consumers, Consumer), Upkeep: -1,
	})
	errtest.Must(t, err)
	queues := sqlitequeue.Options{Now: h.Clock.Now, Notice: 5 * time.Millisecond} // how often a queue reads the clock
	h.Retries, err = sqlitequeue.Open(ctx, db, "retries", queues)
	errtest.Must(t, err)
	h.Syncs, err = sqlitequeue.Open(ctx, db, "syncs", queues)
	errtest.Must(t, err)
	h.Notices, err = sqlitequeue.Open(ctx, db, "notices", queues)
	errtest.Must(t, err)
	wrapper, err := vault.OpenFileKey(filepath.Join(folder, "vault.key"))
	errtest.Must(t, err)
	h.Vault = vault.New(wrapper, vault.StoreKeys{Store: h.Store}, h.Clock.Now)
	t.Cleanup(func() {
		h.Client.CloseIdle()
		errtest.Must(t, h.Store.Close())
		errtest.Must(t, db.Close())
	})
	return h
}

// Courier makes a courier that caches endpoints for a minute, as in a process that consumes the feed.
func (h *Harness) Courier(edit ...func(*courier.Deps)) *courier.Courier {
	d := courier.Deps{
		Store: h.Store, Vault: h.Vault, Client: h.Client, Engine: h.Engine, Logger: h.Logger, Now: h.Clock.Now, Fresh: time.Minute,
		Metrics: h.Metrics,
	}
	for _, f := range edit {
		f(&d)
	}
	return courier.New(d)
}

// permits decides as the service's own policies do on what the service does by itself.
type permits struct{}

// Decide implements policy.Engine.
func (permits) Decide(_ context.Context, _ store.Company, r policy.Request) (policy.Decision, error) {
	return policy.Decision{
		ID: id.New(), Verdict: policy.Permitted, Principal: r.Principal, Action: r.Action, Resource: r.Resource,
		Policies: []string{"permit-service-actions"}, Reasons: []string{}, At: time.Now().UTC(),
	}, nil
}

// Measured returns the metrics since the test began: the sum of each count, and the number of values of each time.
// companies lists the companies named in metrics about failures.
func (h *Harness) Measured() (sums map[string]float64, companies []string) {
	h.T.Helper()
	h.Metrics.Flush("")
	for _, d := range metrictest.Read(h.T, h.measured.String()) {
		named, _ := d.Others["companies"].([]any)
		for _, company := range named {
			companies = append(companies, company.(string))
		}
	}
	slices.Sort(companies)
	return metrictest.Sums(h.T, h.measured.String()), slices.Compact(companies)
}

// Go runs a worker until the test ends or calls stop. stop waits for the worker to return.
func (h *Harness) Go(run func(ctx context.Context)) (stop func()) {
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
				h.T.Errorf("the worker did not stop within %v", Patience)
			}
		})
	}
	h.T.Cleanup(stop)
	return stop
}

// Company returns a company's view of the store.
func (h *Harness) Company(id string) store.Company { return store.For(h.Store, id) }

// Put writes an item, and replaces an existing one.
func (h *Harness) Put(company, key, entity string, body any) {
	h.T.Helper()
	c := h.Company(company)
	item, err := c.Get(h.T.Context(), key, nil)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		h.T.Fatal(err)
	}
	errtest.Must(h.T, c.Commit(h.T.Context(), c.Save(key, entity, item.Version, body)))
}

// Get reads an item into into, and reports whether it exists.
func (h *Harness) Get(company, key string, into any) bool {
	h.T.Helper()
	_, err := h.Company(company).Get(h.T.Context(), key, into)
	if errors.Is(err, store.ErrNotFound) {
		return false
	}
	errtest.Must(h.T, err)
	return true
}

// All reads every item of a company under a prefix.
func All[T any](h *Harness, company, prefix string) []T {
	h.T.Helper()
	var all []T
	for item, err := range h.Company(company).Items(h.T.Context(), store.Query{Prefix: prefix}) {
		errtest.Must(h.T, err)
		var one T
		errtest.Must(h.T, json.Unmarshal(item.Body, &one))
		all = append(all, one)
	}
	return all
}

// Changes takes the next n changes from the feed as the test's own consumer.
func (h *Harness) Changes(n int) []store.Change {
	h.T.Helper()
	ctx, cancel := context.WithTimeout(h.T.Context(), Patience)
	defer cancel()
	var changes []store.Change
	errtest.Must(h.T, h.Store.Consume(ctx, Consumer, func(_ context.Context, batch store.Batch, done func(error)) {
		changes = append(changes, batch.Changes...)
		done(nil)
		if len(changes) >= n {
			cancel()
		}
	}))
	if len(changes) < n {
		h.T.Fatalf("%d changes in the feed, want %d", len(changes), n)
	}
	return changes
}

// Until waits until holds returns true, and ends the test if it does not within Patience.
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
			t.Fatalf("timed out after %v waiting until %s", Patience, what)
		}
	}
}
