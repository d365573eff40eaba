// Package policy describes the decisions on automated actions: what is asked, the verdict, and the policies that decided.
// Callers must respect the verdict, because the service has no other check for these actions. Package policyengine decides.
package policy

import (
	"context"
	"errors"
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

// SyncFetch names the action of fetching from a host during a sync, and Host the type of its resource, whose id is the host's
// name. No approval can be given for it, because a fetch does not wait.
const (
	SyncFetch = "sync.fetch"
	Host      = "host"
)

// SyncRemove names the action of removing many items at the end of a full sync, and Removal the type of its resource, whose id is the
// integration's provider. No policy of the service is about it: a user agrees where no policy of the company decides.
const (
	SyncRemove = "sync.remove"
	Removal    = "removal"
)

// PoliciesReplace names the action of replacing the company's policies, which a user asks for. Only the forbids with @approval count
// for it: any other forbid could never be removed again.
const PoliciesReplace = "policies.replace"

// EndpointDisable names the action of disabling an endpoint that is gone or has failed for days. The service asks for it.
const EndpointDisable = "endpoint.disable"

// ServiceType names the type of the service itself, as a principal.
const ServiceType = "service"

// Service returns the principal of what the service does by itself.
func Service() timeline.Reference { return timeline.Reference{Type: ServiceType, ID: "orgops"} }

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
	// Current makes the engine read the company's policies again, instead of deciding with those that it read a moment ago.
	Current bool
}

// Context holds the facts about the principal and the request.
type Context struct {
	Kind        string   // the integration's connector, such as "github", or the executive's role
	Permissions []string // the ports that the integration's configuration lists, or the actions that the executive declares
	Port        string   // the permission that the action needs
	Certified   bool     // the principal is out of the sandbox
	Enabled     bool     // the integration is enabled, or the executive's owner is an active user
}

// Item holds what the action would store. Fields that the item does not have are zero.
type Item struct {
	Provider, ExternalID, Kind, Title, Subject, State, Priority string

	Reason string // why an endpoint would be disabled: integration.DisabledGone or integration.DisabledFailing

	Percent int // of a goal's progress, rounded down

	Loosens bool // of a replacement of the policies: whether it weakens what is enforced

	Own bool // of a host: whether a manifest of the company's own leads there

	Count, Total int // of a removal: the items that would be removed, and those that are stored
}

// Decision holds a verdict with the policies that decided, as stored and as the API shows it.
type Decision struct {
	ID        string             `json:"id" doc:"UUIDv7"`
	Verdict   Verdict            `json:"verdict" enum:"permitted,denied,needs-approval" doc:"whether the action may happen"`
	Principal timeline.Reference `json:"principal" doc:"who asked, such as an integration"`
	// OnBehalfOf names the user for whom an executive asked.
	OnBehalfOf *timeline.Reference `json:"onBehalfOf,omitempty" doc:"the user for whom the executive asked; absent if the principal asked by itself"`

	Action    string             `json:"action" example:"memory.upsert" doc:"what was asked"`
	Resource  timeline.Reference `json:"resource" doc:"what the action would change"`
	Policies  []string           `json:"policies" doc:"the policies that decided; none if no policy permits the action"`
	PolicySet string             `json:"policySet,omitempty" doc:"SHA-256 over the policies that were in force, base64url"`
	Reasons   []string           `json:"reasons" doc:"why, from the policies that decided"`
	Shadow    *Shadow            `json:"shadow,omitempty" doc:"the verdict if the policies that are log-only were enforced; absent if it is the same"`
	DryRun    bool               `json:"dryRun,omitempty" doc:"true in the sandbox and in a preview: the service did not perform the action, even if permitted"`
	At        time.Time          `json:"at" doc:"when the engine decided"`

	// ActionDigest identifies the exact action: SHA-256 over its canonical JSON (RFC 8785), base64url. It is set if the
	// verdict is NeedsApproval.
	ActionDigest string `json:"actionDigest,omitempty" doc:"SHA-256 over the canonical JSON of an action that needs approval, base64url"`
}

// Shadow holds the verdict that the log-only policies would lead to.
type Shadow struct {
	Verdict  Verdict  `json:"verdict" enum:"permitted,denied,needs-approval" doc:"the verdict with these policies"`
	Policies []string `json:"policies" doc:"the policies that would decide"`
	Reasons  []string `json:"reasons" doc:"why, from the policies that would decide"`
}

// Decisions holds the decisions on the items of one page of a sync, which one write stores under the id of the first. A single
// decision is stored without others.
type Decisions struct {
	Decision
	Others []Decision `json:"others,omitempty" doc:"the decisions on the other items of the same page of a sync"`
}

// Engine decides requests with the policies of the service and those of the company. On an error there is no verdict, and
// the caller must treat the request as denied.
type Engine interface {
	Decide(ctx context.Context, c store.Company, r Request) (Decision, error)
}

// Ask decides with an engine at now. An error of the engine counts as denied. If ctx has ended or the store is unavailable, there
// is no verdict at all: Ask returns an error, so that the caller keeps nothing and the action is asked for again.
func Ask(ctx context.Context, e Engine, c store.Company, r Request, now time.Time) (Decision, error) {
	d, err := e.Decide(ctx, c, r)
	switch {
	case err == nil:
		return d, nil
	case ctx.Err() != nil:
		return Decision{}, ctx.Err()
	case errors.Is(err, store.ErrUnavailable):
		return Decision{}, store.Fault(err, "")
	}
	return Deny(r, "the policies could not be evaluated", now), nil
}

// Deny makes the decision on a request about which no policy decides.
func Deny(r Request, reason string, now time.Time) Decision {
	return Decision{
		ID: id.New(), Verdict: Denied, Principal: r.Principal, Action: r.Action, Resource: r.Resource,
		Policies: []string{}, Reasons: []string{reason}, At: now,
	}
}

// Entity and Prefix name the entity of a stored decision and the prefix of its key.
const (
	Entity = "decision"
	Prefix = "DECISION#"
)

// Kept limits how long a decision is kept.
const Kept = 180 * 24 * time.Hour

// Create returns the write that stores a decision. From its change a company's context counts decisions; nothing else follows. A caller
// that counts it in another change may keep it out of the feed.
func Create(c store.Company, d Decision) store.Op {
	return c.Create(Prefix+d.ID, Entity, d).Until(d.At.Add(Kept))
}

// CreatePage returns the write that stores the decisions of a page, of which there is at least one. A refusal comes first,
// because the timeline names it.
func CreatePage(c store.Company, decisions []Decision) store.Op {
	first := max(0, slices.IndexFunc(decisions, func(d Decision) bool { return d.Verdict != Permitted }))
	page := Decisions{Decision: decisions[first], Others: slices.Delete(slices.Clone(decisions), first, first+1)}
	return c.Create(Prefix+page.ID, Entity, page).Until(page.At.Add(Kept))
}
