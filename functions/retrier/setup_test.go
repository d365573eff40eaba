package retrier_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"orgops/functions/retrier"
	"orgops/shared/base/id"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/event"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/worktest"
)

// running wraps a retrier over a test harness, with one certified endpoint of company a.
type running struct {
	*worktest.Harness
	*retrier.Retrier
	faulty   *worktest.Store
	receiver *worktest.Receiver
}

func setup(t *testing.T) *running {
	t.Helper()
	b := worktest.New(t)
	r := &running{Harness: b, faulty: &worktest.Store{Store: b.Store}, receiver: b.Receive()}
	r.Retrier = retrier.New(retrier.Deps{Store: r.faulty, Courier: b.Courier(), Queue: b.Retries, Logger: b.Logger, Now: b.Clock.Now})
	b.Subscribe("a", "webhook", r.receiver, "memory.*")
	return r
}

// deliver records the n-th delivery of company a as after a failed first attempt, due now.
func (r *running) deliver(n int, edit ...func(*delivery.Delivery)) delivery.Job {
	r.T.Helper()
	now := r.Clock.Now()
	d := delivery.Delivery{EventID: id.At(now, fmt.Sprint(n)), Endpoint: "webhook", Event: event.MemoryCreated, CreatedAt: now}
	payload, err := event.Event{ID: d.EventID, Type: d.Event, Timestamp: now, CompanyID: "a", Data: json.RawMessage(`{"title":"A"}`)}.Payload()
	errtest.Must(r.T, err)
	d.Payload = payload
	d.Log(delivery.Attempt{Number: 1, State: delivery.Failed, At: now})
	d.Enqueue(now)
	for _, e := range edit {
		e(&d)
	}
	r.save(d)
	return job(d)
}

func job(d delivery.Delivery) delivery.Job {
	return delivery.Job{Company: "a", Delivery: d.EventID + "#" + d.Endpoint, Generation: d.Generation}
}

func (r *running) save(d delivery.Delivery) {
	r.T.Helper()
	r.Put("a", delivery.Key(d.EventID, d.Endpoint), delivery.Entity, d)
}

func (r *running) record(j delivery.Job) (d delivery.Delivery) {
	r.T.Helper()
	if !r.Get("a", delivery.Prefix+j.Delivery, &d) {
		r.T.Fatal("the delivery is gone")
	}
	return d
}

// handle processes a job; due is zero when its message is acknowledged. It does not end the test, so other goroutines may
// call it.
func (r *running) handle(job any) (due time.Time) {
	r.T.Helper()
	body, err := json.Marshal(job)
	if err == nil {
		due, err = r.Handle(context.Background(), body)
	}
	if err != nil {
		r.T.Error(err)
	}
	return due
}

func (r *running) sent() int { return len(r.receiver.All()) }
