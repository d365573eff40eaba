package dispatcher_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"orgops/shared/domain/delivery"
	"orgops/shared/domain/event"
	"orgops/shared/domain/integration"
	"orgops/shared/testkit/errtest"
)

// operate causes each operational event once, and returns their names. The events about an endpoint are about webhook-one.
func (r *running) operate(company string) map[string]int {
	r.T.Helper()
	put := func(key, entity string, bodies ...string) {
		for _, body := range bodies {
			r.Put(company, key, entity, json.RawMessage(body))
		}
	}
	// first, because what happens meanwhile is held
	r.Change(company, "webhook-one", func(i *integration.Integration) { i.Disable(integration.DisabledGone, i.UpdatedAt) })
	r.Change(company, "webhook-one", func(i *integration.Integration) { i.Enabled = true })
	put("APPROVAL#1", "approval", `{"state":"pending"}`, `{"state":"pending","warnedAt":"2026-01-01T00:00:00Z"}`, `{"state":"rejected"}`)
	put("EXECUTIVEACTION#e#1", "executive-action", `{"state":"done"}`)
	put("AUDIT#1", "audit", `{"outcome":"success"}`)
	put("USER#1", "user", `{"state":"active"}`, `{"state":"disabled"}`)
	put("ADVICE#1", "advice", `{"state":"active"}`, `{"state":"succeeded"}`)
	put("SYNC#1", "sync", `{"state":"failed","mode":"live"}`)
	put("DELIVERY#1#webhook-one", "delivery", `{"head":{"type":"memory.updated","endpoint":"webhook-one","state":"dead"}}`)
	put("DELIVERY#2#webhook-one", "delivery", `{"head":{"type":"memory.updated","endpoint":"webhook-one","state":"failed","turned":{"paused":true,"since":"2026-01-01T00:00:00Z"}}}`)
	sandboxed := `{"provider":"github","state":"sandbox"}`
	put("INTEGRATION#github", "integration", sandboxed, `{"provider":"github","state":"certified","certification":{}}`,
		`{"provider":"github","state":"certified","certification":{"warnedAt":"2026-01-01T00:00:00Z"}}`, sandboxed)
	return map[string]int{
		event.ApprovalRequested: 1, event.ApprovalDecided: 1, event.ExecutiveActed: 1, event.AuditRecorded: 1, event.UserJoined: 1, event.UserLeft: 1,
		event.SyncFailed: 1, event.DeliveryDead: 1, event.IntegrationCertified: 1, event.IntegrationSandboxed: 1, event.EndpointDisabled: 1,
		event.EndpointRecovered: 1, event.EndpointPaused: 1, event.RecommendationOpened: 1, event.RecommendationClosed: 1, event.ApprovalExpiring: 1, event.IntegrationExpiring: 1,
	}
}

