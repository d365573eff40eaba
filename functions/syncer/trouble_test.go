package syncer_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/base/fault"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/domain/syncrun"
	"orgops/shared/provider/connector"
	"orgops/shared/storage/queue"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/worktest"
)

// TestCrash kills a worker in the middle of a page. The next worker ends with the same items and counts as without a crash.
func TestCrash(t *testing.T) {
	t.Parallel()
	for dies := range 8 { // at this commit: the claim, then parts of three pages
		r := setup(t)
		r.provider.answer(pages(3, 60))
		j := r.request(syncrun.Live)
		commits := 0
		ctx, kill := context.WithCancel(context.Background())
		r.faulty.Before(func([]store.Op) error {
			if commits++; commits > dies {
				kill()
				return store.ErrUnavailable
			}
			return nil
		})
		body, err := json.Marshal(j)
		errtest.Must(t, err)
		if _, err := r.Handle(ctx, body); dies < 7 && err == nil {
			t.Fatalf("the worker did not crash at commit %d", dies)
		}
		r.faulty.Before(nil)
		if rec := r.record(j); !rec.State.Ended() {
			if wait := rec.Work.LeaseUntil.Sub(r.Clock.Now()); wait > 0 {
				if due := r.handle(j); !due.Equal(rec.Work.LeaseUntil) {
					t.Errorf("another worker may continue at %v, but the lease ends at %v", due, rec.Work.LeaseUntil)
				}
				r.Clock.Advance(wait)
			}
			if due := r.handle(j); !due.IsZero() {
				t.Errorf("due at %v", due)
			}
		}
		want := syncrun.Progress{Pages: 3, Fetched: 180, Created: 180}
		if diff := cmp.Diff(want, r.ended(j, syncrun.Succeeded).Progress); diff != "" {
			t.Errorf("after a crash at commit %d progress differs (-want +got):\n%s", dies, diff)
		}
		if n := r.entities()[memory.Entity]; n != 180 {
			t.Errorf("after a crash at commit %d the feed has %d memories", dies, n)
		}
	}
}

// TestFailures lets the provider fail without progress. The waits grow, and the fifth failure ends the run.
func TestFailures(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.provider.answer(failing(fault.Wrap(fault.Unavailable, "the provider answers 500", errDown)))
	j := r.request(syncrun.Live)
	for n, want := range []time.Duration{10 * time.Second, 30 * time.Second, 90 * time.Second, 270 * time.Second} {
		due := r.handle(j)
		if wait := due.Sub(r.Clock.Now()); wait != want {
			t.Fatalf("failure %d: due after %v, want %v", n+1, wait, want)
		}
		if rec := r.record(j); rec.State != syncrun.Running || rec.Error != "the provider answers 500" || rec.Progress != (syncrun.Progress{}) {
			t.Fatalf("failure %d: %+v", n+1, rec)
		}
		r.Clock.Set(due)
	}
	if due := r.handle(j); !due.IsZero() {
		t.Errorf("due at %v after the fifth failure", due)
	}
	if rec := r.ended(j, syncrun.Failed); rec.Error != "the provider answers 500" || r.provider.fetches() != 5 {
		t.Errorf("%q after %d fetches", rec.Error, r.provider.fetches())
	}
}

// TestProgressResetsTries counts only consecutive failures without a page in between, and does not show internal errors.
func TestProgressResetsTries(t *testing.T) {
	t.Parallel()
	r := setup(t)
	const all = 4
	failed := 0
	r.provider.answer(func(ctx context.Context, n int, f connector.Fetch) (connector.FetchedPage, error) {
		if failed++; failed%4 != 0 { // three failures before each page
			return connector.FetchedPage{}, errDown
		}
		return pages(all, 2)(ctx, n, f)
	})
	j := r.request(syncrun.Live)
	for due := r.handle(j); !due.IsZero(); due = r.handle(j) {
		if rec := r.record(j); rec.Error != "the provider could not be fetched" {
			t.Fatalf("the run's error is %q", rec.Error)
		}
		r.Clock.Set(due)
	}
	if rec := r.ended(j, syncrun.Succeeded); rec.Progress.Created != 2*all || rec.Error != "" {
		t.Errorf("%+v", rec)
	}
}

// TestStoreFails retries a page that cannot be written.
func TestStoreFails(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.faulty.Before(func(ops []store.Op) error {
		if len(ops) > 1 && ops[len(ops)-1].Entity != syncrun.SlotEntity {
			return errors.New("this page cannot be written")
		}
		return nil
	})
	j := r.request(syncrun.Live)
	for due := r.handle(j); !due.IsZero(); due = r.handle(j) {
		r.Clock.Set(due)
	}
	if rec := r.ended(j, syncrun.Failed); rec.Progress != (syncrun.Progress{}) || r.provider.fetches() != 5 {
		t.Errorf("%+v after %d fetches", rec.Progress, r.provider.fetches())
	}
}

