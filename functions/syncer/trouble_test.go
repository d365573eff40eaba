package syncer_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/connector"
	"orgops/shared/fault"
	"orgops/shared/integration"
	"orgops/shared/memory"
	"orgops/shared/queue"
	"orgops/shared/store"
	"orgops/shared/syncrun"
	"orgops/shared/worktest"
)

// TestCrash: a worker that dies in the middle of a page leaves what it committed, and the next one ends with the same
// items and counts as if nothing had happened.
func TestCrash(t *testing.T) {
	t.Parallel()
	for dies := range 8 { // at the commit with this number: the claim, then parts of three pages
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
		worktest.Must(t, err)
		if _, err := r.Handle(ctx, body); dies < 7 && err == nil {
			t.Fatalf("it did not die at %d", dies)
		}
		r.faulty.Before(nil)
		if rec := r.record(j); !rec.State.Ended() {
			if wait := rec.Work.LeaseUntil.Sub(r.Clock.Now()); wait > 0 {
				if due := r.handle(j); !due.Equal(rec.Work.LeaseUntil) {
					t.Errorf("another worker may come at %v, while the lease ends at %v", due, rec.Work.LeaseUntil)
				}
				r.Clock.Advance(wait)
			}
			if due := r.handle(j); !due.IsZero() {
				t.Errorf("due at %v", due)
			}
		}
		want := syncrun.Progress{Pages: 3, Fetched: 180, Created: 180}
		if diff := cmp.Diff(want, r.ended(j, syncrun.Succeeded).Progress); diff != "" {
			t.Errorf("after dying at %d progress differs (-want +got):\n%s", dies, diff)
		}
		if n := r.entities()[memory.Entity]; n != 180 {
			t.Errorf("after dying at %d the feed has %d memories", dies, n)
		}
	}
}

// TestFailures: the provider fails without any progress. The waits grow; the fifth failure is the last.
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

// TestProgressResetsTries: tries count only what failed without a page in between, and private causes stay private.
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
			t.Fatalf("the run says %q", rec.Error)
		}
		r.Clock.Set(due)
	}
	if rec := r.ended(j, syncrun.Succeeded); rec.Progress.Created != 2*all || rec.Error != "" {
		t.Errorf("%+v", rec)
	}
}

// TestStoreFails: a page that cannot be written is no progress either.
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

// TestConflict: items that others write in between are planned again.
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
		t.Errorf("a message that came early: due at %v, %d fetches", due, r.provider.fetches())
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

// cancel is what the API does to a run that has begun.
func (r *running) cancel(j syncrun.Job) {
	r.T.Helper()
	rec := r.record(j)
	rec.Work.CancelRequested = true
	r.Put("a", syncrun.Key(j.Run), syncrun.Entity, rec)
}

func TestCancel(t *testing.T) {
	t.Parallel()
	t.Run("while it works", func(t *testing.T) {
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
	t.Run("while it waits", func(t *testing.T) {
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

// TestStopped: what happens to the integration while a run of it works ends the run, and nothing more is written.
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
				worktest.Must(r.T, err)
				ops = append(ops, c.Delete(key, item.Entity, item.Version))
			}
			worktest.Must(r.T, c.Commit(r.T.Context(), ops...))
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
					tt.event(r) // in the middle of a page: it must not be committed
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

// TestChangedMeanwhile: a change that leaves the connector certified has the page fetched again.
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

// TestLease: nobody works on a run that another worker has, until its lease ends; then the first one's work is void.
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
		t.Errorf("a second worker may come after %v, %d fetches", wait, r.provider.fetches())
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

// TestRun works on real messages, and returns promptly with the run handed back.
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
		worktest.Must(t, r.Syncs.Send(t.Context(), queue.Message{Body: body, Group: "a"}))
	}
	body, err := json.Marshal(j)
	worktest.Must(t, err)
	send(body)
	send([]byte(`{"company":"a"}`))
	stop := r.Go(r.Run)
	<-entered
	worktest.Until(t, "what says nothing is buried", func() bool {
		dead, err := r.Syncs.DeadLetters(t.Context(), 1)
		worktest.Must(t, err)
		return len(dead) == 1
	})
	stop()
	if rec := r.record(j); rec.State != syncrun.Running || !rec.Work.LeaseUntil.IsZero() || rec.Progress.Pages != 2 || rec.Work.Tries != 0 {
		t.Errorf("after stopping it is %+v", rec)
	}
	r.provider.answer(pages(4, 3))
	stop = r.Go(r.Run)
	worktest.Until(t, "the run has ended", func() bool { return r.record(j).State.Ended() })
	stop()
	if rec := r.ended(j, syncrun.Succeeded); rec.Progress.Created != 12 || rec.Progress.Pages != 4 {
		t.Errorf("%+v", rec.Progress)
	}
}

// TestPoison: a run that cannot be read is buried in the end.
func TestPoison(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.Put("a", syncrun.Key("odd"), syncrun.Entity, json.RawMessage(`{"state":1}`))
	worktest.Must(t, r.Syncs.Send(t.Context(), queue.Message{Body: []byte(`{"company":"a","run":"odd"}`)}))
	r.Go(r.Run)
	worktest.Until(t, "it is buried", func() bool {
		r.Clock.Advance(time.Minute)
		dead, err := r.Syncs.DeadLetters(t.Context(), 1)
		worktest.Must(t, err)
		return len(dead) == 1
	})
	if due := r.handle(syncrun.Job{Company: "a", Run: "unknown"}); !due.IsZero() {
		t.Errorf("an unknown run is due at %v", due)
	}
}
