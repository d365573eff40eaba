package syncer_test

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
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

// TestSyncer_Crash kills a worker in the middle of a page. The next worker ends with the same items and counts as without a
// crash.
func TestSyncer_Crash(t *testing.T) {
	t.Parallel()
	for dies := range 8 { // at this commit: the claim, then parts of three pages
		r := setup(t)
		r.provider.answer(pages(3, 120))
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
		if _, err := r.Handle(ctx, r.message(j)); dies < 7 && err == nil {
			t.Fatalf("the worker did not crash at commit %d, want an error", dies)
		}
		r.faulty.Before(nil)
		if rec := r.record(j); !rec.State.Ended() {
			if wait := rec.Work.LeaseUntil.Sub(r.Clock.Now()); wait > 0 {
				if due := r.handle(j); !due.Equal(rec.Work.LeaseUntil) {
					t.Errorf("another worker may continue at %v, want %v, when the lease ends", due, rec.Work.LeaseUntil)
				}
				r.Clock.Advance(wait)
			}
			r.finish(j, syncrun.Succeeded)
		}
		want := syncrun.Progress{Pages: 3, Fetched: 360, Created: 360}
		if diff := cmp.Diff(want, r.ended(j, syncrun.Succeeded).Progress); diff != "" {
			t.Errorf("after a crash at commit %d progress differs (-want +got):\n%s", dies, diff)
		}
		if n := r.entities()[memory.Entity]; n != 360 {
			t.Errorf("after a crash at commit %d the feed has %d memories, want 360", dies, n)
		}
	}
}

// die ends the worker in the middle of a fetch, as if its process were killed: nothing is written after it.
func die(context.Context, int, connector.Fetch) (connector.FetchedPage, error) {
	runtime.Goexit()
	return connector.FetchedPage{}, nil
}

// lose lets a worker take a run and die. The next worker may take the run when the lease has ended.
func (r *running) lose(j syncrun.Job) {
	r.T.Helper()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		r.handle(j)
	}()
	<-gone
	if until := r.record(j).Work.LeaseUntil; !until.IsZero() { // the run may have ended
		r.Clock.Set(until)
	}
}

// TestSyncer_Lost kills every worker that fetches. The try is stored before the fetch, so the worker after the third ends the
// run and does not fetch.
func TestSyncer_Lost(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.provider.answer(die)
	j := r.request(syncrun.Live)
	for n := range 3 {
		r.lose(j)
		r.wantRun(j, syncrun.StoredRun{
			Run: syncrun.Run{State: syncrun.Running}, Work: syncrun.Work{Begun: n + 1, LeaseUntil: r.Clock.Now()},
		})
		r.wantFetches(n + 1)
	}
	rec := r.finish(j, syncrun.Failed)
	r.wantFetches(3)
	if want := "the sync stopped 3 times in the middle of the same page; check what the provider sends, then request another sync"; rec.Error != want {
		t.Errorf("error %q, want %q", rec.Error, want)
	}
}

// TestSyncer_LostSeldom counts only fetches without a page in between. A fetch that fails or is stopped does not count, and does
// not reset the count.
func TestSyncer_LostSeldom(t *testing.T) {
	t.Parallel()
	const all = 3
	between := []struct {
		name string
		act  func(*running, syncrun.Job)
	}{
		{"nothing", func(*running, syncrun.Job) {}},
		{"a failure", func(r *running, j syncrun.Job) {
			r.provider.answer(failing(errDown))
			r.Clock.Set(r.handle(j))
		}},
		{"a throttle", func(r *running, j syncrun.Job) {
			r.provider.answer(failing(&connector.ThrottledError{Until: r.Clock.Now().Add(time.Hour)}))
			r.Clock.Set(r.handle(j))
		}},
		{"a shutdown", func(r *running, j syncrun.Job) {
			ctx, stop := context.WithCancel(context.Background())
			r.provider.answer(func(context.Context, int, connector.Fetch) (connector.FetchedPage, error) {
				stop()
				return connector.FetchedPage{}, ctx.Err()
			})
			_, err := r.Handle(ctx, r.message(j))
			errtest.Must(r.T, err)
		}},
	}
	for _, tt := range between {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := setup(t)
			r.Slice = 0 // one page a slice
			j := r.request(syncrun.Live)
			for range all {
				for n := range 2 {
					r.provider.answer(die)
					r.lose(j)
					tt.act(r, j)
					if got, want := r.record(j).Work.Begun, n+1; got != want {
						t.Errorf("%d fetches begun, want %d", got, want)
					}
				}
				r.provider.answer(pages(all, 2))
				r.handle(j)
			}
			r.wantProgress(r.ended(j, syncrun.Succeeded), syncrun.Progress{Pages: all, Fetched: 2 * all, Created: 2 * all})
		})
	}
	t.Run("every page", func(t *testing.T) {
		t.Parallel()
		r := setup(t)
		r.provider.answer(func(ctx context.Context, n int, f connector.Fetch) (connector.FetchedPage, error) {
			if n > 0 { // the first page is stored; each worker dies with the second one
				return die(ctx, n, f)
			}
			return pages(all, 2)(ctx, n, f)
		})
		j := r.request(syncrun.Live)
		for range 3 {
			r.lose(j)
		}
		r.wantFetches(4)
		r.wantProgress(r.finish(j, syncrun.Failed), syncrun.Progress{Pages: 1, Fetched: 2, Created: 2})
		r.wantFetches(4)
	})
}

