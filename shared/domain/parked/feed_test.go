package parked_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/parked"
	"orgops/shared/storage/sqlitedb"
	"orgops/shared/storage/store"
	"orgops/shared/storage/store/sqlitestore"
	"orgops/shared/testkit/errtest"
)

// program starts processes on one SQLite file, one after the other. A process that dies is left as it is.
type program struct {
	file   string
	deadly map[string]bool
	hangs  bool           // a deadly change hangs, and the process lives
	fails  map[string]int // how often a change fails yet
	pause  time.Duration  // from one start to the next
	at     time.Time      // of the last start

	mu      sync.Mutex
	handled map[string]bool
}

func (p *program) open(t *testing.T) *sqlitestore.Store {
	t.Helper()
	db, err := sqlitedb.Open(t.Context(), p.file, sqlitedb.Options{})
	errtest.Must(t, err)
	t.Cleanup(func() { db.Close() })
	s, err := sqlitestore.Open(t.Context(), db, sqlitestore.Options{Now: func() time.Time { return now }, Consumers: []string{"test"}})
	errtest.Must(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

// run consumes the feed in one process until all changes have been handled or parked. It returns false if the process dies.
func (p *program) run(t *testing.T, all int) bool {
	t.Helper()
	s := p.open(t)
	p.at = p.at.Add(p.pause)
	at := p.at
	lot := func(consumer string) parked.Lot {
		return parked.Lot{Store: s, Consumer: consumer, Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return at }}
	}
	ctx, stop := context.WithCancel(t.Context())
	died, done := make(chan struct{}), make(chan error, 1)
	handle := func(_ context.Context, b store.Batch, finish func(error)) {
		for _, c := range b.Changes {
			if p.deadly[c.Key] {
				if !p.hangs {
					close(died)
				}
				<-t.Context().Done()
				return
			}
			if p.fails[c.Key] > 0 {
				p.fails[c.Key]--
				finish(errors.New("not now"))
				return
			}
			p.mu.Lock()
			p.handled[c.Key] = true
			p.mu.Unlock()
		}
		finish(nil)
		p.mu.Lock()
		defer p.mu.Unlock()
		if len(p.handled) == all {
			stop()
		}
	}
	limit := time.Minute
	if p.hangs {
		limit = 40 * time.Millisecond
	}
	go func() { done <- parked.Feed{Feed: s, Lot: lot, Limit: limit}.Consume(ctx, "test", handle) }()
	select {
	case <-died:
		return false
	case err := <-done:
		if p.hangs && errors.Is(err, parked.ErrHung) {
			return false
		}
		errtest.Must(t, err)
		return true
	}
}

func written(t *testing.T, deadly ...string) *program {
	t.Helper()
	p := &program{pause: time.Minute, at: now, file: filepath.Join(t.TempDir(), "a.db"), deadly: map[string]bool{}, fails: map[string]int{}, handled: map[string]bool{}}
	for _, key := range deadly {
		p.deadly[key] = true
	}
	acme := store.For(p.open(t), "acme")
	for n := range 6 {
		errtest.Must(t, acme.Commit(t.Context(), acme.Create(fmt.Sprint("MEMORY#", n), "memory", map[string]int{"n": n})))
	}
	return p
}

// TestFeed_Lost parks the changes with which the process ends or hangs at each start, and handles all others.
func TestFeed_Lost(t *testing.T) {
	t.Parallel()
	for name, hangs := range map[string]bool{"ends": false, "hangs": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := written(t, "MEMORY#1", "MEMORY#4")
			p.hangs = hangs
			p.wantPassed(t)
		})
	}
}

// wantPassed starts processes until one lives.
func (p *program) wantPassed(t *testing.T) {
	t.Helper()
	deaths := 0
	for !p.run(t, 4) {
		if deaths++; deaths > 20 {
			t.Fatal("the process still ends at each start after 20 starts")
		}
	}
	if want := 1 + 2*parked.MaxLost; deaths != want {
		t.Errorf("%d processes ended, want %d: one with all changes, and each change alone %d times", deaths, want, parked.MaxLost)
	}
	var keys []string
	for _, c := range list(t, p.open(t)) {
		keys = append(keys, c.Key)
	}
	slices.Sort(keys)
	if diff := cmp.Diff([]string{"MEMORY#1", "MEMORY#4"}, keys); diff != "" {
		t.Errorf("parked changes (-want +got):\n%s", diff)
	}
	if len(p.handled) != 4 {
		t.Errorf("handled %v, want the other 4 changes", p.handled)
	}
}

// TestFeed_Killed parks no change because its process is killed again and again within a minute, and handles it when that ends.
func TestFeed_Killed(t *testing.T) {
	t.Parallel()
	p := written(t, "MEMORY#1")
	p.pause = 2 * time.Second
	for range 10 {
		if p.run(t, 6) {
			t.Fatal("the process did not end")
		}
	}
	p.deadly = nil
	if !p.run(t, 6) {
		t.Fatal("the process ended")
	}
	if all := list(t, p.open(t)); len(all) > 0 {
		t.Errorf("parked %+v, want nothing", all)
	}
}

// TestFeed_Fails parks no change that fails after a start, however often.
func TestFeed_Fails(t *testing.T) {
	t.Parallel()
	p := written(t, "MEMORY#1")
	for range 2 {
		if p.run(t, 6) {
			t.Fatal("the process did not end")
		}
	}
	p.deadly, p.fails["MEMORY#1"] = nil, parked.MaxLost+2
	if !p.run(t, 6) {
		t.Fatal("the process ended")
	}
	if all := list(t, p.open(t)); len(all) > 0 {
		t.Errorf("parked %+v, want nothing", all)
	}
}

// single implements store.Feed with one batch.
type single struct{ store.Feed }

func (single) Consume(ctx context.Context, _ string, handle func(context.Context, store.Batch, func(error))) error {
	ended := make(chan error, 1)
	handle(ctx, store.Batch{Changes: []store.Change{change(`{}`)}}, func(err error) { ended <- err })
	return <-ended
}

// TestFeed_Limit ends with ErrHung at a batch that takes longer than the limit, unless its consumer retries it.
func TestFeed_Limit(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		every time.Duration // between retries
		want  error
	}{"retried": {50 * time.Second, nil}, "hangs": {time.Hour, parked.ErrHung}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := parked.Feed{Feed: single{}, Lot: func(string) parked.Lot { return parked.Lot{} }, Limit: time.Minute}
				over := make(chan struct{})
				got := f.Consume(t.Context(), "test", func(_ context.Context, b store.Batch, done func(error)) {
					go func() {
						defer close(over)
						for range 10 {
							<-time.After(tt.every)
							b.Retries()
						}
						done(nil)
					}()
				})
				<-over
				synctest.Wait()
				if !errors.Is(got, tt.want) {
					t.Errorf("error %v, want %v", got, tt.want)
				}
			})
		})
	}
}
