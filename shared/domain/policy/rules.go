package policy

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Rules decides by a built-in table. The first rule that applies decides; a request that no rule permits is denied.
type Rules struct {
	Now func() time.Time
}

type rule struct {
	id      string
	applies func(Request) bool
	verdict Verdict
	reason  func(Request) string
}

// table lists the rules in order of precedence. Rules that deny come before rules that permit.
func table() []rule {
	return []rule{
		{"principal-enabled", func(r Request) bool { return !r.Context.Enabled }, Denied,
			func(r Request) string { return fmt.Sprintf("%s is disabled", r.Principal.ID) }},
		{"action-within-permissions", func(r Request) bool { return !slices.Contains(r.Context.Permissions, r.Action) }, Denied,
			func(r Request) string {
				return fmt.Sprintf("%s has no permission for %s; reconfigure the integration to grant it", r.Principal.ID, r.Action)
			}},
		{"permit-connector-actions", func(r Request) bool { return slices.Contains(actions(), r.Action) }, Permitted,
			func(r Request) string {
				return fmt.Sprintf("%s is within the permissions of %s", r.Action, r.Principal.ID)
			}},
	}
}

func actions() []string { return []string{"memory.upsert", "goal.update", "timeline.note"} }

// Decide implements Engine.
func (e Rules) Decide(_ context.Context, _ string, r Request) (Decision, error) {
	now := e.Now().UTC()
	for _, rule := range table() {
		if rule.applies(r) {
			return decision(r, rule.verdict, now, rule.id, rule.reason(r)), nil
		}
	}
	return decision(r, Denied, now, "deny-by-default", fmt.Sprintf("no rule permits %s", r.Action)), nil
}