// TestSyncer_Failures lets the provider fail without progress. The waits grow, and the fifth failure ends the run.
func TestSyncer_Failures(t *testing.T) {
	t.Parallel()
	r := setup(t)
	const reason = "the provider answers 500"
	r.provider.answer(failing(fault.Wrap(fault.Unavailable, reason, errDown)))
	j := r.request(syncrun.Live)
	for n, want := range []time.Duration{10 * time.Second, 30 * time.Second, 90 * time.Second, 270 * time.Second} {
		due := r.handle(j)
		if wait := due.Sub(r.Clock.Now()); wait != want {
			t.Fatalf("failure %d: due after %v, want %v", n+1, wait, want)
		}
		r.wantRun(j, syncrun.StoredRun{Run: syncrun.Run{State: syncrun.Running, Error: reason}, Work: syncrun.Work{Tries: n + 1}})
		r.Clock.Set(due)
	}
	if rec := r.finish(j, syncrun.Failed); rec.Error != reason {
		t.Errorf("error %q, want %q", rec.Error, reason)
	}
	r.wantFetches(5)
}

// TestSyncer_ProgressResetsTries counts only consecutive failures without a page in between, and does not show internal
// errors.
func TestSyncer_ProgressResetsTries(t *testing.T) {
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
		if got, want := r.record(j).Error, "the provider could not be fetched"; got != want {
			t.Fatalf("error %q, want %q", got, want)
		}
		r.Clock.Set(due)
	}
	rec := r.ended(j, syncrun.Succeeded)
	r.wantProgress(rec, syncrun.Progress{Pages: all, Fetched: 2 * all, Created: 2 * all})
	if rec.Error != "" {
		t.Errorf("error %q, want none", rec.Error)
	}
}

// TestSyncer_StoreFails retries a page that cannot be written.
func TestSyncer_StoreFails(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.faulty.Before(func(ops []store.Op) error {
		if len(ops) > 1 && ops[len(ops)-1].Entity != syncrun.SlotEntity {
			return errors.New("this page cannot be written")
		}
		return nil
	})
	r.wantProgress(r.finishLate(r.request(syncrun.Live), syncrun.Failed), syncrun.Progress{})
	r.wantFetches(5)
}

// TestSyncer_Conflict plans items again after concurrent writes.
func TestSyncer_Conflict(t *testing.T) {
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
	r.wantProgress(r.sync(syncrun.Live), syncrun.Progress{Pages: 1, Fetched: 3, Created: 3})
	r.wantFetches(1)
}