// TestDispatcher_Operational checks that an endpoint gets each operational event, except those about its own trouble, and that a
// subscription to the events of the contract gets what it got before.
func TestDispatcher_Operational(t *testing.T) {
	t.Parallel()
	r := start(t)
	contract, one, every := r.Receive(), r.Receive(), r.Receive()
	r.Subscribe("a", "webhook", contract, "memory.*", "goal.*", "integration.*", "timeline.*")
	r.Subscribe("a", "webhook-one", one, event.All)
	r.Subscribe("a", "webhook-every", every, event.All)

	want := r.operate("a")
	ofContract := []string{
		event.MemoryCreated, event.MemorySynced, event.MemoryUpdated, event.GoalUpdated, event.GoalAlignmentChanged, event.IntegrationSyncCompleted,
		event.TimelineEntryCreated,
	}
	named := slices.DeleteFunc(event.Names(), func(name string) bool { return slices.Contains(ofContract, name) })
	if diff := cmp.Diff(slices.Sorted(slices.Values(named)), slices.Sorted(maps.Keys(want))); diff != "" {
		t.Errorf("operational events that are caused differ (-listed +caused):\n%s", diff)
	}
	want[event.IntegrationSyncCompleted] = 1
	r.wantSettled("a", states{delivery.Delivered: 1 + len(want) + len(want) - 4, delivery.Dead: 1, delivery.Failed: 1})
	if diff := cmp.Diff(want, types(every.All())); diff != "" {
		t.Errorf("events of a subscription to every event differ (-want +got):\n%s", diff)
	}
	for _, about := range []string{event.DeliveryDead, event.EndpointPaused, event.EndpointDisabled, event.EndpointRecovered} {
		delete(want, about)
	}
	if diff := cmp.Diff(want, types(one.All())); diff != "" {
		t.Errorf("events of the endpoint that was in trouble differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{event.IntegrationSyncCompleted: 1}, types(contract.All())); diff != "" {
		t.Errorf("events of a subscription to the contract's differ (-want +got):\n%s", diff)
	}
}

// TestDispatcher_Chain checks that dead deliveries of events about deliveries and endpoints cause no further event.
func TestDispatcher_Chain(t *testing.T) {
	t.Parallel()
	r := start(t)
	every := r.Receive()
	r.Subscribe("a", "webhook", every, event.All)
	for _, name := range []string{event.DeliveryDead, event.EndpointDisabled, event.EndpointRecovered, event.MemoryCreated} {
		d := delivery.Delivery{Head: delivery.Head{EventID: name, Event: name, Endpoint: "webhook-other", State: delivery.Dead}, Payload: json.RawMessage(`{}`)}
		r.Put("a", delivery.Key(name, d.Endpoint), delivery.Entity, d)
	}
	r.wantSettled("a", states{delivery.Dead: 4, delivery.Delivered: 1})
	if diff := cmp.Diff(map[string]int{event.DeliveryDead: 1}, types(every.All())); diff != "" {
		t.Errorf("events differ (-want +got):\n%s", diff)
	}
}

// TestDispatcher_Paused checks that another endpoint is told once that an endpoint is paused, after five failures in a row, and that it
// gets events again. The paused one is told neither.
func TestDispatcher_Paused(t *testing.T) {
	t.Parallel()
	r := start(t)
	failing, other := r.Receive(), r.Receive()
	failing.Status(http.StatusInternalServerError)
	r.Subscribe("a", "webhook-failing", failing, "memory.*", "endpoint.*")
	r.Subscribe("a", "webhook-other", other, "endpoint.*")
	n := 0
	remember := func(events map[string]int) {
		t.Helper()
		n++
		r.remember("a", n)
		told := 0
		for _, one := range events {
			told += one
		}
		r.settled("a", n+told)
		if diff := cmp.Diff(events, types(other.All())); diff != "" {
			t.Errorf("events after change %d differ (-want +got):\n%s", n, diff)
		}
	}
	for range 4 {
		remember(map[string]int{})
	}
	began := r.Clock.Now()
	remember(map[string]int{event.EndpointPaused: 1})
	var got struct{ Data event.EndpointStanding }
	errtest.Must(t, json.Unmarshal(other.All()[0].Body, &got))
	want := event.EndpointStanding{Provider: "webhook-failing", State: "paused", Reason: "failing", Since: began, Until: began.Add(30 * time.Second)}
	if diff := cmp.Diff(want, got.Data, cmpopts.EquateApproxTime(5*time.Second)); diff != "" {
		t.Errorf("what the event says differs (-want +got):\n%s", diff)
	}
	r.Clock.Advance(time.Minute)
	remember(map[string]int{event.EndpointPaused: 1}) // the probe fails, and the pause goes on
	r.Clock.Advance(10 * time.Minute)
	failing.Status(http.StatusOK)
	remember(map[string]int{event.EndpointPaused: 1, event.EndpointRecovered: 1})
	if got := types(failing.All()); len(got) != 1 {
		t.Errorf("the paused endpoint received %v, want events of memories alone", got)
	}
	r.wantTold("a endpoint-paused pause:webhook-failing", "a endpoint-resumed pause:webhook-failing")
}
