// Package timeline describes the company's history as entries for people to read: newest first, kept for 180 days.
package timeline

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"orgops/shared/base/id"
	"orgops/shared/storage/store"
)

// Entity and Prefix name the entity of an entry's item and the prefix of its key.
const (
	Entity = "timeline"
	Prefix = "TIMELINE#"
)

// Kept limits how long an entry is kept.
const Kept = 180 * 24 * time.Hour

// Kind says what happened.
type Kind string

// The kinds that this service writes.
const (
	IntegrationConfigured Kind = "integration.configured"
	IntegrationCertified  Kind = "integration.certified"
	IntegrationSandboxed  Kind = "integration.sandboxed"
	IntegrationDisabled   Kind = "integration.disabled"
	MemorySynced          Kind = "memory.synced"
	GoalUpdated           Kind = "goal.updated"
	GoalAlignmentChanged  Kind = "goal.alignment.changed"
	PolicyDenied          Kind = "policy.denied"
	ApprovalRequested     Kind = "approval.requested"
	ApprovalDecided       Kind = "approval.decided"
	ExecutiveActed        Kind = "executive.acted"
	Note                  Kind = "note"
	Brief                 Kind = "brief"
	ClientCreated         Kind = "client.created"
	ClientRotated         Kind = "client.rotated"
	ClientDeleted         Kind = "client.deleted"
	AccessGiven           Kind = "access.given"
	AccessEnded           Kind = "access.ended"
)

// lastRank is the greatest rank that an id can hold. No change causes two entries of the kinds that share it.
const lastRank = 15

// Kinds lists every kind, for filters. Entries that one change causes sort in this order, the last kind as the newest.
func Kinds() []Kind {
	return []Kind{
		IntegrationConfigured, IntegrationCertified, IntegrationSandboxed, IntegrationDisabled, MemorySynced,
		GoalUpdated, GoalAlignmentChanged, PolicyDenied, ApprovalRequested, ApprovalDecided, ExecutiveActed, Note, Brief,
		ClientCreated, ClientRotated, ClientDeleted, AccessGiven, AccessEnded,
	}
}

// Reference names a resource or a person by type and id.
type Reference struct {
	Type string `json:"type" doc:"type of the resource or actor: user, integration, memory, goal, sync, approval, recommendation, company, executive, recovery, note, client, grant, service or system" example:"integration"`
	ID   string `json:"id" doc:"id of the resource or actor; for an integration, the provider name" example:"github"`
}

// MaxFilter limits the length of a filter type:id, in bytes.
const MaxFilter = 190

// Is reports whether the reference meets a filter: a type, type:id, or "" for any reference.
func (r Reference) Is(filter string) bool {
	kind, named, hasID := strings.Cut(filter, ":")
	return filter == "" || kind == r.Type && (!hasID || named == r.ID)
}

// Entry records one thing that happened, as stored and as the API shows it.
type Entry struct {
	ID      string    `json:"id" doc:"UUIDv7" format:"uuid"`
	At      time.Time `json:"at" doc:"when it happened"`
	Kind    Kind      `json:"kind" enum:"integration.configured,integration.certified,integration.sandboxed,integration.disabled,memory.synced,goal.updated,goal.alignment.changed,policy.denied,approval.requested,approval.decided,executive.acted,note,brief,client.created,client.rotated,client.deleted,access.given,access.ended" doc:"what happened" example:"goal.updated"`
	Title   string    `json:"title" doc:"what happened, in words" example:"Goal Ship the beta is drifting"`
	Actor   Reference `json:"actor" doc:"the user, the integration or the part of the system that acted"`
	Subject Reference `json:"subject" doc:"the resource that the entry is about"`
	// OnBehalfOf names the user for whom an executive acted.
	OnBehalfOf *Reference `json:"onBehalfOf,omitempty" doc:"the user for whom the executive acted; absent if the actor acted by itself"`

	EventID string          `json:"eventId,omitempty" doc:"the event that told subscribers about the same change" format:"uuid"`
	Details json.RawMessage `json:"details,omitempty" doc:"further facts; the members of the object depend on the kind"`
}

// ID returns the id of an entry: a UUIDv7 of its time and kind. The other bits follow from parts. They differ from the bits
// of an event's id with the same parts.
func ID(at time.Time, kind Kind, parts ...string) string {
	return id.Ranked(at, byte(min(slices.Index(Kinds(), kind), lastRank)), append(parts, string(kind), Entity)...)
}

// Create returns the op that adds an entry. The commit fails if the entry exists.
func (e Entry) Create(c store.Company) store.Op {
	return c.Create(Key(e.ID), Entity, e).Until(e.At.Add(Kept))
}

// Key returns the sort key of an entry. Entries sort by time because their ids are UUIDv7.
func Key(entryID string) string { return Prefix + entryID }