// TestConflict plans items again after concurrent writes.
func TestConflict(t *testing.T) {
	t.Parallel()
	r := setup(t)
	conflicts := 3
	r.faulty.Before(func(ops []store.Op) error {
		if len(ops) > 1 && conflicts > 0 {
			conflicts--
			return &store.ConflictError{Index: 2, Key: ops[2].Key}
		}
		return nil
	})
	if rec := r.sync(syncrun.Live); rec.Progress.Created != 3 || rec.Progress.Fetched != 3 || r.provider.fetches() != 1 {
		t.Errorf("%+v after %d fetches", rec.Progress, r.provider.fetches())
	}
}

func TestThrottled(t *testing.T) {
	t.Parallel()
	r := setup(t)
	until := r.Clock.Now().Add(time.Hour)
	r.provider.answer(failing(&connector.ThrottledError{Until: until}))
	j := r.request(syncrun.Live)
	if due := r.handle(j); !due.Equal(until) {
		t.Fatalf("due at %v", due)
	}
	if rec := r.record(j); rec.ThrottledUntil == nil || !rec.ThrottledUntil.Equal(until) || rec.State != syncrun.Running || rec.Work.Tries != 0 {
		t.Errorf("%+v", rec)
	}
	if due := r.handle(j); !due.Equal(until) || r.provider.fetches() != 1 {
		t.Errorf("an early message: due at %v, %d fetches", due, r.provider.fetches())
	}
	r.Clock.Set(until)
	r.provider.answer(failing(&connector.ThrottledError{}))
	if due := r.handle(j); !due.After(r.Clock.Now()) {
		t.Errorf("a throttle without a time is due at %v", due)
	}
	r.Clock.Advance(time.Minute)
	r.provider.answer(pages(1, 3))
	if due := r.handle(j); !due.IsZero() {
		t.Errorf("due at %v", due)
	}
	if rec := r.ended(j, syncrun.Succeeded); rec.ThrottledUntil != nil || rec.Progress.Created != 3 {
		t.Errorf("%+v", rec)
	}
}

// cancel requests the cancellation of a run that has started, as the API does.
func (r *running) cancel(j syncrun.Job) {
	r.T.Helper()
	rec := r.record(j)
	rec.Work.CancelRequested = true
	r.Put("a", syncrun.Key(j.Run), syncrun.Entity, rec)
}

func TestCancel(t *testing.T) {
	t.Parallel()
	t.Run("while the run is in progress", func(t *testing.T) {
		t.Parallel()
		r := setup(t)
		j := r.request(syncrun.Live)
		r.provider.answer(func(ctx context.Context, n int, f connector.Fetch) (connector.FetchedPage, error) {
			if n == 1 {
				r.cancel(j)
			}
			return pages(5, 3)(ctx, n, f)
		})
		if due := r.handle(j); !due.IsZero() {
			t.Errorf("due at %v", due)
		}
		if rec := r.ended(j, syncrun.Cancelled); rec.Progress.Created != 3 || len(r.memories()) != 3 || r.provider.fetches() != 2 {
			t.Errorf("%+v after %d fetches", rec.Progress, r.provider.fetches())
		}
	})
	t.Run("while the run waits", func(t *testing.T) {
		t.Parallel()
		r := setup(t)
		r.provider.answer(failing(&connector.ThrottledError{Until: r.Clock.Now().Add(time.Hour)}))
		j := r.request(syncrun.Live)
		r.handle(j)
		r.cancel(j)
		if due := r.handle(j); !due.IsZero() {
			t.Errorf("due at %v", due)
		}
		r.ended(j, syncrun.Cancelled)
	})
}

// TestStopped changes the integration during a run. The run ends and writes nothing more.
func TestStopped(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		event func(*running)
		says  string
	}{
		{"deleted", func(r *running) {
			c := r.Company("a")
			var ops []store.Op
			for _, key := range []string{integration.Key("paged"), syncrun.SlotKey("paged")} {
				item, err := c.Get(r.T.Context(), key, nil)
				errtest.Must(r.T, err)
				ops = append(ops, c.Delete(key, item.Entity, item.Version))
			}
			errtest.Must(r.T, c.Commit(r.T.Context(), ops...))
		}, `integration "paged" is not configured`},
		{"disabled", func(r *running) { r.Change("a", "paged", func(i *integration.Integration) { i.Enabled = false }) }, "the integration was disabled"},
		{"sandboxed", func(r *running) {
			r.Change("a", "paged", func(i *integration.Integration) { *i = i.Sandboxed(integration.SandboxedByChange, r.Clock.Now()) })
		}, "the integration went back to the sandbox"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := setup(t)
			r.provider.answer(func(ctx context.Context, n int, f connector.Fetch) (connector.FetchedPage, error) {
				if n == 1 {
					tt.event(r) // in the middle of a page, which must not be committed
				}
				return pages(3, 4)(ctx, n, f)
			})
			j := r.request(syncrun.Live)
			if due := r.handle(j); !due.IsZero() {
				t.Errorf("due at %v", due)
			}
			rec := r.ended(j, syncrun.Failed)
			if rec.Error != tt.says || rec.Progress.Created != 4 || len(r.memories()) != 4 {
				t.Errorf("%q with %d memories: %+v", rec.Error, len(r.memories()), rec.Progress)
			}
		})
	}
}

