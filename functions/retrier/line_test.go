package retrier_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/delivery"
	"orgops/shared/domain/integration"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
)

// line records deliveries about one memory, as the dispatcher does for an ordered endpoint, and returns their jobs.
func (r *running) line(numbers ...int) []delivery.Job {
	r.T.Helper()
	c := r.Company("a")
	var jobs []delivery.Job
	for _, i := range numbers {
		j := r.deliver(i, func(d *delivery.Delivery) { d.Line = "MEMORY#1" })
		d := r.record(j)
		lines := delivery.NewLines(c)
		errtest.Must(r.T, lines.Join(r.T.Context(), &d, r.Clock.Now()))
		r.save(d)
		errtest.Must(r.T, c.Commit(r.T.Context(), lines.Ops()...))
		j.Generation = d.Generation
		jobs = append(jobs, j)
	}
	return jobs
}

// wantStates compares the states of deliveries.
func (r *running) wantStates(when string, jobs []delivery.Job, want ...delivery.State) {
	r.T.Helper()
	var got []delivery.State
	for _, j := range jobs {
		got = append(got, r.record(j).State)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		r.T.Errorf("%s: states differ (-want +got):\n%s", when, diff)
	}
}

// next returns the job of a delivery as it is now.
func (r *running) next(j delivery.Job) delivery.Job {
	r.T.Helper()
	j.Generation = r.record(j).Generation
	return j
}

// TestRetrier_Line sends the deliveries of a line one after the other, each when the one before has ended.
func TestRetrier_Line(t *testing.T) {
	t.Parallel()
	r := setup(t)
	jobs := r.line(0, 1, 2, 3)
	const scheduled, waiting, delivered = delivery.Scheduled, delivery.Waiting, delivery.Delivered
	r.wantStates("at first", jobs, scheduled, waiting, waiting, waiting)
	r.wantDone("a message of a delivery that waits", r.handle(jobs[1]), 0)

	r.receiver.Status(http.StatusInternalServerError)
	r.wantDone("the head's message", r.handle(jobs[0]), 1)
	r.wantStates("the head has failed once", jobs, scheduled, waiting, waiting, waiting)
	r.receiver.Status(http.StatusNoContent)
	r.Clock.Set(*r.record(jobs[0]).NextAttemptAt)
	late := r.next(jobs[0])
	r.wantDone("the head's next message", r.handle(late), 2)
	r.wantStates("the head has arrived", jobs, delivered, scheduled, waiting, waiting)
	r.wantDone("a late copy of its message", r.handle(late), 2)

	r.lose(jobs[2]) // as if it had expired
	r.wantDone("the second's message", r.handle(r.next(jobs[1])), 3)
	r.wantStates("the third had expired", []delivery.Job{jobs[1], jobs[3]}, delivered, scheduled)
	r.wantDone("the last one's message", r.handle(r.next(jobs[3])), 4)
	if r.Get("a", delivery.LineKey(delivery.Delivery{Head: delivery.Head{Endpoint: "webhook", Line: "MEMORY#1"}}), nil) {
		t.Error("the line is still stored, want none")
	}
}

// TestRetrier_Line_Ends makes the next delivery due also when one ends without success.
func TestRetrier_Line_Ends(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		cause func(r *running, head delivery.Job)
		want  delivery.State
	}{
		{"dead", func(r *running, head delivery.Job) {
			r.receiver.Status(http.StatusInternalServerError)
			for d := r.record(head); d.Open(); d = r.record(head) {
				r.Clock.Set(*d.NextAttemptAt)
				r.handle(r.next(head))
			}
		}, delivery.Dead},
		{"refused for good", func(r *running, head delivery.Job) {
			r.receiver.Status(http.StatusGone)
			r.handle(head)
		}, delivery.Failed},
		{"held", func(r *running, head delivery.Job) {
			r.Change("a", "webhook", func(i *integration.Integration) { i.Enabled = false })
			r.handle(head)
		}, delivery.Held},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := setup(t)
			jobs := r.line(0, 1)
			tt.cause(r, jobs[0])
			r.wantStates("the head has ended", jobs, tt.want, delivery.Scheduled)
		})
	}
}

// lose removes the record of a delivery.
func (r *running) lose(j delivery.Job) {
	r.T.Helper()
	c, key := r.Company("a"), delivery.Prefix+j.Delivery
	item, err := c.Get(r.T.Context(), key, nil)
	errtest.Must(r.T, err)
	errtest.Must(r.T, c.Commit(r.T.Context(), c.Delete(key, delivery.Entity, item.Version)))
}

