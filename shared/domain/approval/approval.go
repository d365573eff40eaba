// Package approval describes the approvals that the policy engine asks a person for. An approval is bound to the digest of
// the exact action, waits for a day, and is used once.
package approval

import (
	"encoding/json"
	"time"

	"orgops/shared/base/id"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/timeline"
	"orgops/shared/storage/store"
)

// Entity and Prefix name the entity of an approval's item and the prefix of its key.
const (
	Entity = "approval"
	Prefix = "APPROVAL#"
)

// Waits limits how long an approval can be decided. Kept limits how long it is kept after its request. ExpiryTimer names the
// kind of the timer that ends an approval without an answer, and WarningTimer that of the timer before it, which fires while Warns is
// left. The subject of both is the approval's id.
const (
	Waits       = 24 * time.Hour
	Warns       = 6 * time.Hour
	Kept        = 180 * 24 * time.Hour
	ExpiryTimer = "approval-expiry"

	WarningTimer = "approval-expiring"
)

// State says whether an approval still waits for an answer.
type State string

// The states. All but Pending are final.
const (
	Pending  State = "pending"
	Approved State = "approved"
	Rejected State = "rejected"
	Expired  State = "expired" // no user decided in time
	// Withdrawn: the one who asked took the request back, or lost the right to ask.
	Withdrawn State = "withdrawn"
)

// Approval describes one approval, as stored and as the API shows it.
type Approval struct {
	ID            string             `json:"id" doc:"UUIDv7" format:"uuid"`
	State         State              `json:"state" enum:"pending,approved,rejected,expired,withdrawn" doc:"pending: waits for a decision; expired: was not decided within 24 hours; withdrawn: the one who asked took it back, or lost the right to ask"`
	Principal     timeline.Reference `json:"principal" doc:"who asks for the action"`
	PrincipalName string             `json:"principalName,omitempty" doc:"the name of the executive, or of the user who asks; absent for a user without a name, and for an integration, whose id is its name" example:"Chief of Staff"`
	RequestedBy   timeline.Reference `json:"requestedBy" doc:"who caused the request, and so may not decide it: the principal or the user behind it"`
	Action        string             `json:"action" doc:"the action that would be carried out" example:"goal.update"`
	Resource      timeline.Reference `json:"resource" doc:"what the action is about"`
	Title         string             `json:"title" doc:"the title of what the action would store" example:"Ship the beta"`
	Payload       json.RawMessage    `json:"payload" doc:"the exact action; its members depend on the action"`
	Digest        string             `json:"digest" doc:"SHA-256 over the canonical JSON (RFC 8785) of the company, the principal, the action, the resource and the payload, base64url" example:"RultgcKdP2HSt33qFlwwlDjpT48eqnRGFxH-2etK5WM"`
	Policies      []string           `json:"policies" nullable:"false" doc:"the policies that ask for the approval" example:"[\"closing\"]"`
	Reasons       []string           `json:"reasons" nullable:"false" doc:"why they ask for it"`
	DecisionID    string             `json:"decisionId" doc:"the policy engine's decision that asked for the approval" format:"uuid"`
	ActionID      string             `json:"actionId,omitempty" doc:"the executive's action that waits for it; absent for an integration" format:"uuid"`
	RequestedAt   time.Time          `json:"requestedAt" doc:"when the action was asked for"`
	ExpiresAt     time.Time          `json:"expiresAt" doc:"until when it can be decided, 24 hours later"`
	WarnedAt      *time.Time         `json:"warnedAt,omitempty" doc:"since when it counts as about to expire, 6 hours before it does; absent before"`
	Answer        *Answer            `json:"answer,omitempty" doc:"how it ended; absent while it is pending"`
}

// Answer says how an approval ended.
type Answer struct {
	At time.Time          `json:"at" doc:"when it ended"`
	By timeline.Reference `json:"by" doc:"the user who decided or took it back, or the system if it expired or ended with the rights of the one who asked"`

	// The following fields are set if the action was decided on again, after it was approved.
	DecisionID string         `json:"decisionId,omitempty" doc:"the policy engine's decision under the policies at that time" format:"uuid"`
	Verdict    policy.Verdict `json:"verdict,omitempty" enum:"permitted,denied,needs-approval" doc:"its verdict; the action was carried out only if it is permitted"`
	Outcome    string         `json:"outcome,omitempty" enum:"created,updated,unchanged,refused" doc:"what the action changed"`
}

// New returns the pending approval that a decision asks for. payload holds the exact action, whose digest the decision has.
func New(d policy.Decision, payload json.RawMessage, title string, by timeline.Reference) Approval {
	at := d.At.UTC()
	return Approval{
		ID: id.At(at, Entity, d.ID), State: Pending, Principal: d.Principal, RequestedBy: by, Action: d.Action, Resource: d.Resource,
		Title: title, Payload: payload, Digest: d.ActionDigest, Policies: d.Policies, Reasons: d.Reasons, DecisionID: d.ID,
		RequestedAt: at, ExpiresAt: at.Add(Waits),
	}
}

// IsPending reports whether the approval can be decided as of now.
func (a Approval) IsPending(now time.Time) bool { return a.State == Pending && now.Before(a.ExpiresAt) }

// AsOf returns the approval as it is at a time: expired from ExpiresAt on, even before the timer has fired.
func (a Approval) AsOf(now time.Time) Approval {
	if a.State == Pending && !a.IsPending(now) {
		a.State = Expired
	}
	return a
}

// Key returns the sort key of an approval. Approvals sort by the time of their request.
func Key(approvalID string) string { return Prefix + approvalID }

// replace returns the write that stores a changed approval.
func (a Approval) replace(c store.Company, version int64) store.Op {
	return c.Replace(Key(a.ID), Entity, version, a).Until(a.RequestedAt.Add(Kept))
}
