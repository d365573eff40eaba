package dispatcher_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/functions/dispatcher"
	"orgops/shared/base/id"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/event"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/domain/parked"
	"orgops/shared/domain/recovery"
	"orgops/shared/domain/syncrun"
	"orgops/shared/domain/timeline"
	"orgops/shared/storage/queue"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/worktest"
)

// types counts deliveries by the type of their event.
func types(all []worktest.Received) map[string]int {
	n := map[string]int{}
	for _, d := range all {
		n[d.Type]++
	}
	return n
}

// TestDispatcher_Events checks that each cause of an event of the contract yields its event, and that only endpoints that subscribe by name or by
// category receive it. The receivers verify the signatures of both live secrets.
func TestDispatcher_Events(t *testing.T) {
	t.Parallel()
	r := start(t)
	all, one, none, foreign := r.Receive(), r.Receive(), r.Receive(), r.Receive()
	r.Subscribe("a", "webhook", all, "memory.*", "goal.*", "integration.*", "timeline.*")
	r.Subscribe("a", "webhook-one", one, event.MemoryUpdated)
	r.Subscribe("a", "webhook-none", none, "orders.*")
	r.Subscribe("b", "webhook", foreign, "memory.*", "goal.*", "integration.*", "timeline.*")
	r.Register(worktest.Endpoint{Company: "a", Provider: "webhook-closed", URL: none.URL, Secrets: none.Secrets, Events: []string{"memory.*"}})
	r.Change("a", "webhook-closed", func(i *integration.Integration) { i.Permissions = nil })

	r.remember("a", 1)
	r.rememberAs("a", 1, "Another title")
	now := r.Clock.Now()
	due := now.Add(24 * time.Hour)
	g, _ := goal.Apply(goal.Goal{}, "github", goal.Draft{ExternalID: "1", Title: "Ship", State: goal.Open, DueAt: &due}, now)
	r.Put("a", goal.Key(g.ID), goal.Entity, g)
	g, _ = goal.Review(g, "", due)
	r.Put("a", goal.Key(g.ID), goal.Entity, g)
	run := syncrun.StoredRun{Run: syncrun.Run{ID: id.New(), Provider: "feed", Mode: syncrun.Live, State: syncrun.Running}}
	r.Put("a", syncrun.Key(run.ID), syncrun.Entity, run)
	run.State = syncrun.Succeeded
	r.Put("a", syncrun.Key(run.ID), syncrun.Entity, run)
	entry := timeline.Entry{ID: id.New(), At: now, Kind: timeline.Note, Title: "A note"}
	r.Put("a", timeline.Key(entry.ID), timeline.Entity, entry)

	want := map[string]int{
		event.MemoryCreated: 1, event.MemoryUpdated: 1, event.GoalUpdated: 2, event.GoalAlignmentChanged: 1,
		event.MemorySynced: 1, event.IntegrationSyncCompleted: 1, event.TimelineEntryCreated: 1,
	}
	r.wantSettled("a", states{delivery.Delivered: 9})
	if diff := cmp.Diff(want, types(all.All())); diff != "" {
		t.Errorf("events differ (-want +got):\n%s", diff)
	}
	for _, d := range all.All() {
		got, want := [2]string{d.CompanyID, d.Header.Get("Content-Type")}, [2]string{"a", "application/json"}
		if got != want {
			t.Errorf("%s has the company and content type %q, want %q", d.Type, got, want)
		}
	}
	if diff := cmp.Diff(map[string]int{event.MemoryUpdated: 1}, types(one.All())); diff != "" {
		t.Errorf("events of a subscription by name differ (-want +got):\n%s", diff)
	}
	r.wantReceived(none, 0)
	r.wantReceived(foreign, 0)
	for _, d := range r.deliveries("a") {
		r.wantRecord(d, delivery.Delivery{
			Head: delivery.Head{
				State: delivery.Delivered, Made: 1,
			},
			Attempts: []delivery.Attempt{{Number: 1, State: delivery.Delivered, Status: 204}},
		})
	}
}

