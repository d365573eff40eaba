// Package policyengine decides on automated actions with Cedar policies: those in the folder default and those of the
// company. Package policycheck checks policies before they are stored.
package policyengine

import (
	"context"
	"time"

	"orgops/shared/base/id"
	"orgops/shared/domain/policy"
	"orgops/shared/storage/store"
)

// Engine implements policy.Engine. It is safe for concurrent use.
type Engine struct {
	now  func() time.Time
	sets *cache
}

// New makes an engine. It compiles the policies of the service at the first decision, once, and those of a company once for
// each version.
func New(now func() time.Time) *Engine {
	return &Engine{now: now, sets: newCache(now)}
}

// Decide implements policy.Engine. A policy that cannot be evaluated for the request denies it. Decide returns an error if
// the company's policies cannot be read, for an action or a type of resource that the schema does not have, and for a payload
// that JSON cannot express.
func (e *Engine) Decide(ctx context.Context, c store.Company, r policy.Request) (policy.Decision, error) {
	set, err := e.sets.of(ctx, c, r.Current)
	if err != nil {
		return policy.Decision{}, err
	}
	return set.Decide(c.ID(), r, e.now().UTC())
}

// Forget makes the next decision of a company read its policies again. Other processes learn of new policies within Fresh.
func (e *Engine) Forget(company string) { e.sets.forget(company) }

// Decide makes the decision of a set, with a new id.
func (s *Set) Decide(company string, r policy.Request, now time.Time) (policy.Decision, error) {
	enforced, shadow, digest, err := s.judge(company, r)
	if err != nil {
		return policy.Decision{}, err
	}
	d := policy.Decision{
		ID: id.New(), Verdict: enforced.verdict, Principal: r.Principal, Action: r.Action, Resource: r.Resource,
		Policies: enforced.policies, Reasons: enforced.reasons, PolicySet: s.Digest(), At: now,
	}
	if d.Verdict == policy.NeedsApproval {
		d.ActionDigest = digest
	}
	if shadow.verdict != enforced.verdict {
		d.Shadow = &policy.Shadow{Verdict: shadow.verdict, Policies: shadow.policies, Reasons: shadow.reasons}
	}
	return d, nil
}
