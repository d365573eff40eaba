package event

import (
	"reflect"
	"slices"
	"strings"

	"orgops/shared/domain/approval"
	"orgops/shared/domain/executive"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/memory"
	"orgops/shared/domain/recommendation"
	"orgops/shared/domain/syncrun"
	"orgops/shared/domain/timeline"
	"orgops/shared/domain/user"
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

// The operational events tell what the service does with what the company has configured.
const (
	ApprovalRequested    = "approval.requested"
	ApprovalDecided      = "approval.decided"
	ApprovalExpiring     = "approval.expiring"
	DeliveryDead         = "delivery.dead"
	EndpointPaused       = "endpoint.paused"
	EndpointDisabled     = "endpoint.disabled"
	EndpointRecovered    = "endpoint.recovered"
	IntegrationCertified = "integration.certified"
	IntegrationSandboxed = "integration.sandboxed"
	IntegrationExpiring  = "integration.expiring"
	SyncFailed           = "sync.failed"
	RecommendationOpened = "recommendation.opened"
	RecommendationClosed = "recommendation.closed"
	ExecutiveActed       = "executive.acted"
	AuditRecorded        = "audit.recorded"
	UserJoined           = "user.joined"
	UserLeft             = "user.left"
)

// Kind describes an event to which an endpoint can subscribe.
type Kind struct {
	Name    string
	About   string       // when it is sent
	Subject string       // names the schemas of what the event is about
	Shown   reflect.Type // what an event shows of its subject
	Former  []Former     // its versions before the newest one, the first one first
}

// Kinds lists the events. Names, Patterns and the documents follow from it. Of derives each of them from a committed change.
func Kinds() Table {
	aMemory, aGoal := reflect.TypeFor[memory.Memory](), reflect.TypeFor[goal.Goal]()
	aRun, anEntry := reflect.TypeFor[syncrun.Run](), reflect.TypeFor[timeline.Entry]()
	anApproval, anAction, aUser := reflect.TypeFor[approval.Approval](), reflect.TypeFor[executive.ActionRecord](), reflect.TypeFor[user.User]()
	anEndpoint, aStanding := reflect.TypeFor[EndpointStanding](), reflect.TypeFor[IntegrationStanding]()
	advice := reflect.TypeFor[recommendation.Told]()
	return Table{
		{Name: MemoryCreated, About: "a memory is new", Subject: "Memory", Shown: aMemory},
		{Name: MemorySynced, About: "a sync has ended and has stored what it found", Subject: "Sync", Shown: aRun},
		{Name: MemoryUpdated, About: "a memory has changed", Subject: "Memory", Shown: aMemory},
		{Name: GoalUpdated, About: "a goal is new or has changed", Subject: "Goal", Shown: aGoal},
		{Name: GoalAlignmentChanged, About: "a goal's alignment has got another status", Subject: "Goal", Shown: aGoal},
		{Name: IntegrationSyncCompleted, About: "a sync has ended, also without success", Subject: "Sync", Shown: aRun},
		{Name: TimelineEntryCreated, About: "the timeline has a new entry", Subject: "Timeline", Shown: anEntry},
		{Name: ApprovalRequested, About: "an action waits for a person's approval", Subject: "Approval", Shown: anApproval},
		{Name: ApprovalDecided, About: "an approval was given, rejected or withdrawn, or has expired", Subject: "Approval", Shown: anApproval},
		{Name: ApprovalExpiring, About: "an approval still waits 6 hours before it expires", Subject: "Approval", Shown: anApproval},
		{Name: DeliveryDead, About: "the last attempt of a delivery to another endpoint has failed", Subject: "DeadLetter", Shown: reflect.TypeFor[DeadLetter]()},
		{Name: EndpointPaused, About: "another endpoint gets no attempts for a while, because five in a row have failed", Subject: "Endpoint", Shown: anEndpoint},
		{Name: EndpointDisabled, About: "another endpoint was disabled, by a user or because it failed", Subject: "Endpoint", Shown: anEndpoint},
		{Name: EndpointRecovered, About: "another endpoint gets events again, after a pause or after it was disabled", Subject: "Endpoint", Shown: anEndpoint},
		{Name: IntegrationCertified, About: "an integration has passed its certification", Subject: "Integration", Shown: aStanding},
		{Name: IntegrationSandboxed, About: "an integration is back in the sandbox", Subject: "Integration", Shown: aStanding},
		{Name: IntegrationExpiring, About: "an integration's certification or credentials expire within 14 days", Subject: "Integration", Shown: aStanding},
		{Name: SyncFailed, About: "a sync has failed", Subject: "Sync", Shown: aRun},
		{Name: RecommendationOpened, About: "a recommendation is new, has come back, or its dismissal has ended; if only the time has passed, with the next change of the company", Subject: "Advice", Shown: advice},
		{Name: RecommendationClosed, About: "a recommendation's condition has ended, a user has dismissed it, or a claim has failed; if only the time has passed, with the next change of the company", Subject: "Advice", Shown: advice},
		{Name: ExecutiveActed, About: "an executive's action has taken effect", Subject: "Action", Shown: anAction},
		{Name: AuditRecorded, About: "an audit record was written; the data has the form of OCSF's API Activity", Subject: "Audit", Shown: reflect.TypeFor[AuditActivity]()},
		{Name: UserJoined, About: "a user can sign in for the first time, or again", Subject: "User", Shown: aUser},
		{Name: UserLeft, About: "a user was disabled or removed", Subject: "User", Shown: aUser},
	}
}

// Contract lists the names of the seven events of the contract.
func Contract() []string {
	return []string{MemoryCreated, MemorySynced, MemoryUpdated, GoalUpdated, GoalAlignmentChanged, IntegrationSyncCompleted, TimelineEntryCreated}
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

// Category returns the category of an event. The contract says what the category integration has, so the operational events
// about integrations have another one: a subscription to integration.* stays what it was.
func Category(name string) string {
	switch name {
	case IntegrationCertified, IntegrationSandboxed, IntegrationExpiring:
		return "certification"
	}
	category, _, _ := strings.Cut(name, ".")
	return category
}

// All is the pattern of every event, also of those that a later release adds.
const All = "*"

// Patterns lists the patterns of a subscription: every event by name, every category, and All.
func Patterns() []string {
	patterns := Names()
	for _, name := range patterns {
		if pattern := Category(name) + ".*"; !slices.Contains(patterns, pattern) {
			patterns = append(patterns, pattern)
		}
	}
	return append(patterns, All)
}

// Matches reports whether a subscription's patterns include an event.
func Matches(patterns []string, name string) bool {
	for _, p := range patterns {
		if p == name || p == All {
			return true
		}
		if category, ok := strings.CutSuffix(p, ".*"); ok && category == Category(name) {
			return true
		}
	}
	return false
}