func TestDispatcher_Held(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, because string
		endpoint      worktest.Endpoint
		edit          func(*integration.Integration)
	}{
		{"sandboxed", "sandbox", worktest.Endpoint{}, func(i *integration.Integration) {
			*i = i.Sandboxed(integration.SandboxedByChange, i.UpdatedAt)
		}},
		{"certification expired", "sandbox", worktest.Endpoint{}, func(i *integration.Integration) { i.Certification.ExpiresAt = i.CreatedAt }},
		{"port not proven", "sandbox", worktest.Endpoint{}, func(i *integration.Integration) { i.Certification.Ports = nil }},
		{"disabled", "disabled", worktest.Endpoint{}, func(i *integration.Integration) { i.Enabled = false }},
		{"invalid url", "configuration", worktest.Endpoint{URL: "none"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := start(t)
			receiver := r.Receive()
			tt.endpoint.Company, tt.endpoint.Provider, tt.endpoint.Events = "a", "webhook", []string{"memory.*"}
			tt.endpoint.Secrets = receiver.Secrets
			if tt.endpoint.URL == "" {
				tt.endpoint.URL = receiver.URL
			}
			r.Register(tt.endpoint)
			if tt.edit != nil {
				r.Change("a", "webhook", tt.edit)
			}
			r.remember("a", 1)
			r.settled("a", 1)
			r.wantRecord(r.deliveries("a")[0], delivery.Delivery{Head: delivery.Head{State: delivery.Held, HeldBecause: tt.because}})
			r.wantReceived(receiver, 0)
		})
	}
}

// wantMessage takes the next message from a queue and compares it.
func wantMessage[T comparable](r *running, q queue.Queue, cause string, want T) {
	r.T.Helper()
	if got := message[T](r, q); got != want {
		r.T.Errorf("%s: message %+v, want %+v", cause, got, want)
	}
}

// TestDispatcher_Queued checks that work for later is recorded first, and that its message follows from the change.
func TestDispatcher_Queued(t *testing.T) {
	t.Parallel()
	r := start(t)
	run := syncrun.StoredRun{Run: syncrun.Run{ID: id.New(), Provider: "feed", State: syncrun.Requested}}
	r.Put("a", syncrun.Key(run.ID), syncrun.Entity, run)
	wantMessage(r, r.Syncs, "a requested run", syncrun.Job{Company: "a", Run: run.ID})
	run.State = syncrun.Running
	r.Put("a", syncrun.Key(run.ID), syncrun.Entity, run)
	run.Work.CancelRequested = true
	run.Work.Ask(r.Clock.Now())
	r.Put("a", syncrun.Key(run.ID), syncrun.Entity, run)
	wantMessage(r, r.Syncs, "a run to be cancelled", syncrun.Job{Company: "a", Run: run.ID, Turn: 1})
	run.State = syncrun.Cancelled
	r.Put("a", syncrun.Key(run.ID), syncrun.Entity, run)

	rec := recovery.Stored{Recovery: recovery.Recovery{ID: id.New(), Provider: "webhook", State: recovery.Requested}}
	r.Put("a", recovery.Key(rec.ID), recovery.Entity, rec)
	wantMessage(r, r.Retries, "a recovery", delivery.Job{Company: "a", Recovery: rec.ID})
	rec.State = recovery.Finished
	r.Put("a", recovery.Key(rec.ID), recovery.Entity, rec)

	d := delivery.Delivery{Head: delivery.Head{EventID: id.New(), Endpoint: "webhook", State: delivery.Held}, Payload: json.RawMessage(`{"generation":1}`)}
	key := delivery.Key(d.EventID, d.Endpoint)
	r.Put("a", key, delivery.Entity, d)
	d.Restart(r.Clock.Now())
	r.Put("a", key, delivery.Entity, d)
	wantMessage(r, r.Retries, "a restart", delivery.Job{Company: "a", Delivery: d.EventID + "#webhook", Generation: 1})
	d.Postpone(r.Clock.Now().Add(time.Hour)) // as the retrier does with the message that it has
	r.Put("a", key, delivery.Entity, d)
	d.Restart(r.Clock.Now())
	r.Put("a", key, delivery.Entity, d)
	// There was no message in between.
	wantMessage(r, r.Retries, "a second restart", delivery.Job{Company: "a", Delivery: d.EventID + "#webhook", Generation: 2})
}

