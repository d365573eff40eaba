package event_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"orgops/shared/domain/event"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
)

var at = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func change(entity, key, before, after string) store.Change {
	c := store.Change{Sequence: "1", Company: "acme", Key: key, Entity: entity, At: at}
	if before != "" {
		c.Old = &store.Image{Version: 1, Body: json.RawMessage(before)}
	}
	if after != "" {
		c.New = &store.Image{Version: 2, Body: json.RawMessage(after)}
	}
	return c
}

// delivered returns a stored delivery of an event to the endpoint hook.
func delivered(state, name string) string {
	return fmt.Sprintf(`{"head":{"id":"e","type":%q,"endpoint":"hook","state":%q,"made":10},"log":[{"attempt":10,"state":"failed","status":500}],"payload":{}}`, name, state)
}

// turned returns a stored delivery whose last attempt has begun a pause of the endpoint hook, or ended it.
func turned(name string, paused bool) string {
	return strings.Replace(delivered("scheduled", name), `"made"`, fmt.Sprintf(`"turned":{"paused":%t,"since":"2026-01-01T00:00:00Z"},"made"`, paused), 1)
}

func certified(passed string) string {
	return fmt.Sprintf(`{"provider":"x","state":"certified","enabled":true,"certification":{"passedAt":"%sT00:00:00Z","ports":["sync.pull"]}}`, passed)
}

func endpoint(enabled bool) string {
	return fmt.Sprintf(`{"provider":"x","enabled":%t,"permissions":["event.deliver"],"disabled":{"reason":"gone"}}`, enabled)
}

