package retrier_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"orgops/functions/retrier"
	"orgops/shared/delivery"
	"orgops/shared/event"
	"orgops/shared/id"
	"orgops/shared/worktest"
)

// running is a retrier over a bench, with one certified endpoint of company a.
type running struct {
	*worktest.Bench
	*retrier.Retrier
	faulty   *worktest.Store
	receiver *worktest.Receiver
}

func setup(t *testing.T) *running {
	t.Helper()
	b := worktest.New(t)
	r := &running{Bench: b, faulty: &worktest.Store{Store: b.Store}, receiver: b.Receive()}
	r.Retrier = retrier.New(retrier.Deps{Store: r.faulty, Courier: b.Courier(), Queue: b.Retries, Logger: b.Logger, Now: b.Clock.Now})
	b.Subscribe("a", "webhook", r.receiver, "memory.*")
	return r
}

// deliver puts the n-th delivery of company a on record as it is after a first attempt that failed, due now.
func (r *running) deliver(n int, edit ...func(*delivery.Delivery)) delivery.Job {
	r.T.Helper()
	now := r.Clock.Now()
	d := delivery.Delivery{EventID: id.At(now, fmt.Sprint(n)), Endpoint: "webhook", Event: event.MemoryCreated, CreatedAt: now}
	payload, err := event.Event{ID: d.EventID, Type: d.Event, Timestamp: now, CompanyID: "a", Data: json.RawMessage(`{"title":"A"}`)}.Payload()
	worktest.Must(r.T, err)
	d.Payload = payload
	d.Record(delivery.Attempt{Number: 1, State: delivery.Failed, At: now})
	d.Schedule(now, true)
	for _, e := range edit {
		e(&d)
	}
	r.save(d)
	return job(d)
}

func job(d delivery.Delivery) delivery.Job {
	return delivery.Job{Company: "a", Delivery: d.EventID + "#" + d.Endpoint, Request: d.Requests}
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

// handle works on a job; due is zero when its message is done with. It may run beside the test, which it does not end.
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