// TestRetrier_Line_Lost goes on after the record of the head is lost, when the next delivery joins. The head of a recent event is
// not looked up.
func TestRetrier_Line_Lost(t *testing.T) {
	t.Parallel()
	const scheduled, waiting, delivered = delivery.Scheduled, delivery.Waiting, delivery.Delivered
	t.Run("OK", func(t *testing.T) {
		t.Parallel()
		r := setup(t)
		jobs := r.line(0, 1, 2)
		r.lose(jobs[0])
		r.lose(jobs[1])
		jobs = append(jobs[2:], r.line(3)...)
		r.wantStates("the head is recent", jobs, waiting, waiting)
		r.Clock.Advance(delivery.OverdueAfter + time.Second)
		jobs = append(jobs, r.line(4)...)
		r.wantStates("another has joined", jobs, scheduled, waiting, waiting)
		for n, j := range jobs {
			r.wantDone("a message", r.handle(r.next(j)), n+1)
		}
		r.wantStates("at the end", jobs, delivered, delivered, delivered)
	})
	t.Run("alone", func(t *testing.T) {
		t.Parallel()
		r := setup(t)
		r.lose(r.line(0)[0])
		r.Clock.Advance(delivery.OverdueAfter + time.Second)
		r.wantStates("another has joined", r.line(1), scheduled)
	})
	t.Run("the head is there", func(t *testing.T) {
		t.Parallel()
		r := setup(t)
		jobs := r.line(0)
		r.Clock.Advance(delivery.OverdueAfter + time.Second)
		r.wantStates("another has joined", append(jobs, r.line(1)...), scheduled, waiting)
	})
	t.Run("the head is damaged", func(t *testing.T) {
		t.Parallel()
		r := setup(t)
		jobs := r.line(0)
		r.Clock.Advance(delivery.OverdueAfter + time.Second)
		r.Put("a", delivery.Prefix+jobs[0].Delivery, delivery.Entity, "damaged")
		r.wantStates("another has joined", r.line(1), waiting)
	})
	t.Run("the head cannot be read", func(t *testing.T) {
		t.Parallel()
		r := setup(t)
		jobs := r.line(0)
		r.Clock.Advance(delivery.OverdueAfter + time.Second)
		next := r.record(r.deliver(1, func(d *delivery.Delivery) { d.Line = "MEMORY#1" }))
		lines := delivery.NewLines(store.For(unreadable{r.Store, delivery.Prefix + jobs[0].Delivery}, "a"))
		if err := lines.Join(t.Context(), &next, r.Clock.Now()); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("err = %v, want %v", err, store.ErrUnavailable)
		}
	})
}

// unreadable wraps a store that cannot read one item.
type unreadable struct {
	store.Store
	key string
}

// Get fails for the item.
func (u unreadable) Get(ctx context.Context, p store.Partition, key string) (store.Item, error) {
	if key == u.key {
		return store.Item{}, store.ErrUnavailable
	}
	return u.Store.Get(ctx, p, key)
}

// TestRetrier_Line_Joined ends a delivery while another one joins its line.
func TestRetrier_Line_Joined(t *testing.T) {
	t.Parallel()
	r := setup(t)
	jobs := r.line(0)
	joined := false
	r.faulty.Before(func(ops []store.Op) error {
		if len(ops) > 1 && !joined {
			joined = true
			jobs = append(jobs, r.line(1)...)
		}
		return nil
	})
	r.wantDone("the head's message", r.handle(jobs[0]), 1)
	r.wantStates("another has joined", jobs, delivery.Delivered, delivery.Scheduled)
}

// TestRetrier_Line_Recover puts the deliveries of a recovery into their line in the order of their events. A full line holds
// what it has no room for.
func TestRetrier_Line_Recover(t *testing.T) {
	t.Parallel()
	r := setup(t)
	jobs := r.line(0, 1, 2)
	r.Change("a", "webhook", func(i *integration.Integration) { i.Enabled = false })
	for _, j := range jobs {
		r.handle(r.next(j))
	}
	r.wantStates("disabled", jobs, delivery.Held, delivery.Held, delivery.Held)
	r.Clock.Advance(time.Second)
	j, _ := r.recover(r.Clock.Now().Add(-time.Hour), r.Clock.Now())
	r.wantDone("the recovery's message", r.handle(j), 0)
	r.wantStates("recovered", jobs, delivery.Scheduled, delivery.Waiting, delivery.Waiting)

	c := r.Company("a")
	full := delivery.Line{Events: make([]string, delivery.MaxLine)}
	errtest.Must(t, c.Commit(t.Context(), c.Create(delivery.LinePrefix+"webhook#MEMORY#2", delivery.LineEntity, full)))
	d := delivery.Delivery{Head: delivery.Head{EventID: "e", Endpoint: "webhook", Line: "MEMORY#2"}}
	errtest.Must(t, delivery.NewLines(c).Join(t.Context(), &d, r.Clock.Now()))
	if want := (delivery.Delivery{Head: delivery.Head{EventID: "e", Endpoint: "webhook", Line: "MEMORY#2", State: delivery.Held, HeldBecause: delivery.HeldLine}}); !cmp.Equal(d, want) {
		t.Errorf("in a full line: %+v, want %+v", d, want)
	}
}
