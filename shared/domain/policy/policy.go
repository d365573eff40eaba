// Package policy describes the decisions on automated actions: what is asked, the verdict, and the policies that decided.
// Callers must respect the verdict, because the service has no other check for these actions. Package policyengine decides.
package policy

import (
	"context"
	"slices"
	"time"

	"orgops/shared/domain/timeline"
	"orgops/shared/storage/store"
)

// Verdict says whether an action may happen.
type Verdict string

// The verdicts.
const (
	Permitted     Verdict = "permitted"
	Denied        Verdict = "denied"
	NeedsApproval Verdict = "needs-approval"
)

// Request names the principal, the action and the resource, with the facts that policies may use.
type Request struct {
	Principal timeline.Reference // such as {integration github}
	Action    string             // such as "memory.upsert"
	Resource  timeline.Reference // such as {memory <id>}
	Context   Context
	Item      Item

	// Payload holds the exact action, which is encoded as JSON. An approval is bound to the digest of the principal, the
	// action, the resource and the payload.
	Payload any
	// Approval holds the digest of the action that a person has approved, or "".
	Approval string
}

// Context holds the facts about the principal and the request.
type Context struct {
	Kind        string   // the principal's connector, such as "github"
	Permissions []string // the ports that the principal's configuration lists
	Port        string   // the permission that the action needs
	Certified   bool     // the principal is out of the sandbox
	Enabled     bool
}

// Item holds what the action would store. Fields that the item does not have are zero.
type Item struct {
	Provider, ExternalID, Kind, Title, Subject, State string

	Percent int // of a goal's progress, rounded down
}

// Decision holds a verdict with the policies that decided, as stored and as the API shows it.
type Decision struct {
	ID        string             `json:"id" doc:"UUIDv7"`
	Verdict   Verdict            `json:"verdict" enum:"permitted,denied,needs-approval"`
	Principal timeline.Reference `json:"principal"`
	Action    string             `json:"action" example:"memory.upsert"`
	Resource  timeline.Reference `json:"resource"`
	Policies  []string           `json:"policies" doc:"the policies that decided; none if no policy permits the action"`
	PolicySet string             `json:"policySet,omitempty" doc:"SHA-256 over the policies that were in force, base64url"`
	Reasons   []string           `json:"reasons"`
	Shadow    *Shadow            `json:"shadow,omitempty" doc:"the verdict if the policies that are log-only were enforced; absent if it is the same"`
	DryRun    bool               `json:"dryRun,omitempty" doc:"true in the sandbox and in a preview: the service did not perform the action, even if permitted"`
	At        time.Time          `json:"at"`

	// ActionDigest identifies the exact action: SHA-256 over its canonical JSON (RFC 8785), base64url. It is set if the
	// verdict is NeedsApproval.
	ActionDigest string `json:"actionDigest,omitempty" doc:"SHA-256 over the canonical JSON of an action that needs approval, base64url"`
}

// Shadow holds the verdict that the log-only policies would lead to.
type Shadow struct {
	Verdict  Verdict  `json:"verdict" enum:"permitted,denied,needs-approval"`
	Policies []string `json:"policies" doc:"the policies that would decide"`
	Reasons  []string `json:"reasons"`
}

// Page holds the decisions of one page of a sync, which one write stores under the id of the first.
type Page struct {
	Decision
	Others []Decision `json:"others,omitempty"`
}

// Engine decides requests. On an error there is no verdict, and the caller must treat the request as denied.
type Engine interface {
	Decide(ctx context.Context, company string, r Request) (Decision, error)
}

// Entity and Prefix name the entity of a stored decision and the prefix of its key.
const (
	Entity = "decision"
	Prefix = "DECISION#"
)

// Kept limits how long a decision is kept.
const Kept = 180 * 24 * time.Hour

// Create returns the write that stores a decision. The write stays out of the change feed, because nothing is derived from
// decisions.
func Create(c store.Company, d Decision) store.Op {
	return c.Create(Prefix+d.ID, Entity, d).Until(d.At.Add(Kept)).Quietly()
}

// CreatePage returns the write that stores the decisions of a page, of which there is at least one. A refusal comes first,
// because the timeline names it.
func CreatePage(c store.Company, decisions []Decision) store.Op {
	first := max(0, slices.IndexFunc(decisions, func(d Decision) bool { return d.Verdict != Permitted }))
	page := Page{Decision: decisions[first], Others: slices.Delete(slices.Clone(decisions), first, first+1)}
	return c.Create(Prefix+page.ID, Entity, page).Until(page.At.Add(Kept)).Quietly()
}
