package event_test

import (
	"encoding/json"
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

func TestOf(t *testing.T) {
	t.Parallel()
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
		{"live sync failed", change("sync", "SYNC#r", `{"state":"running","mode":"live",`+run+`}`, `{"state":"failed","mode":"live",`+run+`}`), []string{event.IntegrationSyncCompleted}},
		{"sandbox sync succeeded", change("sync", "SYNC#r", `{"state":"running","mode":"sandbox",`+run+`}`, `{"state":"succeeded","mode":"sandbox",`+run+`}`), nil},
		{"timeline entry", change("timeline", "TIMELINE#1", "", `{"title":"a"}`), []string{event.TimelineEntryCreated}},
		{"another entity", change("delivery", "DELIVERY#1", "", `{}`), nil},
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
			if diff := cmp.Diff(want, events, cmpopts.IgnoreFields(event.Event{}, "ID", "Data")); diff != "" {
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
	if len(events) != 1 {
		t.Fatalf("events %+v, want one", events)
	}
	if got := string(events[0].Data); strings.Contains(got, "inner") {
		t.Errorf("data %s, want it without the checkpoint", got)
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
