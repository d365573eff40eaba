package policycheck

import (
	"github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/x/exp/ast"
	"github.com/cedar-policy/cedar-go/x/exp/schema/resolved"

	"orgops/shared/domain/policy"
	"orgops/shared/provider/policyengine"
)

// checkReplacement refuses a policy about the replacement of policies alone that does not count for it. A policy that covers other
// actions too takes effect on those.
func checkReplacement(s *resolved.Schema, p *cedar.Policy) []string {
	tree := (*ast.Policy)(p.AST())
	for uid, a := range s.Actions {
		if a.AppliesTo != nil && covers(tree, a) != (string(uid.ID) == policy.PoliciesReplace) {
			return nil
		}
	}
	_, asks := p.Annotations()[policyengine.Approval]
	switch {
	case p.Effect() != cedar.Forbid:
		return []string{"line 1: policies.replace needs no permit; a forbid with @approval puts it under approval"}
	case !asks:
		return []string{"line 1: a forbid of policies.replace counts only with @approval, because it could never be removed again; write " + example}
	}
	return nil
}

// Widens reports whether a policy permits what the policies of the service do not: a removal of many items at once. Every other action
// that a permit could cover is permitted already, and a forbid of the service wins over every permit.
func (c *Checker) Widens(text string) (bool, error) {
	s, err := c.load()
	if err != nil {
		return false, err
	}
	p, err := policyengine.Parse(text)
	if err != nil || p.Effect() == cedar.Forbid {
		return false, nil //nolint:nilerr // a text that is no policy permits nothing
	}
	return covers((*ast.Policy)(p.AST()), s.Actions[cedar.NewEntityUID("Action", policy.SyncRemove)]), nil
}
