package event_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/event"
	"orgops/shared/storage/store"
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
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			events, err := event.Of(tt.change)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, e := range events {
				names = append(names, e.Type)
				if e.CompanyID != "acme" || !e.Timestamp.Equal(at) || len(e.ID) != 36 {
					t.Errorf("event = %+v", e)
				}
			}
			if diff := cmp.Diff(tt.want, names); diff != "" {
				t.Errorf("events differ (-want +got):\n%s", diff)
			}
			again, err := event.Of(tt.change)
			if err != nil || cmp.Diff(events, again) != "" {
				t.Errorf("Of gave different events for the same change: %v %v", again, err)
			}
		})
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
	if diff := cmp.Diff(want, data.Previous); diff != "" || data.Title != "b" {
		t.Errorf("previous differs (-want +got):\n%s", diff)
	}
}

// TestOf_Hidden checks that an event does not show the syncer's work on a run.
func TestOf_Hidden(t *testing.T) {
	t.Parallel()
	events, err := event.Of(change("sync", "SYNC#r", `{"state":"running","mode":"live"}`, `{"state":"failed","mode":"live","work":{"checkpoint":{"cursor":"inner"}}}`))
	if err != nil || len(events) != 1 {
		t.Fatal(events, err)
	}
	if strings.Contains(string(events[0].Data), "inner") {
		t.Errorf("the event shows the checkpoint: %s", events[0].Data)
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
	var got struct {
		Data struct {
			Title   string
			Body    string
			Omitted []string
		}
	}
	if err := json.Unmarshal(payload, &got); err != nil {
		t.Fatal(err)
	}
	if got.Data.Body != "" || len(got.Data.Title) != 900 || len(got.Data.Omitted) != 1 || got.Data.Omitted[0] != "body" {
		t.Errorf("data = %+v, want the body omitted and listed", got.Data)
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
			t.Errorf("Matches(%v, %s) = %v", tt.patterns, tt.name, got)
		}
	}
	for _, name := range event.Names() {
		if !event.Matches(event.Patterns(), name) {
			t.Errorf("no pattern matches %s", name)
		}
	}
}
