package dispatcher_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/delivery"
	"orgops/shared/domain/memory"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/worktest"
)

// subscribeInOrder registers an ordered endpoint.
func (r *running) subscribeInOrder(company string) *worktest.Receiver {
	r.T.Helper()
	receiver := r.Receive()
	r.Register(worktest.Endpoint{
		Company: company, Provider: "webhook", URL: receiver.URL, Secrets: receiver.Secrets, Events: []string{"memory.*"}, Ordered: true,
	})
	return receiver
}

// rewrite commits n versions of a memory, each with its number as title.
func (r *running) rewrite(company string, n int) (line string) {
	r.T.Helper()
	c := r.Company(company)
	m := r.memory(1, "0")
	for i := range n {
		m.Title = fmt.Sprint(i)
		errtest.Must(r.T, c.Commit(r.T.Context(), c.Save(memory.Key(m.ID), memory.Entity, int64(i), m)))
	}
	return memory.Key(m.ID)
}

// wantLine waits until n deliveries stand in a line, and compares the titles that they carry and their states.
func (r *running) wantLine(company, line string, n int) {
	r.T.Helper()
	var stored delivery.Line
	worktest.Until(r.T, fmt.Sprintf("%d deliveries stand in the line", n), func() bool {
		return r.Get(company, delivery.LineKey(delivery.Delivery{Head: delivery.Head{Endpoint: "webhook", Line: line}}), &stored) && len(stored.Events) == n
	})
	var got, want []string
	for place, event := range stored.Events {
		var d delivery.Delivery
		r.Get(company, delivery.Key(event, "webhook"), &d)
		var payload struct{ Data struct{ Title string } }
		errtest.Must(r.T, json.Unmarshal(d.Payload, &payload))
		got = append(got, payload.Data.Title+" "+string(d.State))
		state := delivery.Waiting
		if place == 0 {
			state = delivery.Scheduled
		}
		want = append(want, fmt.Sprint(place, " ", state))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		r.T.Errorf("the line differs (-want +got):\n%s", diff)
	}
}

// TestDispatcher_Order puts the deliveries of an ordered endpoint into a line for each record, and leaves the attempts to the
// retrier.
func TestDispatcher_Order(t *testing.T) {
	t.Parallel()
	r := start(t)
	receiver := r.subscribeInOrder("a")
	line := r.rewrite("a", 30)
	r.wantLine("a", line, 30)
	r.wantReceived(receiver, 0)
}

// TestDispatcher_Order_Failed keeps the order while writes fail, and while endpoints cannot be read.
func TestDispatcher_Order_Failed(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.subscribeInOrder("a")
	var refused atomic.Int64
	r.faulty.Before(func([]store.Op) error {
		if refused.Add(1) < 4 {
			return errors.New("away")
		}
		return nil
	})
	line := r.rewrite("a", 10)
	r.run(r.Store)
	r.wantLine("a", line, 10)
}

// TestDispatcher_Order_Unread publishes a change whose endpoints could not be read before a later change of the same record,
// although the later one comes first.
func TestDispatcher_Order_Unread(t *testing.T) {
	t.Parallel()
	r := setup(t)
	r.subscribeInOrder("a")
	line := r.rewrite("a", 3)
	var changes []store.Change
	for _, c := range r.Changes(4) {
		if c.Entity == memory.Entity {
			changes = append(changes, c)
		}
	}
	feed := feedOf(store.Batch{Changes: changes[:1]}, store.Batch{Changes: changes[1:2]}, store.Batch{Changes: changes[2:]})
	r.faulty.FailQueries(1)
	r.run(feed)
	for n, want := range []bool{true, false, false} {
		if err := <-feed.finished; (err != nil) != want {
			t.Errorf("batch %d: err = %v, want an error: %t", n+1, err, want)
		}
	}
	r.wantLine("a", line, 3)
}

// TestDispatcher_Order_Skipped checks that a line goes on after a delivery that could not be recorded, when its endpoint does not get
// the event any more: the filter leaves it out, or the endpoint does not subscribe to it.
func TestDispatcher_Order_Skipped(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]map[string]any{
		"filtered": {"filter": `.type == "memory.updated"`}, "not subscribed": {"events": []string{"memory.updated"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := setup(t)
			r.subscribeInOrder("a")
			r.configure("a", "webhook", map[string]any{"filter": `true`})
			line := r.rewrite("a", 2)
			var changes []store.Change
			for _, c := range r.Changes(4) {
				if c.Entity == memory.Entity {
					changes = append(changes, c)
				}
			}
			r.run(feedOf())
			handle := func(b store.Batch) error {
				finished := make(chan error, 1)
				r.dispatcher.Handle(t.Context(), b, func(err error) { finished <- err })
				return <-finished
			}
			r.faulty.Before(func(ops []store.Op) error {
				if ops[0].Entity == delivery.Entity {
					r.faulty.Before(nil)
					panic("the record is not written")
				}
				return nil
			})
			if err := handle(store.Batch{Changes: changes[:1]}); err == nil {
				t.Fatal("the first delivery is recorded, want an error")
			}
			r.configure("a", "webhook", change)
			r.dispatcher.Courier.Forget("a")
			errtest.Must(t, handle(store.Batch{Changes: changes, Replay: true}))
			var stored delivery.Line
			worktest.Until(t, "the second delivery stands in the line", func() bool {
				return r.Get("a", delivery.LineKey(delivery.Delivery{Head: delivery.Head{Endpoint: "webhook", Line: line}}), &stored)
			})
			if len(stored.Events) != 1 {
				t.Errorf("%d deliveries stand in the line, want the second alone", len(stored.Events))
			}
		})
	}
}
