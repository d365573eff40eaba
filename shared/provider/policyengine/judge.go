package policyengine

import (
	"fmt"
	"slices"

	"github.com/cedar-policy/cedar-go"

	"orgops/shared/base/text"
	"orgops/shared/domain/policy"
)

// judgement holds a verdict with the ids and the reasons of the policies that decided.
type judgement struct {
	verdict  policy.Verdict
	policies []string
	reasons  []string
}

// ballot lists the rules that apply to a request, and those that cannot be evaluated for it.
type ballot struct {
	permits, forbids []*rule
	failures         []cedar.DiagnosticError
}

// judge evaluates every policy once. shadow is the judgement with the log-only policies, as if they were enforced. digest
// identifies the action; it is "" if no policy asks for it.
func (s *Set) judge(company string, r policy.Request) (enforced, shadow judgement, digest string, err error) {
	if s.identifies {
		if digest, err = Digest(company, r); err != nil {
			return enforced, shadow, "", err
		}
	}
	q, err := s.frames.ask(r, digest)
	if err != nil {
		return enforced, shadow, "", err
	}
	if r.Action == policy.PoliciesReplace {
		enforced, shadow = s.judgeReplacement(q, r, digest)
		return enforced, shadow, digest, nil
	}
	base := s.poll(s.enforced, q)
	enforced = s.settle(base, r, func() ballot { return s.poll(s.enforced, q.approved(digest)) })
	if len(s.logOnly.permits)+len(s.logOnly.forbids) == 0 {
		return enforced, enforced, digest, nil
	}
	shadow = s.settle(join(base, s.poll(s.logOnly, q)), r, func() ballot {
		approved := q.approved(digest)
		return join(s.poll(s.enforced, approved), s.poll(s.logOnly, approved))
	})
	return enforced, shadow, digest, nil
}

// poll evaluates the rules of one mode.
func (s *Set) poll(d division, q *question) ballot {
	var b ballot
	_, permits := cedar.Authorize(d.permits, q, q.request)
	_, forbids := cedar.Authorize(d.forbids, q, q.request)
	b.permits, b.forbids = s.named(permits.Reasons), s.named(forbids.Reasons)
	b.failures = slices.Concat(permits.Errors, forbids.Errors)
	return b
}

func (s *Set) named(reasons []cedar.DiagnosticReason) []*rule {
	if len(reasons) == 0 {
		return nil
	}
	named := make([]*rule, 0, len(reasons))
	for _, r := range reasons {
		named = append(named, s.byID[string(r.PolicyID)])
	}
	return named
}

func join(a, b ballot) ballot {
	return ballot{
		permits: slices.Concat(a.permits, b.permits), forbids: slices.Concat(a.forbids, b.forbids), failures: slices.Concat(a.failures, b.failures),
	}
}

// settle reaches the verdict. A policy that cannot be evaluated denies, because Cedar skips such a policy, a forbid too. The
// verdict is NeedsApproval if every forbid that applies waits for an approval, and the approval would permit the action:
// approved evaluates the policies as if it had been given.
func (s *Set) settle(b ballot, r policy.Request, approved func() ballot) judgement {
	switch {
	case len(b.failures) > 0:
		return failed(b.failures)
	case len(b.forbids) == 0 && len(b.permits) == 0:
		return judgement{policy.Denied, []string{}, []string{fmt.Sprintf("no policy permits %s", r.Action)}}
	case len(b.forbids) == 0:
		return judgementOf(policy.Permitted, b.permits, "permits "+r.Action)
	case approvable(b.forbids):
		if then := approved(); len(then.forbids) == 0 && len(then.failures) == 0 && len(then.permits) > 0 {
			return judgementOf(policy.NeedsApproval, b.forbids, "asks for an approval of "+r.Action)
		}
	}
	return judgementOf(policy.Denied, b.forbids, "forbids "+r.Action)
}

func approvable(forbids []*rule) bool {
	for _, r := range forbids {
		if !r.approvable {
			return false
		}
	}
	return true
}

// judgementOf names the rules that decided. A rule without a reason of its own gets one from what it does.
func judgementOf(v policy.Verdict, decided []*rule, does string) judgement {
	j := judgement{verdict: v}
	for n, r := range decided {
		j.policies = append(j.policies, r.id)
		if n == maxReasons {
			j.reasons = append(j.reasons, fmt.Sprintf("and %d more", len(decided)-n))
		}
		if n >= maxReasons {
			continue
		}
		reason := r.reason
		if v == policy.NeedsApproval && r.approval != "" {
			reason = r.approval
		}
		if reason == "" {
			reason = fmt.Sprintf("policy %s %s", r.id, does)
		}
		j.reasons = append(j.reasons, text.Truncate(reason, maxReason))
	}
	return j
}

// maxReason limits a reason, in bytes, and maxReasons the reasons of a decision, because the decisions of an arrival are
// stored together.
const (
	maxReason  = 300
	maxReasons = 10
)

func failed(failures []cedar.DiagnosticError) judgement {
	j := judgement{verdict: policy.Denied}
	for n, f := range failures {
		j.policies = append(j.policies, string(f.PolicyID))
		switch {
		case n < maxReasons:
			j.reasons = append(j.reasons, text.Truncate(fmt.Sprintf("policy %s could not be evaluated: %s", f.PolicyID, f.Message), maxReason))
		case n == maxReasons:
			j.reasons = append(j.reasons, fmt.Sprintf("and %d more", len(failures)-n))
		}
	}
	return j
}
