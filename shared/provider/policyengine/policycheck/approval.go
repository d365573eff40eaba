package policycheck

import (
	"fmt"
	"slices"

	"github.com/cedar-policy/cedar-go"
	"github.com/cedar-policy/cedar-go/x/exp/ast"
	"github.com/cedar-policy/cedar-go/x/exp/schema/resolved"

	"orgops/shared/domain/policy"
	"orgops/shared/provider/intake"
	"orgops/shared/provider/policyengine"
)

// example shows an approval that takes effect.
const example = `@approval("why a person has to agree") forbid (…) unless { context.approval == context.digest };`

// checkApproval refuses an approval on a permit, because another permit would do without the approval. It also refuses an
// approval that could not lift its forbid, and a forbid that waits for an approval without asking for it.
func checkApproval(s *resolved.Schema, p *cedar.Policy) []string {
	tree := (*ast.Policy)(p.AST())
	_, asks := p.Annotations()[policyengine.Approval]
	switch {
	case !asks && p.Effect() == cedar.Forbid && readsApproval(tree):
		return []string{"line 1: the forbid reads context.approval without @approval, so no person is asked and it always denies; write " + example}
	case !asks:
		return nil
	case p.Effect() != cedar.Forbid:
		return []string{"line 1: @approval stands on a permit, which another permit would bypass; write " + example}
	case !slices.ContainsFunc(tree.Conditions, func(c ast.ConditionType) bool {
		return c.Condition == ast.ConditionUnless && offersApproval(c.Body)
	}):
		return []string{"line 1: @approval needs an unless that the approval meets; write " + example}
	}
	return checkLifted(s, tree)
}

// checkLifted refuses an approval of an action that does not wait for one.
func checkLifted(s *resolved.Schema, tree *ast.Policy) []string {
	var lifted, covered, lost []string
	for uid, a := range s.Actions {
		name := string(uid.ID)
		waits := !slices.Contains(immediate(), name)
		if a.AppliesTo == nil {
			continue
		}
		if waits {
			lifted = append(lifted, uid.String())
		}
		switch covers := covers(tree, a); {
		case covers && waits:
			covered = append(covered, uid.String())
		case covers:
			lost = append(lost, name)
		}
	}
	if len(lost) == 0 {
		return nil
	}
	if len(covered) == 0 {
		covered = lifted
	}
	return []string{fmt.Sprintf("line 1: @approval covers %s, which no approval lifts; an approval can lift action in [%s]", listed(lost), listed(covered))}
}

// immediate lists the actions that no approval lifts, because a sync neither waits nor keeps them until a person decides. A removal
// of many items waits for a user without an approval.
func immediate() []string {
	return []string{intake.MemoryDelete, intake.GoalDelete, policy.SyncFetch, policy.SyncRemove}
}

// covers reports whether the scope of a policy includes an action.
func covers(tree *ast.Policy, a resolved.Action) bool {
	return includes(tree.Action, a.Entity) && admits(tree.Principal, a.AppliesTo.Principals) && admits(tree.Resource, a.AppliesTo.Resources)
}

// includes reports whether the scope of a policy includes an action, by its name or by one of its groups.
func includes(scope ast.IsScopeNode, action cedar.Entity) bool {
	within := func(uid cedar.EntityUID) bool { return uid == action.UID || action.Parents.Contains(uid) }
	switch scope := scope.(type) {
	case ast.ScopeTypeEq:
		return scope.Entity == action.UID
	case ast.ScopeTypeIn:
		return within(scope.Entity)
	case ast.ScopeTypeInSet:
		return slices.ContainsFunc(scope.Entities, within)
	}
	return true
}

// admits reports whether the scope of a policy admits one of the entity types.
func admits(scope ast.IsScopeNode, types []cedar.EntityType) bool {
	switch scope := scope.(type) {
	case ast.ScopeTypeEq:
		return slices.Contains(types, scope.Entity.Type)
	case ast.ScopeTypeIn: // no entity of the schema is in one of another type
		return slices.Contains(types, scope.Entity.Type)
	case ast.ScopeTypeIs:
		return slices.Contains(types, scope.Type)
	case ast.ScopeTypeIsIn:
		return slices.Contains(types, scope.Type)
	}
	return true
}

// readsApproval reports whether a condition reads context.approval.
func readsApproval(tree *ast.Policy) bool {
	reads := false
	for _, c := range tree.Conditions {
		ast.Inspect(ast.NewNode(c.Body), func(n ast.IsNode) bool {
			reads = reads || isFact(n, "approval")
			return !reads
		})
	}
	return reads
}

// offersApproval reports whether a condition is context.approval == context.digest, or has it as an alternative.
func offersApproval(n ast.IsNode) bool {
	switch n := n.(type) {
	case ast.NodeTypeOr:
		return offersApproval(n.Left) || offersApproval(n.Right)
	case ast.NodeTypeEquals:
		return isFact(n.Left, "approval") && isFact(n.Right, "digest") || isFact(n.Left, "digest") && isFact(n.Right, "approval")
	}
	return false
}

func isFact(n ast.IsNode, name string) bool { return isAttribute(n, "context", name) }

// isAttribute reports whether an expression is an attribute of a variable of the request.
func isAttribute(n ast.IsNode, variable, name string) bool {
	access, ok := n.(ast.NodeTypeAccess)
	if !ok || string(access.Value) != name {
		return false
	}
	of, ok := access.Arg.(ast.NodeTypeVariable)
	return ok && string(of.Name) == variable
}
