package dispatcher_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/base/id"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/event"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/syncrun"
	"orgops/shared/domain/timeline"
	"orgops/shared/testkit/worktest"
)

// TestEvents checks that each cause yields its event, and that only endpoints that subscribe by name or by category receive
// it. The receivers verify the signatures of both live secrets.
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
		t.Errorf("a subscription by name received %d events", len(updates))
	}
	if n := len(none.All()) + len(foreign.All()); n != 0 {
		t.Errorf("%d events went to an endpoint without a subscription or of another company", n)
	}
	for _, d := range r.deliveries("a") {
		if last, _ := d.Last(); last.Status != 204 || last.Number != 1 || d.Made != 1 || d.Generation != 0 {
			t.Errorf("the record is %+v", d)
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
			d := r.deliveries("a")[0]
			if d.State != delivery.Held || d.HeldBecause != tt.because || d.Made != 0 || d.NextAttemptAt != nil || d.Generation != 0 {
				t.Errorf("the record is %+v, want it held because of %s", d, tt.because)
			}
			if len(receiver.All()) != 0 {
				t.Error("a held delivery was sent")
			}
		})
	}
}

// TestQueued checks that work for later is recorded first, and that its message follows from the change.
func TestQueued(t *testing.T) {
	t.Parallel()
	r := start(t)
	run := syncrun.StoredRun{Run: syncrun.Run{ID: id.New(), Provider: "feed", State: syncrun.Requested}}
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

	rec := delivery.StoredRecovery{Recovery: delivery.Recovery{ID: id.New(), Provider: "webhook", State: delivery.RecoveryRequested}}
	r.Put("a", delivery.RecoveryKey(rec.ID), delivery.RecoveryEntity, rec)
	if got := message[delivery.Job](r, r.Retries); got != (delivery.Job{Company: "a", Recovery: rec.ID}) {
		t.Errorf("recovery: %+v", got)
	}
	rec.State = delivery.RecoveryFinished
	r.Put("a", delivery.RecoveryKey(rec.ID), delivery.RecoveryEntity, rec)

	d := delivery.Delivery{EventID: id.New(), Endpoint: "webhook", State: delivery.Held, Payload: json.RawMessage(`{"generation":1}`)}
	key := delivery.Key(d.EventID, d.Endpoint)
	r.Put("a", key, delivery.Entity, d)
	d.Restart(r.Clock.Now())
	r.Put("a", key, delivery.Entity, d)
	if got := message[delivery.Job](r, r.Retries); got != (delivery.Job{Company: "a", Delivery: d.EventID + "#webhook", Generation: 1}) {
		t.Errorf("requested again: %+v", got)
	}
	d.Postpone(r.Clock.Now().Add(time.Hour)) // as the retrier does with the message that it has
	r.Put("a", key, delivery.Entity, d)
	d.Restart(r.Clock.Now())
	r.Put("a", key, delivery.Entity, d)
	if got := message[delivery.Job](r, r.Retries); got.Generation != 2 { // no message in between
		t.Errorf("requested once more: %+v", got)
	}
}

// TestUnreadable checks that a change that cannot be decoded does not block the others.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	r := start(t)
	receiver := r.Receive()
	r.Subscribe("a", "webhook", receiver, "memory.*")
	r.Put("a", "MEMORY#odd", "memory", json.RawMessage(`[1]`))
	r.Put("a", "MEMORY#odd", "memory", json.RawMessage(`[2]`))
	r.Put("a", "DELIVERY#odd", "delivery", json.RawMessage(`{"generation":"many"}`))
	r.remember("a", 1)
	for range 2 { // one of them for MEMORY#odd: its creation decodes, its update does not
		if got := receiver.Next(); got.Type != event.MemoryCreated {
			t.Errorf("got %s", got.Type)
		}
	}
}
