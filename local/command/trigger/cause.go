package trigger

import (
	"time"

	"orgops/shared/domain/event"
)

// body is the body of a webhook: an action with its data.
type body struct {
	Type string         `json:"type"`
	Data map[string]any `json:"data"`
}

// cause says how an event is caused: by webhooks about an item with a new id, or by a sync if bodies is nil.
type cause struct {
	event, does string
	bodies      func(id string) []body
}

// causes lists every event of the catalogue. Goals end closed, so that they are no open goals of the company.
func causes() []cause {
	return []cause{
		{event.MemoryCreated, "creates a memory", func(id string) []body { return []body{memory(id, "A sample")} }},
		{event.MemoryUpdated, "creates a memory and changes its title", func(id string) []body {
			return []body{memory(id, "A sample"), memory(id, "A sample, changed")}
		}},
		{event.GoalUpdated, "creates a goal that is closed", func(id string) []body { return []body{goal(id, 1, "closed")} }},
		{event.GoalAlignmentChanged, "creates a goal, lets it fall behind, and closes it", func(id string) []body {
			return []body{goal(id, 0.95, "open"), goal(id, 0.1, "open"), goal(id, 1, "closed")}
		}},
		{event.TimelineEntryCreated, "writes a note on the timeline", func(id string) []body {
			return []body{{"timeline.note", map[string]any{"title": "A sample note", "subject": id}}}
		}},
		{event.MemorySynced, "syncs a source", nil},
		{event.IntegrationSyncCompleted, "syncs a source", nil},
	}
}

func memory(id, title string) body {
	return body{"memory.upsert", map[string]any{"externalId": id, "kind": "sample", "title": title, "body": "Made by orgops trigger."}}
}

// goal is one whose time is nearly over, so that its progress alone decides whether it is aligned.
func goal(id string, progress float64, state string) body {
	day := 24 * time.Hour
	today := time.Now().UTC().Truncate(day)
	return body{"goal.update", map[string]any{
		"externalId": id, "title": "A sample goal", "progress": progress, "state": state,
		"startedAt": today.Add(-90 * day).Format(time.RFC3339), "dueAt": today.Add(10 * day).Format(time.RFC3339),
	}}
}
