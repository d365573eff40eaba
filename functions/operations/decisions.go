package operations

import (
	"context"

	"orgops/shared/domain/policy"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

type decisionsInput struct {
	web.PageQuery
	Verdict   string `query:"verdict" enum:"permitted,denied,needs-approval" doc:"only decisions with this verdict"`
	Action    string `query:"action" maxLength:"64" doc:"only decisions on this action" example:"memory.upsert"`
	Principal string `query:"principal" maxLength:"64" doc:"only what the integration or user with this id asked for" example:"github"`
}

// keeps reports whether a decision passes the filters.
func (in *decisionsInput) keeps(d policy.Decision) bool {
	return (in.Verdict == "" || string(d.Verdict) == in.Verdict) && (in.Action == "" || d.Action == in.Action) &&
		(in.Principal == "" || d.Principal.ID == in.Principal)
}

// listDecisions lists the stored decisions. The decisions on the items of one page of a sync are one entry.
func listDecisions(ctx context.Context, in *decisionsInput) (*web.PageOutput[policy.Decisions], error) {
	keep := func(p policy.Decisions) bool {
		if in.keeps(p.Decision) {
			return true
		}
		for _, other := range p.Others {
			if in.keeps(other) {
				return true
			}
		}
		return false
	}
	return web.List(ctx, in.PageQuery, store.Query{Prefix: policy.Prefix, Desc: true}, keep, in.Verdict, in.Action, in.Principal)
}