func TestOf(t *testing.T) {
	t.Parallel()
	warned := strings.Replace(certified("2026-01-01"), `"ports"`, `"warnedAt":"2026-03-18T00:00:00Z","ports"`, 1)
	const run = `"id":"r","provider":"feed","progress":{}`
	tests := []struct {
		name   string
		change store.Change
		want   []string
	}{
		{"memory inserted", change("memory", "MEMORY#1", "", `{"title":"a"}`), []string{event.MemoryCreated}},
		{"memory changed", change("memory", "MEMORY#1", `{"title":"a"}`, `{"title":"b"}`), []string{event.MemoryUpdated}},
		{"memory removed", change("memory", "MEMORY#1", `{"title":"a"}`, ""), nil},
		{"goal inserted", change("goal", "GOAL#1", "", `{"alignment":{"status":"drifting"}}`), []string{event.GoalUpdated}},
		{"goal changed", change("goal", "GOAL#1", `{"progress":0,"alignment":{"status":"aligned"}}`, `{"progress":1,"alignment":{"status":"aligned"}}`), []string{event.GoalUpdated}},
		{"goal realigned", change("goal", "GOAL#1", `{"alignment":{"status":"aligned"}}`, `{"alignment":{"status":"drifting"}}`), []string{event.GoalUpdated, event.GoalAlignmentChanged}},
		{"sync began", change("sync", "SYNC#r", `{"state":"requested","mode":"live",`+run+`}`, `{"state":"running","mode":"live",`+run+`}`), nil},
		{"live sync succeeded", change("sync", "SYNC#r", `{"state":"running","mode":"live",`+run+`}`, `{"state":"succeeded","mode":"live",`+run+`}`), []string{event.MemorySynced, event.IntegrationSyncCompleted}},
		{"live sync failed", change("sync", "SYNC#r", `{"state":"running","mode":"live",`+run+`}`, `{"state":"failed","mode":"live",`+run+`}`), []string{event.IntegrationSyncCompleted, event.SyncFailed}},
		{"sandbox sync succeeded", change("sync", "SYNC#r", `{"state":"running","mode":"sandbox",`+run+`}`, `{"state":"succeeded","mode":"sandbox",`+run+`}`), nil},
		{"timeline entry", change("timeline", "TIMELINE#1", "", `{"title":"a"}`), []string{event.TimelineEntryCreated}},
		{"approval asked for", change("approval", "APPROVAL#1", "", `{"state":"pending"}`), []string{event.ApprovalRequested}},
		{"approval about to expire", change("approval", "APPROVAL#1", `{"state":"pending"}`, `{"state":"pending","warnedAt":"2026-01-01T00:00:00Z"}`), []string{event.ApprovalExpiring}},
		{"approval given", change("approval", "APPROVAL#1", `{"state":"pending"}`, `{"state":"approved"}`), []string{event.ApprovalDecided}},
		{"approval expired", change("approval", "APPROVAL#1", `{"state":"pending"}`, `{"state":"expired"}`), []string{event.ApprovalDecided}},
		{"decided approval carried out", change("approval", "APPROVAL#1", `{"state":"approved"}`, `{"state":"approved","answer":{}}`), nil},
		{"delivery dead", change("delivery", "DELIVERY#1", delivered("scheduled", "memory.created"), delivered("dead", "memory.created")), []string{event.DeliveryDead}},
		{"dead delivery again", change("delivery", "DELIVERY#1", delivered("dead", "memory.created"), delivered("dead", "memory.created")), nil},
		{"delivery of a delivery's event dead", change("delivery", "DELIVERY#1", "", delivered("dead", event.DeliveryDead)), nil},
		{"delivery of an endpoint's event dead", change("delivery", "DELIVERY#1", "", delivered("dead", event.EndpointDisabled)), nil},
		{"attempt pauses its endpoint", change("delivery", "DELIVERY#1", delivered("scheduled", "memory.created"), turned("memory.created", true)), []string{event.EndpointPaused}},
		{"attempt ends a pause", change("delivery", "DELIVERY#1", turned("memory.created", true), turned("memory.created", false)), []string{event.EndpointRecovered}},
		{"delivery changed after its attempt", change("delivery", "DELIVERY#1", turned("memory.created", true), turned("memory.created", true)), nil},
		{"attempt of an endpoint's event pauses its endpoint", change("delivery", "DELIVERY#1", "", turned(event.EndpointRecovered, true)), nil},
		{"delivery arrived", change("delivery", "DELIVERY#1", "", delivered("delivered", "memory.created")), nil},
		{"integration configured", change("integration", "INTEGRATION#x", "", `{"state":"sandbox","enabled":true}`), nil},
		{"integration certified", change("integration", "INTEGRATION#x", `{"state":"sandbox"}`, certified("2026-01-01")), []string{event.IntegrationCertified}},
		{"integration certified again", change("integration", "INTEGRATION#x", certified("2026-01-01"), certified("2026-02-01")), []string{event.IntegrationCertified}},
		{"certification about to expire", change("integration", "INTEGRATION#x", certified("2026-01-01"), warned), []string{event.IntegrationExpiring}},
		{"integration warned of changed", change("integration", "INTEGRATION#x", warned, warned), nil},
		{"credentials about to expire", change("integration", "INTEGRATION#x", `{"credentials":{}}`, `{"credentials":{"warnedAt":"2026-01-01T00:00:00Z"}}`), []string{event.IntegrationExpiring}},
		{"certified integration changed", change("integration", "INTEGRATION#x", certified("2026-01-01"), certified("2026-01-01")), nil},
		{"integration back in the sandbox", change("integration", "INTEGRATION#x", certified("2026-01-01"), `{"state":"sandbox","sandboxedCause":"expired"}`), []string{event.IntegrationSandboxed}},
		{"endpoint disabled", change("integration", "INTEGRATION#x", endpoint(true), endpoint(false)), []string{event.EndpointDisabled}},
		{"endpoint enabled", change("integration", "INTEGRATION#x", endpoint(false), endpoint(true)), []string{event.EndpointRecovered}},
		{"source disabled", change("integration", "INTEGRATION#x", `{"enabled":true}`, `{"enabled":false}`), nil},
		{"damaged integration", change("integration", "INTEGRATION#x", endpoint(true), `{"enabled":"no"}`), nil},
		{"action done", change("executive-action", "EXECUTIVEACTION#e#1", "", `{"state":"done"}`), []string{event.ExecutiveActed}},
		{"approved action done", change("executive-action", "EXECUTIVEACTION#e#1", `{"state":"pending"}`, `{"state":"done"}`), []string{event.ExecutiveActed}},
		{"action tried", change("executive-action", "EXECUTIVEACTION#e#1", "", `{"state":"proposed"}`), nil},
		{"audit record", change("audit", "AUDIT#1", "", `{"operation":"invite-user","outcome":"success"}`), []string{event.AuditRecorded}},
		{"user invited", change("user", "USER#1", "", `{"state":"invited"}`), nil},
		{"invitation accepted", change("user", "USER#1", `{"state":"invited"}`, `{"state":"active"}`), []string{event.UserJoined}},
		{"invitation expired", change("user", "USER#1", `{"state":"invited"}`, ""), nil},
		{"user with another role", change("user", "USER#1", `{"state":"active"}`, `{"state":"active","role":"member"}`), nil},
		{"user disabled", change("user", "USER#1", `{"state":"active"}`, `{"state":"disabled"}`), []string{event.UserLeft}},
		{"user removed", change("user", "USER#1", `{"state":"active"}`, ""), []string{event.UserLeft}},
		{"disabled user removed", change("user", "USER#1", `{"state":"disabled"}`, ""), nil},
		{"recommendation opened", change("advice", "ADVICE#1", "", `{"state":"active"}`), []string{event.RecommendationOpened}},
		{"open recommendation", change("advice", "ADVICE#1", `{"state":"active"}`, `{"state":"claimed"}`), nil},
		{"recommendation closed", change("advice", "ADVICE#1", `{"state":"active"}`, `{"state":"succeeded"}`), []string{event.RecommendationClosed}},
		{"recommendation of an earlier release closed", change("advice", "ADVICE#1", "", `{"state":"dismissed"}`), []string{event.RecommendationClosed}},
		{"recommendation came back", change("advice", "ADVICE#1", `{"state":"succeeded"}`, `{"state":"active"}`), []string{event.RecommendationOpened}},
		{"closed recommendation forgotten", change("advice", "ADVICE#1", `{"state":"succeeded"}`, ""), nil},
		{"another entity", change("mapping", "MAPPING#1", "", `{}`), nil},
	}
	caused := map[string]bool{}
	for _, tt := range tests {
		for _, name := range tt.want {
			caused[name] = true
		}
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			events, err := event.Of(tt.change)
			errtest.Must(t, err)
			var want []event.Event
			for _, name := range tt.want {
				want = append(want, event.Event{Type: name, Timestamp: at, CompanyID: "acme"})
			}
			if diff := cmp.Diff(want, events, cmpopts.IgnoreFields(event.Event{}, "ID", "Data", "About")); diff != "" {
				t.Errorf("events differ (-want +got):\n%s", diff)
			}
			for _, e := range events {
				if len(e.ID) != 36 {
					t.Errorf("id %q, want one of 36 bytes", e.ID)
				}
			}
			again, err := event.Of(tt.change)
			errtest.Must(t, err)
			if diff := cmp.Diff(events, again); diff != "" {
				t.Errorf("events of the same change differ (-first +second):\n%s", diff)
			}
		})
	}
	if diff := cmp.Diff(slices.Sorted(slices.Values(event.Names())), slices.Sorted(maps.Keys(caused))); diff != "" {
		t.Errorf("events that the changes above cause (-listed +caused):\n%s", diff)
	}
}

