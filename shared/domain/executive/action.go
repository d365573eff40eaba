package executive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"orgops/shared/base/id"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/timeline"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
)

// Action names something that an executive may ask for.
type Action string

// The actions.
const (
	MemorySync            Action = "memory.sync"
	RecommendationClaim   Action = "recommendation.claim"
	RecommendationDismiss Action = "recommendation.dismiss"
	IntegrationDisable    Action = "integration.disable"
	TimelineNote          Action = "timeline.note"
	GoalNote              Action = "goal.note"
	DeliveriesRecover     Action = "deliveries.recover"
)

// Actions lists every action.
func Actions() []Action {
	return []Action{MemorySync, RecommendationClaim, RecommendationDismiss, IntegrationDisable, TimelineNote, GoalNote, DeliveriesRecover}
}

// Scope returns the scope that a user needs to bring about what the action does. An executive that acts for a user does no more than
// the user may.
func (a Action) Scope() string {
	switch a {
	case MemorySync:
		return user.ScopeMemoryWrite
	case RecommendationClaim, RecommendationDismiss:
		return user.ScopeIntelligenceWrite
	case IntegrationDisable, DeliveriesRecover:
		return user.ScopeIntegrationsWrite
	}
	return user.ScopeExecutivesWrite // a note comes from an executive alone, so from a user who may ask for its actions
}

// Progress says what became of an action.
type Progress string

// The states of an action. All but Pending are final.
const (
	Proposed Progress = "proposed" // tried in the sandbox: it had no effect
	Pending  Progress = "pending"  // waits for the approval of a person
	Done     Progress = "done"
	Denied   Progress = "denied"   // the policies deny it
	Rejected Progress = "rejected" // a person rejected its approval
	Expired  Progress = "expired"  // no person decided about its approval in time
	// Withdrawn: the one who asked took the request for its approval back, or lost the right to ask.
	Withdrawn Progress = "withdrawn"
)

// ActionRecord describes one action that an executive asked for, as stored and as the API shows it.
type ActionRecord struct {
	ID          string             `json:"id" doc:"UUIDv7" format:"uuid"`
	Executive   timeline.Reference `json:"executive" doc:"the executive that asked"`
	Action      Action             `json:"action" enum:"memory.sync,recommendation.claim,recommendation.dismiss,integration.disable,timeline.note,goal.note,deliveries.recover" doc:"what it asked for"`
	Input       json.RawMessage    `json:"input" doc:"the input of the action, as it was given"`
	State       Progress           `json:"state" enum:"proposed,pending,done,denied,rejected,expired,withdrawn" doc:"proposed: tried in the sandbox, without an effect; pending: waits for an approval; done: took effect; denied: the policies did not permit it; rejected: a user rejected its approval; expired: no user decided about its approval within 24 hours; withdrawn: the user who asked took it back, or lost the right to ask"`
	Decision    policy.Decision    `json:"decision" doc:"the policy engine's verdict; after an approval, that of the policies at that time"`
	Effect      *Effect            `json:"effect,omitempty" doc:"what the action changed or, if it is proposed or pending, would change; absent if the verdict is denied"`
	RequestedBy string             `json:"requestedBy,omitempty" doc:"the user whose token asked, or for whom the executive asked; absent if the executive asked by itself"`
	ClientID    string             `json:"clientId,omitempty" doc:"the client that asked as the executive; absent if the token of a user did, to try the executive" format:"uuid"`
	At          time.Time          `json:"at" doc:"when it was asked for"`
	ApprovalID  string             `json:"approvalId,omitempty" doc:"the approval that it needs; absent if it needs none" format:"uuid"`
	ExpiresAt   time.Time          `json:"expiresAt,omitzero" doc:"until when its approval can be decided; absent for an action that never was pending"`
	EndedAt     time.Time          `json:"endedAt,omitzero" doc:"when the approval was given, was rejected or expired; absent for an action that never was pending"`
}

// Refused reports whether an action was refused when it was asked for.
func (r ActionRecord) Refused() bool {
	return (r.State == Denied || r.State == Rejected) && r.EndedAt.IsZero()
}

// AsOf returns the action as it is at a time: expired from ExpiresAt on, even before the timer of its approval has fired.
func (r ActionRecord) AsOf(now time.Time) ActionRecord {
	if r.State == Pending && !now.Before(r.ExpiresAt) {
		return r.End(Expired, r.ExpiresAt)
	}
	return r
}