// TestDispatcher_Lookout checks that the scheduled deliveries of an hour have one timer, which is set before the batch is
// finished.
func TestDispatcher_Lookout(t *testing.T) {
	t.Parallel()
	r := setup(t)
	now := r.Clock.Now()
	var changes []store.Change
	for n := range 3 {
		d := delivery.Delivery{Head: delivery.Head{EventID: id.At(now, fmt.Sprint(n)), Endpoint: "webhook"}, Payload: json.RawMessage(`{}`)}
		d.Enqueue(now)
		body, err := json.Marshal(d)
		errtest.Must(t, err)
		changes = append(changes, store.Change{
			Company: "a", Key: delivery.Key(d.EventID, d.Endpoint), Entity: delivery.Entity, At: now, New: &store.Image{Version: 1, Body: body},
		})
	}
	at, subject, _ := delivery.TransitionOf(changes[0]).Lookout()
	want := r.Company("a").Timer(at, delivery.OverdueTimer, subject)
	var timers atomic.Int64
	r.faulty.Before(func(ops []store.Op) error {
		if ops[0].Key != want.Key {
			t.Errorf("commit of %s, want %s", ops[0].Key, want.Key)
		}
		if timers.Add(1) == 1 {
			return store.ErrUnavailable
		}
		return nil
	})
	f := feedOf(store.Batch{Changes: changes[:1]})
	r.run(f)
	if err := <-f.finished; !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("without the timer the batch ended with %v, want %v", err, store.ErrUnavailable)
	}
	r.stop()
	for range 2 {
		f = feedOf(store.Batch{Changes: changes[:1]}, store.Batch{Changes: changes[1:]})
		r.run(f)
		for range 2 {
			errtest.Must(t, <-f.finished)
		}
		r.stop()
	}
	page, err := r.Store.Query(t.Context(), want.Partition, store.Query{})
	errtest.Must(t, err)
	if len(page.Items) != 1 {
		t.Errorf("%d timers, want 1", len(page.Items))
	}
	if n := timers.Load(); n > 4 { // the refused one, and at most one for each change of the first round
		t.Errorf("%d commits of the timer, want none once it is known", n)
	}
}

// TestDispatcher_Unreadable checks that a change that cannot be decoded is parked and does not block the others. While it
// cannot be parked, it is redelivered.
func TestDispatcher_Unreadable(t *testing.T) {
	t.Parallel()
	r := start(t)
	receiver := r.Receive()
	r.Subscribe("a", "webhook", receiver, "memory.*")
	r.faulty.Once(parked.Entity, store.ErrUnavailable)
	r.Put("a", "MEMORY#odd", "memory", json.RawMessage(`[1]`))
	r.Put("a", "MEMORY#odd", "memory", json.RawMessage(`[2]`))
	r.Put("a", "DELIVERY#odd", "delivery", json.RawMessage(`{"generation":"many"}`))
	r.remember("a", 1)
	for range 2 { // one of them for MEMORY#odd: its creation decodes, its update does not
		if got := receiver.Next(); got.Type != event.MemoryCreated {
			t.Errorf("event %s, want %s", got.Type, event.MemoryCreated)
		}
	}
	r.wantParked("a", "DELIVERY#odd", "MEMORY#odd")
}

// wantParked waits until a company has as many parked changes as there are keys, and compares their items' keys.
func (r *running) wantParked(company string, keys ...string) {
	r.T.Helper()
	var got []string
	worktest.Until(r.T, fmt.Sprintf("%d changes of %s are parked", len(keys), company), func() bool {
		got = nil
		for _, p := range worktest.All[parked.Change](r.Harness, company, parked.Prefix) {
			got = append(got, p.Key)
		}
		return len(got) == len(keys)
	})
	slices.Sort(got)
	if diff := cmp.Diff(keys, got); diff != "" {
		r.T.Errorf("parked changes of %s differ (-want +got):\n%s", company, diff)
	}
}

// TestDispatcher_Parked delivers the events of parked changes that an operator gives back, as after a release that
// understands them. A change that is still not understood, or that another consumer parked, stays.
func TestDispatcher_Parked(t *testing.T) {
	t.Parallel()
	r := start(t)
	receiver := r.Receive()
	r.Subscribe("a", "webhook", receiver, "memory.*")
	m := r.memory(1, "Once odd")
	body, err := json.Marshal(m)
	errtest.Must(t, err)
	good := store.Change{
		Sequence: "1", Company: "a", Key: memory.Key(m.ID), Entity: memory.Entity, At: r.Clock.Now(), New: &store.Image{Version: 1, Body: body},
	}
	odd := good
	odd.Key, odd.Old, odd.New = "MEMORY#odd", &store.Image{Version: 1, Body: []byte(`[1]`)}, &store.Image{Version: 2, Body: []byte(`[2]`)}
	other := good
	other.Key = "MEMORY#other"
	for consumer, changes := range map[string][]store.Change{dispatcher.Consumer: {good, odd}, "projector": {other}} {
		lot := parked.Lot{Store: r.Store, Consumer: consumer, Logger: r.Logger, Now: r.Clock.Now}
		for _, c := range changes {
			errtest.Must(t, lot.Park(t.Context(), c, errors.New("odd")))
		}
	}
	for _, p := range worktest.All[parked.Change](r.Harness, "a", parked.Prefix) {
		p.Retries++
		r.Put("a", parked.Key(p.ID), parked.Entity, p)
	}
	got := receiver.Next()
	if want := event.ID(good, event.MemoryCreated); got.ID != want {
		t.Errorf("event %s, want %s", got.ID, want)
	}
	r.wantParked("a", "MEMORY#odd", "MEMORY#other")
	r.wantSettled("a", states{delivery.Delivered: 1})
}
