package executives

import (
	"context"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/domain/executive"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

type actionsInput struct {
	ExecutiveInput
	web.PageQuery
	State string `query:"state" enum:"proposed,pending,done,denied,rejected,expired,withdrawn" doc:"only actions in this state"`
}

// listActions lists an executive's actions, even if the executive has been deleted.
func (d Deps) listActions(ctx context.Context, in *actionsInput) (*web.PageOutput[executive.ActionRecord], error) {
	if !id.Valid(in.Executive) {
		return nil, fault.New(fault.NotFound, "there is no executive with this id")
	}
	now := d.Now()
	keep := func(r executive.ActionRecord) bool { return in.State == "" || string(r.AsOf(now).State) == in.State }
	page, err := web.List(ctx, in.PageQuery, store.Query{Prefix: executive.RecordPrefix(in.Executive), Desc: true}, keep, in.Executive, in.State)
	if err != nil {
		return nil, err
	}
	if len(page.Body.Items) == 0 {
		if err := known(ctx, in.Executive); err != nil {
			return nil, err
		}
	}
	for n, r := range page.Body.Items {
		page.Body.Items[n] = r.AsOf(now)
	}
	return page, nil
}

// known returns fault.NotFound for an executive that the company has never had: it neither has it nor an action of it.
func known(ctx context.Context, executiveID string) error {
	c := web.Tenant(ctx)
	_, missing := executive.Load(ctx, c, executiveID)
	if fault.KindOf(missing) != fault.NotFound {
		return missing
	}
	page, err := c.Query(ctx, store.Query{Prefix: executive.RecordPrefix(executiveID), Limit: 1})
	if err != nil {
		return store.Fault(err, "")
	}
	if len(page.Items) > 0 {
		return nil
	}
	return missing
}

type actionInput struct {
	ExecutiveInput
	Action string `path:"actionId" maxLength:"64" doc:"The action's id"`
}

type actionOutput struct{ Body executive.ActionRecord }

func (d Deps) getAction(ctx context.Context, in *actionInput) (*actionOutput, error) {
	r, err := executive.FindRecord(ctx, web.Tenant(ctx), in.Executive, in.Action)
	return &actionOutput{r.AsOf(d.Now())}, err
}