func TestOf_Previous(t *testing.T) {
	t.Parallel()
	events, err := event.Of(change("memory", "MEMORY#1", `{"id":"1","title":"a","url":"u"}`, `{"id":"1","title":"b","body":"new"}`))
	if err != nil {
		t.Fatal(err)
	}
	var data struct {
		Title    string
		Previous map[string]any
	}
	if err := json.Unmarshal(events[0].Data, &data); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"title": "a", "url": "u", "body": nil}
	if diff := cmp.Diff(want, data.Previous); diff != "" {
		t.Errorf("previous differs (-want +got):\n%s", diff)
	}
	if data.Title != "b" {
		t.Errorf("title %q, want b", data.Title)
	}
}

// TestOf_Hidden checks that an event does not show the syncer's work on a run.
func TestOf_Hidden(t *testing.T) {
	t.Parallel()
	events, err := event.Of(change("sync", "SYNC#r", `{"state":"running","mode":"live"}`, `{"state":"failed","mode":"live","work":{"checkpoint":{"cursor":"inner"}}}`))
	errtest.Must(t, err)
	if len(events) == 0 {
		t.Fatal("no event, want those of a sync that failed")
	}
	for _, e := range events {
		if got := string(e.Data); strings.Contains(got, "inner") {
			t.Errorf("data of %s %s, want it without the checkpoint", e.Type, got)
		}
	}
}

func TestEvent_Payload(t *testing.T) {
	t.Parallel()
	data, err := json.Marshal(map[string]string{"id": "1", "title": strings.Repeat("t", 900), "body": strings.Repeat("<", 64<<10)})
	if err != nil {
		t.Fatal(err)
	}
	payload, err := event.Event{ID: "e", Type: event.MemoryCreated, Timestamp: at, CompanyID: "acme", Data: data}.Payload()
	if err != nil {
		t.Fatal(err)
	}
	if len(payload) > event.MaxPayload {
		t.Errorf("payload has %d bytes, limit %d", len(payload), event.MaxPayload)
	}
	var got struct{ Data map[string]any }
	if err := json.Unmarshal(payload, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"id": "1", "title": strings.Repeat("t", 900), "omitted": []any{"body"}}
	if diff := cmp.Diff(want, got.Data); diff != "" {
		t.Errorf("data differs (-want +got):\n%s", diff)
	}
}

func TestMatches(t *testing.T) {
	t.Parallel()
	tests := []struct {
		patterns []string
		name     string
		want     bool
	}{
		{[]string{"memory.updated"}, event.MemoryUpdated, true},
		{[]string{"memory.updated"}, event.MemoryCreated, false},
		{[]string{"goal.*"}, event.GoalAlignmentChanged, true},
		{[]string{"goal.*", "timeline.*"}, event.MemoryCreated, false},
		{[]string{"integration.*"}, event.IntegrationSyncCompleted, true},
		{[]string{"integration.*"}, event.IntegrationCertified, false},
		{[]string{"certification.*"}, event.IntegrationCertified, true},
		{nil, event.MemoryCreated, false},
	}
	for _, tt := range tests {
		if got := event.Matches(tt.patterns, tt.name); got != tt.want {
			t.Errorf("Matches(%v, %s) = %t, want %t", tt.patterns, tt.name, got, tt.want)
		}
	}
	named := slices.DeleteFunc(event.Patterns(), func(p string) bool { return p == event.All })
	for _, name := range append(event.Names(), "invoice.paid") {
		if !event.Matches([]string{event.All}, name) {
			t.Errorf("%s does not match %s", event.All, name)
		}
	}
	for _, name := range event.Names() {
		if !event.Matches(named, name) {
			t.Errorf("no pattern but %s matches %s", event.All, name)
		}
	}
}
