// Package policy decides whether an automated action may happen. Every verdict is recorded with what decided it, and
// is respected by whoever asked: nothing else in the service lets an action through.
package policy

import (
	"context"
	"time"

	"orgops/shared/id"
	"orgops/shared/store"
	"orgops/shared/timeline"
)

// Verdict is the answer.
type Verdict string

// The verdicts.
const (
	Permitted     Verdict = "permitted"
	Denied        Verdict = "denied"
	NeedsApproval Verdict = "needs-approval"
)

// Request is who wants to do what to which thing, and what is known about it.
type Request struct {
	Principal timeline.Reference // such as {integration github}
	Action    string             // a port's name, such as "memory.upsert"
	Resource  timeline.Reference // such as {memory <id>}
	Context   Context
}

// Context is what rules may look at beyond the names.
type Context struct {
	Permissions []string // the ports that the principal's configuration lists
	Certified   bool     // the principal is out of the sandbox
	Enabled     bool
	Deletes     bool // the action takes something away
}

// Decision is a verdict with what decided it, as stored and as the API shows it.
type Decision struct {
	ID        string             `json:"id" doc:"UUIDv7"`
	Verdict   Verdict            `json:"verdict" enum:"permitted,denied,needs-approval"`
	Principal timeline.Reference `json:"principal"`
	Action    string             `json:"action" example:"memory.upsert"`
	Resource  timeline.Reference `json:"resource"`
	Policies  []string           `json:"policies" doc:"the rules that decided"`
	Reasons   []string           `json:"reasons"`
	DryRun    bool               `json:"dryRun,omitempty" doc:"nothing was done, whatever the verdict: the sandbox, or a preview"`
	At        time.Time          `json:"at"`
}

// Engine decides. An error means that no verdict could be reached, and is to be treated as a denial.
type Engine interface {
	Decide(ctx context.Context, company string, r Request) (Decision, error)
}

// Entity and Prefix are the stored decision's entity and the prefix of its key.
const (
	Entity = "decision"
	Prefix = "DECISION#"
)

// Kept is how long a decision is kept.
const Kept = 180 * 24 * time.Hour

// Record is the write that stores a decision. Nothing is derived from it, so it stays out of the feed.
func Record(c store.Company, d Decision) store.Op {
	return c.Create(Prefix+d.ID, Entity, d).Until(d.At.Add(Kept)).Silent()
}

// decision starts a Decision about a request.
func decision(r Request, v Verdict, now time.Time, rule, reason string) Decision {
	return Decision{
		ID: id.New(), Verdict: v, Principal: r.Principal, Action: r.Action, Resource: r.Resource,
		Policies: []string{rule}, Reasons: []string{reason}, At: now,
	}
}
