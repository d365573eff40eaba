// Package policyengine decides on automated actions with Cedar policies: those in the folder default and those of the
// company. Package policycheck checks policies before they are stored.
package policyengine

import (
	"context"
	"sync"
	"time"

	"orgops/shared/base/id"
	"orgops/shared/domain/policy"
)

// Engine implements policy.Engine. It is safe for concurrent use.
type Engine struct {
	now      func() time.Time
	defaults func() (*Set, error)
}

// New makes an engine that decides with the default policies. It compiles them at the first decision, once.
func New(now func() time.Time) *Engine {
	return &Engine{now: now, defaults: sync.OnceValues(func() (*Set, error) { return Compile(nil) })}
}

// Decide implements policy.Engine. A policy that cannot be evaluated for the request denies it. Decide returns an error for
// an action or a type of resource that the schema does not have, and for a payload that JSON cannot express.
func (e *Engine) Decide(_ context.Context, company string, r policy.Request) (policy.Decision, error) {
	set, err := e.defaults()
	if err != nil {
		return policy.Decision{}, err
	}
	return decide(set, company, r, e.now().UTC())
}

// decide makes the decision of a set, with a new id.
func decide(set *Set, company string, r policy.Request, now time.Time) (policy.Decision, error) {
	enforced, shadow, digest, err := set.judge(company, r)
	if err != nil {
		return policy.Decision{}, err
	}
	d := policy.Decision{
		ID: id.New(), Verdict: enforced.verdict, Principal: r.Principal, Action: r.Action, Resource: r.Resource,
		Policies: enforced.policies, Reasons: enforced.reasons, PolicySet: set.Digest(), At: now,
	}
	if d.Verdict == policy.NeedsApproval {
		d.ActionDigest = digest
	}
	if shadow.verdict != enforced.verdict {
		d.Shadow = &policy.Shadow{Verdict: shadow.verdict, Policies: shadow.policies, Reasons: shadow.reasons}
	}
	return d, nil
}
