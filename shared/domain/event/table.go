package event

import (
	"reflect"
	"slices"
	"strings"

	"orgops/shared/domain/goal"
	"orgops/shared/domain/memory"
	"orgops/shared/domain/syncrun"
	"orgops/shared/domain/timeline"
)

// The seven events of the contract.
const (
	MemoryCreated            = "memory.created"
	MemorySynced             = "memory.synced"
	MemoryUpdated            = "memory.updated"
	GoalUpdated              = "goal.updated"
	GoalAlignmentChanged     = "goal.alignment.changed"
	IntegrationSyncCompleted = "integration.sync.completed"
	TimelineEntryCreated     = "timeline.entry.created"
)

// Kind describes an event to which an endpoint can subscribe.
type Kind struct {
	Name    string
	Subject string       // names the schemas of what the event is about
	Shown   reflect.Type // what an event shows of its subject
}

// Kinds lists the events. Names, Patterns and the documents follow from it.
func Kinds() []Kind {
	aMemory, aGoal := reflect.TypeFor[memory.Memory](), reflect.TypeFor[goal.Goal]()
	aRun, anEntry := reflect.TypeFor[syncrun.Run](), reflect.TypeFor[timeline.Entry]()
	return []Kind{
		{MemoryCreated, "Memory", aMemory},
		{MemorySynced, "Sync", aRun},
		{MemoryUpdated, "Memory", aMemory},
		{GoalUpdated, "Goal", aGoal},
		{GoalAlignmentChanged, "Goal", aGoal},
		{IntegrationSyncCompleted, "Sync", aRun},
		{TimelineEntryCreated, "Timeline", anEntry},
	}
}

// Names lists the names of the events.
func Names() []string {
	kinds := Kinds()
	names := make([]string, 0, len(kinds))
	for _, k := range kinds {
		names = append(names, k.Name)
	}
	return names
}

// All is the pattern of every event, also of those that a later release adds.
const All = "*"

// Patterns lists the patterns of a subscription: every event by name, every category, and All.
func Patterns() []string {
	patterns := Names()
	for _, name := range patterns {
		category, _, _ := strings.Cut(name, ".")
		if pattern := category + ".*"; !slices.Contains(patterns, pattern) {
			patterns = append(patterns, pattern)
		}
	}
	return append(patterns, All)
}
