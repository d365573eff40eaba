package policyengine

import (
	"slices"

	"orgops/shared/domain/policy"
)

// judgeReplacement judges a replacement of the company's policies. Only forbids with @approval count, and an approval lifts all of
// them, also a forbid that cannot be evaluated. Otherwise a company could lock itself out of its policies.
func (s *Set) judgeReplacement(q *question, r policy.Request, digest string) (enforced, shadow judgement) {
	permits := s.poll(division{permits: s.enforced.permits}, q).permits
	if digest != "" && r.Approval == digest {
		permitted := judgementOf(policy.Permitted, permits, "permits "+r.Action)
		return permitted, permitted
	}
	asks := s.asking(s.enforced, q)
	return settleReplacement(permits, asks, r), settleReplacement(permits, slices.Concat(asks, s.asking(s.logOnly, q)), r)
}

// asking returns the rules that ask for an approval. A rule that cannot be evaluated asks too.
func (s *Set) asking(d division, q *question) []*rule {
	liftable := slices.DeleteFunc(slices.Clone(d.forbids), func(r *rule) bool { return !r.approvable })
	b := s.poll(division{forbids: liftable}, q)
	for _, f := range b.failures {
		b.forbids = append(b.forbids, s.byID[string(f.PolicyID)])
	}
	return b.forbids
}

func settleReplacement(permits, asks []*rule, r policy.Request) judgement {
	if len(asks) == 0 {
		return judgementOf(policy.Permitted, permits, "permits "+r.Action)
	}
	return judgementOf(policy.NeedsApproval, asks, "asks for an approval of "+r.Action)
}