// End returns a pending action in a final state.
func (r ActionRecord) End(state Progress, at time.Time) ActionRecord {
	r.State, r.EndedAt = state, at.UTC()
	return r
}

// Effect describes what an action changes.
type Effect struct {
	Summary string             `json:"summary" doc:"the effect in words" example:"requests a sync of feed"`
	Subject timeline.Reference `json:"subject" doc:"the resource that the action creates or changes; its id is empty if the resource would be created"`
}

// RecordEntity names the entity of a record's item.
const RecordEntity = "executive-action"

// Kept limits how long a record is kept.
const Kept = 180 * 24 * time.Hour

// RecordPrefix returns the prefix of the keys of an executive's records. The records sort by time.
func RecordPrefix(executiveID string) string { return "EXECUTIVEACTION#" + executiveID + "#" }

// Create returns the write that stores a record.
func (r ActionRecord) Create(c store.Company) store.Op {
	return c.Create(RecordPrefix(r.Executive.ID)+r.ID, RecordEntity, r).Until(r.At.Add(Kept))
}

// Replace returns the write that stores a changed record of the given version.
func (r ActionRecord) Replace(c store.Company, version int64) store.Op {
	return c.Replace(RecordPrefix(r.Executive.ID)+r.ID, RecordEntity, version, r).Until(r.At.Add(Kept))
}

// FindRecord reads a record of an executive. It returns fault.NotFound for an id that no record has.
func FindRecord(ctx context.Context, c store.Company, executiveID, recordID string) (ActionRecord, error) {
	r, _, err := LoadRecord(ctx, c, executiveID, recordID)
	return r, err
}

// LoadRecord reads a record, as FindRecord does, and its version.
func LoadRecord(ctx context.Context, c store.Company, executiveID, recordID string) (ActionRecord, int64, error) {
	var r ActionRecord
	const missing = "the executive has no action with this id"
	if !id.Valid(executiveID) || !id.Valid(recordID) {
		return r, 0, store.Fault(store.ErrNotFound, missing)
	}
	item, err := c.Get(ctx, RecordPrefix(executiveID)+recordID, &r)
	return r, item.Version, store.Fault(err, missing)
}

// Mark leads from an Idempotency-Key to the record of the action that was asked for with it. It is written in one
// transaction with the action's effect, so a repeated request finds the action or nothing.
type Mark struct {
	Record string `json:"record"`
	Asked  string `json:"asked"`          // identifies the request; the key is good for no other one
	Told   bool   `json:"told,omitempty"` // of a key that Joins: how the action ended after its approval was told
}

// markEntity names the entity of a mark's item.
const markEntity = "executive-key"

// MarkKept limits how long a repeat of a request is recognised.
const MarkKept = 24 * time.Hour

// joining begins each key of JoiningKey.
const joining = "joins-"

// JoiningKey returns an Idempotency-Key that follows from the request, for a caller who sends none. It identifies no single request, so a
// repeat joins an action that waits for an approval, is told once how that ended, and otherwise is a new request.
func JoiningKey(request []byte) string {
	sum := sha256.Sum256(request)
	return joining + hex.EncodeToString(sum[:16])
}

// Joins reports whether a key is one of JoiningKey.
func Joins(idempotencyKey string) bool { return strings.HasPrefix(idempotencyKey, joining) }

// Stands reports whether an action is what a repeat by a key that Joins gets.
func (m Mark) Stands(r ActionRecord) bool {
	return r.State == Pending || !r.EndedAt.IsZero() && !m.Told
}

// MarkKey returns the sort key of the mark of an Idempotency-Key. A key is a principal's own, and of one executive: a later one
// of the same name has the same id and another time.
func MarkKey(e Executive, principal, idempotencyKey string) string {
	return "EXECUTIVEKEY#" + e.ID + "#" + id.Of(markEntity, e.CreatedAt.UTC().Format(time.RFC3339Nano), principal, idempotencyKey)
}

// Save returns the write that stores a mark. version is that of the mark that it replaces; 0: none.
func (m Mark) Save(c store.Company, key string, version int64, now time.Time) store.Op {
	return c.Save(key, markEntity, version, m).Until(now.Add(MarkKept)).Quietly()
}

// FindMark reads a mark; version is 0 if the key has no mark.
func FindMark(ctx context.Context, c store.Company, key string) (m Mark, version int64, err error) {
	item, err := c.Get(ctx, key, &m)
	if errors.Is(err, store.ErrNotFound) {
		return m, 0, nil
	}
	return m, item.Version, store.Fault(err, "")
}
