// Package policy decides whether an automated action may happen, and records every verdict with the rules that decided.
// Callers must respect the verdict, because the service has no other check for these actions.
package policy

import (
	"context"
	"slices"
	"time"

	"orgops/shared/base/id"
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

// Request names the principal, the action and the resource, with the facts that rules may use.
type Request struct {
	Principal timeline.Reference // such as {integration github}
	Action    string             // a port's name, such as "memory.upsert"
	Resource  timeline.Reference // such as {memory <id>}
	Context   Context
}

// Context holds the facts that rules may use in addition to the names.
type Context struct {
	Permissions []string // the ports that the principal's configuration lists
	Certified   bool     // the principal is out of the sandbox
	Enabled     bool
	Deletes     bool // the action removes something
}

// Decision holds a verdict with the rules that decided, as stored and as the API shows it.
type Decision struct {
	ID        string             `json:"id" doc:"UUIDv7"`
	Verdict   Verdict            `json:"verdict" enum:"permitted,denied,needs-approval"`
	Principal timeline.Reference `json:"principal"`
	Action    string             `json:"action" example:"memory.upsert"`
	Resource  timeline.Reference `json:"resource"`
	Policies  []string           `json:"policies" doc:"the rules that decided"`
	Reasons   []string           `json:"reasons"`
	DryRun    bool               `json:"dryRun,omitempty" doc:"true in the sandbox and in a preview: the service did not perform the action, even if permitted"`
	At        time.Time          `json:"at"`
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

// decision makes a Decision about a request, with a new id.
func decision(r Request, v Verdict, now time.Time, rule, reason string) Decision {
	return Decision{
		ID: id.New(), Verdict: v, Principal: r.Principal, Action: r.Action, Resource: r.Resource,
		Policies: []string{rule}, Reasons: []string{reason}, At: now,
	}
}