// TestChangedMeanwhile fetches a page again after a change that keeps the connector certified.
func TestChangedMeanwhile(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.provider.answer(func(ctx context.Context, n int, f connector.Fetch) (connector.FetchedPage, error) {
		if r.provider.fetches() == 1 {
			r.Change("a", "paged", func(i *integration.Integration) { i.Config = json.RawMessage(`{"url":"u","maxItems":9}`) })
		}
		return pages(1, 3)(ctx, n, f)
	})
	rec := r.sync(syncrun.Live)
	if asked := r.provider.asked; len(asked) != 2 || string(asked[1].Config) != `{"url":"u","maxItems":9}` || rec.Progress.Created != 3 {
		t.Errorf("%+v after %d fetches", rec.Progress, len(asked))
	}
}

// TestLease keeps other workers from a run until its worker's lease ends. After that, the first worker's writes have no
// effect.
func TestLease(t *testing.T) {
	t.Parallel()
	r := setup(t)
	j := r.request(syncrun.Live)
	entered, leave := make(chan struct{}), make(chan struct{})
	r.provider.answer(func(ctx context.Context, n int, f connector.Fetch) (connector.FetchedPage, error) {
		close(entered)
		<-leave
		return pages(1, 3)(ctx, n, f)
	})
	first := make(chan time.Time)
	go func() { first <- r.handle(j) }()
	<-entered
	due := r.handle(j)
	if wait := due.Sub(r.Clock.Now()); wait <= 45*time.Second || r.provider.fetches() != 1 {
		t.Errorf("a second worker may continue after %v, %d fetches", wait, r.provider.fetches())
	}
	r.Clock.Set(due)
	r.provider.answer(pages(1, 3))
	if due := r.handle(j); !due.IsZero() {
		t.Errorf("due at %v", due)
	}
	close(leave)
	if due := <-first; !due.IsZero() {
		t.Errorf("the first worker is due at %v", due)
	}
	if rec := r.ended(j, syncrun.Succeeded); rec.Progress.Created != 3 || r.entities()[memory.Entity] != 3 {
		t.Errorf("%+v", rec.Progress)
	}
}

// TestRun handles real messages, and returns promptly after releasing its run.
func TestRun(t *testing.T) {
	t.Parallel()
	r := setup(t)
	entered := make(chan struct{})
	r.provider.answer(func(ctx context.Context, n int, f connector.Fetch) (connector.FetchedPage, error) {
		if n == 2 {
			close(entered)
			<-ctx.Done() // a provider that hangs
			return connector.FetchedPage{}, ctx.Err()
		}
		return pages(4, 3)(ctx, n, f)
	})
	j := r.request(syncrun.Live)
	send := func(body []byte) {
		errtest.Must(t, r.Syncs.Send(t.Context(), queue.Message{Body: body, Group: "a"}))
	}
	body, err := json.Marshal(j)
	errtest.Must(t, err)
	send(body)
	send([]byte(`{"company":"a"}`))
	stop := r.Go(r.Run)
	<-entered
	worktest.Until(t, "the malformed message is buried", func() bool {
		dead, err := r.Syncs.DeadLetters(t.Context(), 1)
		errtest.Must(t, err)
		return len(dead) == 1
	})
	stop()
	if rec := r.record(j); rec.State != syncrun.Running || !rec.Work.LeaseUntil.IsZero() || rec.Progress.Pages != 2 || rec.Work.Tries != 0 {
		t.Errorf("after stopping the run is %+v", rec)
	}
	r.provider.answer(pages(4, 3))
	stop = r.Go(r.Run)
	worktest.Until(t, "the run has ended", func() bool { return r.record(j).State.Ended() })
	stop()
	if rec := r.ended(j, syncrun.Succeeded); rec.Progress.Created != 12 || rec.Progress.Pages != 4 {
		t.Errorf("%+v", rec.Progress)
	}
}

// TestPoison buries the message of a run that cannot be decoded.
func TestPoison(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.Put("a", syncrun.Key("odd"), syncrun.Entity, json.RawMessage(`{"state":1}`))
	errtest.Must(t, r.Syncs.Send(t.Context(), queue.Message{Body: []byte(`{"company":"a","run":"odd"}`)}))
	r.Go(r.Run)
	worktest.Until(t, "the message is buried", func() bool {
		r.Clock.Advance(time.Minute)
		dead, err := r.Syncs.DeadLetters(t.Context(), 1)
		errtest.Must(t, err)
		return len(dead) == 1
	})
	if due := r.handle(syncrun.Job{Company: "a", Run: "unknown"}); !due.IsZero() {
		t.Errorf("an unknown run is due at %v", due)
	}
}