func TestSyncer_Throttled(t *testing.T) {
	t.Parallel()
	r := setup(t)
	began := r.Clock.Now()
	until := began.Add(time.Hour)
	r.provider.answer(failing(&connector.ThrottledError{Until: until}))
	j := r.request(syncrun.Live)
	for _, message := range []string{"the first message", "an early message"} {
		if due := r.handle(j); !due.Equal(until) {
			t.Errorf("%s is due again at %v, want %v", message, due, until)
		}
		r.wantRun(j, syncrun.StoredRun{Run: syncrun.Run{State: syncrun.Running, ThrottledUntil: &until}, Work: syncrun.Work{Throttled: began}})
		r.wantFetches(1)
	}
	r.Clock.Set(until)
	r.provider.answer(failing(&connector.ThrottledError{}))
	due := r.handle(j)
	if !due.After(until) {
		t.Errorf("a throttle without a time is due at %v, want after %v", due, until)
	}
	r.Clock.Set(due)
	r.provider.answer(pages(1, 3))
	rec := r.finish(j, syncrun.Succeeded)
	r.wantProgress(rec, syncrun.Progress{Pages: 1, Fetched: 3, Created: 3})
	if rec.ThrottledUntil != nil {
		t.Errorf("the ended run is throttled until %v, want nil", rec.ThrottledUntil)
	}
}

// TestSyncer_Throttled_AtOnce asks a provider that always wants to be asked again at once more and more rarely.
func TestSyncer_Throttled_AtOnce(t *testing.T) {
	t.Parallel()
	r := setup(t)
	j := r.request(syncrun.Live)
	fetches := 0
	r.provider.answer(func(context.Context, int, connector.Fetch) (connector.FetchedPage, error) {
		fetches++
		return connector.FetchedPage{}, &connector.ThrottledError{Until: r.Clock.Now()}
	})
	for began := r.Clock.Now(); r.Clock.Now().Before(began.Add(time.Hour)); {
		r.Clock.Set(r.handle(j))
	}
	if fetches > 300 {
		t.Errorf("%d requests within an hour, want at most 300", fetches)
	}
}

// TestSyncer_Throttled_Failing waits as long as a failing server asks, but counts its failures: the run fails after the fifth.
func TestSyncer_Throttled_Failing(t *testing.T) {
	t.Parallel()
	r := setup(t)
	j := r.request(syncrun.Live)
	r.provider.answer(func(context.Context, int, connector.Fetch) (connector.FetchedPage, error) {
		return connector.FetchedPage{}, &connector.ThrottledError{Until: r.Clock.Now().Add(20 * time.Second), Failing: true}
	})
	first := r.Clock.Now()
	due := r.handle(j)
	if wait := due.Sub(first); wait != 20*time.Second {
		t.Errorf("the next try is due after %v, want the 20 s that the server asks for", wait)
	}
	r.Clock.Set(due)
	r.finishLate(j, syncrun.Failed)
	r.wantFetches(5)
}

// TestSyncer_Throttled_Long ends a run as failed once the provider has throttled each of its fetches for a day. A page in between
// begins the day again.
func TestSyncer_Throttled_Long(t *testing.T) {
	t.Parallel()
	r := setup(t)
	j := r.request(syncrun.Live)
	throttle := func(hours int) {
		r.provider.answer(func(context.Context, int, connector.Fetch) (connector.FetchedPage, error) {
			return connector.FetchedPage{}, &connector.ThrottledError{Until: r.Clock.Now().Add(time.Hour)}
		})
		for range hours {
			r.Clock.Set(r.handle(j))
		}
	}
	throttle(24)
	r.provider.answer(func(ctx context.Context, n int, f connector.Fetch) (connector.FetchedPage, error) {
		if n == 1 {
			return connector.FetchedPage{}, &connector.ThrottledError{Until: r.Clock.Now().Add(time.Hour)}
		}
		return pages(2, 3)(ctx, n, f)
	})
	r.Clock.Set(r.handle(j))
	throttle(23)
	run := r.finish(j, syncrun.Failed)
	if want := "the provider has throttled every request for a day"; !strings.HasPrefix(run.Error, want) {
		t.Errorf("the run's error is %q, want it to begin with %q", run.Error, want)
	}
	if got := r.slot().Failures; got != 1 {
		t.Errorf("%d failed runs are counted, want 1", got)
	}
}

// cancel requests the cancellation of a run that has started, as the API does.
func (r *running) cancel(j syncrun.Job) {
	r.T.Helper()
	rec := r.record(j)
	rec.Work.CancelRequested = true
	r.Put("a", syncrun.Key(j.Run), syncrun.Entity, rec)
}

