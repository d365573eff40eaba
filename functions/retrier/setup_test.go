package retrier_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"orgops/functions/retrier"
	"orgops/shared/base/id"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/event"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/recovery"
	"orgops/shared/provider/policyengine"
	"orgops/shared/storage/queue"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/worktest"
	"orgops/shared/webhook/courier"
)

// running wraps a retrier over a test harness, with one certified endpoint of company a.
type running struct {
	*worktest.Harness
	*retrier.Retrier
	faulty   *worktest.Store
	receiver *worktest.Receiver
}

func setup(t *testing.T, edit ...func(*worktest.Endpoint)) *running {
	t.Helper()
	b := worktest.New(t)
	b.Engine = policyengine.New(b.Clock.Now)
	r := &running{Harness: b, faulty: &worktest.Store{Store: b.Store}, receiver: b.Receive()}
	r.Retrier = r.make(courier.Deps{Fresh: time.Minute})
	e := worktest.Endpoint{
		Company: "a", Provider: "webhook", URL: r.receiver.URL, Secrets: r.receiver.Secrets, Events: []string{"memory.*"},
	}
	for _, f := range edit {
		f(&e)
	}
	b.Register(e)
	return r
}

func ordered(e *worktest.Endpoint) { e.Ordered = true }

// setupShared makes a retrier as a Lambda does, which shares its endpoints with other processes.
func setupShared(t *testing.T) *running {
	t.Helper()
	r := setup(t)
	r.Retrier = r.make(courier.Deps{Shared: true})
	return r
}

// make makes a retrier over the faulty store. Its clock is the harness's unless d has one.
func (r *running) make(d courier.Deps) *retrier.Retrier {
	if d.Now == nil {
		d.Now = r.Clock.Now
	}
	d.Store, d.Vault, d.Client, d.Engine, d.Logger, d.Metrics = r.faulty, r.Vault, r.Client, r.Engine, r.Logger, r.Metrics
	return retrier.New(retrier.Deps{Store: r.faulty, Courier: courier.New(d), Queue: r.Retries, Logger: r.Logger, Now: d.Now})
}

// everyWay runs a test with a process that sends alone, and with a Lambda.
func everyWay(t *testing.T, test func(t *testing.T, r *running)) {
	t.Helper()
	t.Run("alone", func(t *testing.T) { t.Parallel(); test(t, setup(t)) })
	t.Run("shared", func(t *testing.T) { t.Parallel(); test(t, setupShared(t)) })
}

// govern stores a policy of company a, if text has one.
func (r *running) govern(text string) {
	r.T.Helper()
	if text != "" {
		r.Put("a", policy.StoredKey, policy.StoredEntity, policy.Stored{Policies: []policy.Statement{{ID: "own", Mode: policy.Enforce, Text: text}}})
	}
}

// deliver records the n-th delivery of company a as after a failed first attempt, due now.
func (r *running) deliver(n int, edit ...func(*delivery.Delivery)) delivery.Job {
	r.T.Helper()
	now := r.Clock.Now()
	d := delivery.Delivery{Head: delivery.Head{EventID: id.At(now, fmt.Sprint(n)), Endpoint: "webhook", Event: event.MemoryCreated, CreatedAt: now}}
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

// wantRecord compares the state of a delivery's record: all except the log and what no attempt changes.
func (r *running) wantRecord(j delivery.Job, want delivery.Delivery) {
	r.T.Helper()
	other := cmpopts.IgnoreFields(delivery.Delivery{}, "EventID", "Endpoint", "Event", "Payload", "Attempts", "CreatedAt", "Turned")
	if diff := cmp.Diff(want, r.record(j), other); diff != "" {
		r.T.Errorf("record differs (-want +got):\n%s", diff)
	}
}

// endpoint holds the members of an integration that its deliveries may change.
type endpoint struct {
	State    integration.State
	Enabled  bool
	Disabled string // the reason
	Cause    string // why it is in the sandbox
}

// wantEndpoint compares the endpoint "webhook".
func (r *running) wantEndpoint(want endpoint) {
	r.T.Helper()
	var i integration.Integration
	r.Get("a", integration.Key("webhook"), &i)
	got := endpoint{State: i.State, Enabled: i.Enabled, Cause: i.SandboxedCause}
	if i.Disabled != nil {
		got.Disabled = i.Disabled.Reason
	}
	if diff := cmp.Diff(want, got); diff != "" {
		r.T.Errorf("endpoint differs (-want +got):\n%s", diff)
	}
}

// handle processes a job, of a recovery in its turn. due tells when its message or that of the next turn is due; it is zero when there is
// none. handle does not end the test, so other goroutines may call it.
func (r *running) handle(job any) (due time.Time) {
	r.T.Helper()
	j, _ := job.(delivery.Job)
	before := r.turn(j)
	if j.Recovery != "" {
		j.Turn = before.Turn
		job = j
	}
	body, err := json.Marshal(job)
	if err == nil {
		due, err = r.Handle(context.Background(), queue.Received{Message: queue.Message{Body: body}, Receives: 1})
	}
	if err != nil {
		r.T.Error(err)
	}
	if after := r.turn(j); after.Turn > before.Turn {
		return after.Due
	}
	return due
}

// turn returns the recovery of a job; the zero one of another job.
func (r *running) turn(j delivery.Job) (rec recovery.Stored) {
	if j.Recovery != "" {
		r.Get("a", recovery.Key(j.Recovery), &rec)
	}
	return rec
}

// wantDone checks that a message is acknowledged, and how many deliveries the endpoint has received by then.
func (r *running) wantDone(message string, due time.Time, sent int) {
	r.T.Helper()
	if !due.IsZero() {
		r.T.Errorf("%s is due again at %v, want never", message, due)
	}
	r.wantSent(sent)
}

// wantSent checks how many deliveries the endpoint has received.
func (r *running) wantSent(want int) {
	r.T.Helper()
	if got := len(r.receiver.All()); got != want {
		r.T.Errorf("the endpoint has received %d deliveries, want %d", got, want)
	}
}

// wantWait checks that a message is due again after a wait of at least least and at most most.
func (r *running) wantWait(due time.Time, least, most time.Duration) {
	r.T.Helper()
	if wait := due.Sub(r.Clock.Now()); wait < least || wait > most {
		r.T.Errorf("due again after %v, want %v to %v", wait, least, most)
	}
}
