package retrier_test

import (
	"encoding/json"
	"fmt"
	"time"

	"orgops/shared/base/id"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/recovery"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/worktest"
)

// states lists the states of the deliveries that window records, in turn.
var states = []delivery.State{delivery.Held, delivery.Dead, delivery.Failed, delivery.Delivered}

// window records deliveries a minute apart, in every state and of two endpoints.
func (r *running) window(n int, edit ...func(*delivery.Delivery)) (from time.Time) {
	r.T.Helper()
	from = r.Clock.Now()
	c := r.Company("a")
	var ops []store.Op
	for i := range n {
		at := from.Add(time.Duration(i) * time.Minute)
		d := delivery.Delivery{Head: delivery.Head{EventID: id.At(at, fmt.Sprint(i)), Endpoint: "webhook", CreatedAt: at, Generation: i % 2}, Payload: json.RawMessage(`{}`)}
		if i%5 == 4 {
			d.Endpoint = "webhook-other"
		}
		d.End(states[i%len(states)])
		d.Made = 10
		for _, e := range edit {
			e(&d)
		}
		if ops = append(ops, c.Create(delivery.Key(d.EventID, d.Endpoint), delivery.Entity, d)); len(ops) == 10 || i == n-1 {
			errtest.Must(r.T, c.Commit(r.T.Context(), ops...))
			ops = nil
		}
	}
	return from
}

func (r *running) recover(from, to time.Time) (delivery.Job, func() recovery.Stored) {
	r.T.Helper()
	rec := recovery.Stored{Recovery: recovery.Recovery{
		ID: id.New(), Provider: "webhook", Since: from, Until: to, State: recovery.Requested, RequestedAt: r.Clock.Now(),
	}}
	r.Put("a", recovery.Key(rec.ID), recovery.Entity, rec)
	return delivery.Job{Company: "a", Recovery: rec.ID}, func() (now recovery.Stored) {
		r.Get("a", recovery.Key(rec.ID), &now)
		return now
	}
}

// holds records n held deliveries.
func (r *running) holds(n int) []delivery.Job {
	r.T.Helper()
	jobs := make([]delivery.Job, n)
	for i := range n {
		jobs[i] = r.deliver(i, func(d *delivery.Delivery) { d.Hold("disabled") })
	}
	return jobs
}

// recoverAll requests a recovery of everything.
func (r *running) recoverAll() (delivery.Job, func() recovery.Stored) {
	r.T.Helper()
	return r.recover(r.Clock.Now().Add(-time.Hour), r.Clock.Now())
}

// count counts the deliveries by state.
func (r *running) count() map[delivery.State]int {
	r.T.Helper()
	all := map[delivery.State]int{}
	for _, d := range worktest.All[delivery.Delivery](r.Harness, "a", delivery.Prefix) {
		all[d.State]++
	}
	return all
}

// wantFinished checks that a recovery has finished, with so many deliveries.
func (r *running) wantFinished(rec recovery.Stored, recovered int) {
	r.T.Helper()
	if rec.State != recovery.Finished {
		r.T.Errorf("the recovery is %s, want finished", rec.State)
	}
	if rec.FinishedAt == nil {
		r.T.Error("the recovery has no time of its end")
	}
	if rec.Recovered != recovered {
		r.T.Errorf("the recovery has sent %d deliveries, want %d", rec.Recovered, recovered)
	}
}