func TestSyncer_Cancel(t *testing.T) {
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
		r.wantProgress(r.finish(j, syncrun.Cancelled), syncrun.Progress{Pages: 1, Fetched: 3, Created: 3})
		r.wantMemories(3)
		r.wantFetches(2)
	})
	t.Run("while the run waits", func(t *testing.T) {
		t.Parallel()
		r := setup(t)
		r.provider.answer(failing(&connector.ThrottledError{Until: r.Clock.Now().Add(time.Hour)}))
		j := r.request(syncrun.Live)
		r.handle(j)
		r.cancel(j)
		r.finish(j, syncrun.Cancelled)
	})
}

// TestSyncer_Stopped changes the integration during a run. The run ends and writes nothing more.
func TestSyncer_Stopped(t *testing.T) {
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
			rec := r.finish(r.request(syncrun.Live), syncrun.Failed)
			r.wantProgress(rec, syncrun.Progress{Pages: 1, Fetched: 4, Created: 4})
			if rec.Error != tt.says {
				t.Errorf("error %q, want %q", rec.Error, tt.says)
			}
			r.wantMemories(4)
		})
	}
}

// TestSyncer_ChangedMeanwhile fetches a page again after a change that keeps the connector certified.
func TestSyncer_ChangedMeanwhile(t *testing.T) {
	t.Parallel()
	r := setup(t)
	const changed = `{"url":"u","maxItems":9}`
	r.provider.answer(func(ctx context.Context, n int, f connector.Fetch) (connector.FetchedPage, error) {
		if r.provider.fetches() == 1 {
			r.Change("a", "paged", func(i *integration.Integration) { i.Config = json.RawMessage(changed) })
		}
		return pages(1, 3)(ctx, n, f)
	})
	r.wantProgress(r.sync(syncrun.Live), syncrun.Progress{Pages: 1, Fetched: 3, Created: 3})
	want := []connector.Fetch{{Config: json.RawMessage(config)}, {Config: json.RawMessage(changed)}}
	if diff := cmp.Diff(want, r.provider.asked); diff != "" {
		t.Errorf("fetches differ (-want +got):\n%s", diff)
	}
}

// TestSyncer_Lease keeps other workers from a run until its worker's lease ends. After that, the first worker's writes have
// no effect.
func TestSyncer_Lease(t *testing.T) {
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
	if wait := due.Sub(r.Clock.Now()); wait <= 45*time.Second {
		t.Errorf("a second worker may continue after %v, want more than 45 s", wait)
	}
	r.wantFetches(1)
	r.Clock.Set(due)
	r.provider.answer(pages(1, 3))
	r.finish(j, syncrun.Succeeded)
	close(leave)
	if due := <-first; !due.IsZero() {
		t.Errorf("the first worker is due again at %v, want never", due)
	}
	r.wantProgress(r.ended(j, syncrun.Succeeded), syncrun.Progress{Pages: 1, Fetched: 3, Created: 3})
	if n := r.entities(); n[memory.Entity] != 3 {
		t.Errorf("the feed has %v, want 3 memories", n)
	}
}

// TestSyncer_Run handles real messages, and returns promptly after releasing its run.
func TestSyncer_Run(t *testing.T) {
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
	send(r.message(j))
	send([]byte(`{"company":"a"}`))
	stop := r.Go(r.Run)
	<-entered
	worktest.Until(t, "the malformed message is buried", func() bool {
		dead, err := r.Syncs.DeadLetters(t.Context(), 1)
		errtest.Must(t, err)
		return len(dead) == 1
	})
	stop()
	r.wantRun(j, syncrun.StoredRun{
		Run:  syncrun.Run{State: syncrun.Running, Progress: syncrun.Progress{Pages: 2, Fetched: 6, Created: 6}},
		Work: syncrun.Work{Checkpoint: json.RawMessage(`2`)},
	})
	r.provider.answer(pages(4, 3))
	send(r.message(j)) // as the dispatcher does
	stop = r.Go(r.Run)
	worktest.Until(t, "the run has ended", func() bool { return r.record(j).State.Ended() })
	stop()
	r.wantProgress(r.ended(j, syncrun.Succeeded), syncrun.Progress{Pages: 4, Fetched: 12, Created: 12})
}

// TestSyncer_Poison buries the message of a run that cannot be decoded.
func TestSyncer_Poison(t *testing.T) {
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
		t.Errorf("an unknown run is due at %v, want never", due)
	}
}
