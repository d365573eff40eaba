package dispatcher_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/delivery"
	"orgops/shared/event"
	"orgops/shared/goal"
	"orgops/shared/id"
	"orgops/shared/integration"
	"orgops/shared/recovery"
	"orgops/shared/syncrun"
	"orgops/shared/timeline"
	"orgops/shared/worktest"
)

// TestEvents: every event of the contract follows from its cause, to those who asked for it by name or by category and
// to nobody else. The receivers verify the signatures of both live secrets.
func TestEvents(t *testing.T) {
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
	g, _ = goal.Review(g, due)
	r.Put("a", goal.Key(g.ID), goal.Entity, g)
	run := syncrun.Record{Run: syncrun.Run{ID: id.New(), Provider: "feed", Mode: syncrun.Live, State: syncrun.Running}}
	r.Put("a", syncrun.Key(run.ID), syncrun.Entity, run)
	run.State = syncrun.Succeeded
	r.Put("a", syncrun.Key(run.ID), syncrun.Entity, run)
	entry := timeline.Entry{ID: id.New(), At: now, Kind: timeline.Note, Title: "A note"}
	r.Put("a", timeline.Key(entry.ID), timeline.Entity, entry)

	want := map[string]int{
		event.MemoryCreated: 1, event.MemoryUpdated: 1, event.GoalUpdated: 2, event.GoalAlignmentChanged: 1,
		event.MemorySynced: 1, event.IntegrationSyncCompleted: 1, event.TimelineEntryCreated: 1,
	}
	if states := r.settled("a", 9); states[delivery.Delivered] != 9 {
		t.Errorf("%v, want 9 delivered", states)
	}
	got := map[string]int{}
	for _, d := range all.All() {
		got[d.Type]++
		if d.CompanyID != "a" || d.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s of %q as %s", d.Type, d.CompanyID, d.Header.Get("Content-Type"))
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events differ (-want +got):\n%s", diff)
	}
	if updates := one.All(); len(updates) != 1 || updates[0].Type != event.MemoryUpdated {
		t.Errorf("a subscription by name was sent %d events", len(updates))
	}
	if n := len(none.All()) + len(foreign.All()); n != 0 {
		t.Errorf("%d events went to those who had not asked or are another company", n)
	}
	for _, d := range r.deliveries("a") {
		if last, _ := d.Last(); last.Status != 204 || last.Number != 1 || d.Made != 1 || d.Requests != 0 {
			t.Errorf("on record is %+v", d)
		}
	}
}

func TestHeld(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, because string
		endpoint      worktest.Endpoint
		edit          func(*integration.Integration)
	}{
		{"sandboxed", "sandbox", worktest.Endpoint{}, func(i *integration.Integration) {
			*i = i.Sandboxed(integration.SandboxedByChange, i.UpdatedAt)
		}},
		{"certification run out", "sandbox", worktest.Endpoint{}, func(i *integration.Integration) { i.Certification.ExpiresAt = i.CreatedAt }},
		{"port not proven", "sandbox", worktest.Endpoint{}, func(i *integration.Integration) { i.Certification.Ports = nil }},
		{"disabled", "disabled", worktest.Endpoint{}, func(i *integration.Integration) { i.Enabled = false }},
		{"url that is none", "configuration", worktest.Endpoint{URL: "none"}, nil},
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
			d := r.deliveries("a")[0]
			if d.State != delivery.Held || d.HeldBecause != tt.because || d.Made != 0 || d.NextAttemptAt != nil || d.Requests != 0 {
				t.Errorf("on record is %+v, want it held because of %s", d, tt.because)
			}
			if len(receiver.All()) != 0 {
				t.Error("it was sent")
			}
		})
	}
}

// TestQueued: what is to be worked on later is a record first, and its message follows from the change.
func TestQueued(t *testing.T) {
	t.Parallel()
	r := start(t)
	run := syncrun.Record{Run: syncrun.Run{ID: id.New(), Provider: "feed", State: syncrun.Requested}}
	r.Put("a", syncrun.Key(run.ID), syncrun.Entity, run)
	wantRun := syncrun.Job{Company: "a", Run: run.ID}
	if got := message[syncrun.Job](r, r.Syncs); got != wantRun {
		t.Errorf("requested: %+v", got)
	}
	run.State = syncrun.Running
	r.Put("a", syncrun.Key(run.ID), syncrun.Entity, run)
	run.Work.CancelRequested = true
	r.Put("a", syncrun.Key(run.ID), syncrun.Entity, run)
	if got := message[syncrun.Job](r, r.Syncs); got != wantRun {
		t.Errorf("to be cancelled: %+v", got)
	}
	run.State = syncrun.Cancelled
	r.Put("a", syncrun.Key(run.ID), syncrun.Entity, run)

	rec := recovery.Record{Recovery: recovery.Recovery{ID: id.New(), Provider: "webhook", State: recovery.Requested}}
	r.Put("a", recovery.Key(rec.ID), recovery.Entity, rec)
	if got := message[delivery.Job](r, r.Retries); got != (delivery.Job{Company: "a", Recovery: rec.ID}) {
		t.Errorf("recovery: %+v", got)
	}
	rec.State = recovery.Finished
	r.Put("a", recovery.Key(rec.ID), recovery.Entity, rec)

	d := delivery.Delivery{EventID: id.New(), Endpoint: "webhook", State: delivery.Held, Payload: json.RawMessage(`{"requests":1}`)}
	key := delivery.Key(d.EventID, d.Endpoint)
	r.Put("a", key, delivery.Entity, d)
	d.Request(r.Clock.Now())
	r.Put("a", key, delivery.Entity, d)
	if got := message[delivery.Job](r, r.Retries); got != (delivery.Job{Company: "a", Delivery: d.EventID + "#webhook", Request: 1}) {
		t.Errorf("requested again: %+v", got)
	}
	d.Schedule(r.Clock.Now().Add(time.Hour), false) // what the retrier does with the message that it has
	r.Put("a", key, delivery.Entity, d)
	d.Request(r.Clock.Now())
	r.Put("a", key, delivery.Entity, d)
	if got := message[delivery.Job](r, r.Retries); got.Request != 2 { // nothing came in between
		t.Errorf("requested once more: %+v", got)
	}
}

// TestUnreadable: a change that cannot be understood stops nobody.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	r := start(t)
	receiver := r.Receive()
	r.Subscribe("a", "webhook", receiver, "memory.*")
	r.Put("a", "MEMORY#odd", "memory", json.RawMessage(`[1]`))
	r.Put("a", "MEMORY#odd", "memory", json.RawMessage(`[2]`))
	r.Put("a", "DELIVERY#odd", "delivery", json.RawMessage(`{"requests":"many"}`))
	r.remember("a", 1)
	for range 2 { // the odd one was created in good order
		if got := receiver.Next(); got.Type != event.MemoryCreated {
			t.Errorf("got %s", got.Type)
		}
	}
}
