package executives

import (
	"context"
	"time"

	"orgops/shared/domain/executive"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// Executive shows an executive in the API.
type Executive struct {
	ID string `json:"id" doc:"UUIDv8 that follows from the name" format:"uuid"`
	executive.Draft
	State         executive.State          `json:"state" enum:"sandbox,certified" doc:"certified: its permitted actions are done; sandbox: they are only proposed"`
	Certification *executive.Certification `json:"certification,omitempty" doc:"absent in the sandbox"`
	Version       int64                    `json:"version" doc:"counts the changes"`
	CreatedAt     time.Time                `json:"createdAt" doc:"when it was created"`
	UpdatedAt     time.Time                `json:"updatedAt" doc:"when it was last changed or certified"`
}

// ExecutiveList shows the executives of a company.
type ExecutiveList struct {
	Items []Executive `json:"items" nullable:"false" doc:"every executive, by id"`
}

type listOutput struct{ Body ExecutiveList }

func (d Deps) listExecutives(ctx context.Context, _ *struct{}) (*listOutput, error) {
	all, err := executive.List(ctx, web.Tenant(ctx))
	if err != nil {
		return nil, err
	}
	out := &listOutput{}
	out.Body.Items = make([]Executive, 0, len(all))
	for _, s := range all {
		out.Body.Items = append(out.Body.Items, d.show(s))
	}
	return out, nil
}

type getInput struct {
	ExecutiveInput
	web.IfNoneMatch
}

func (d Deps) getExecutive(ctx context.Context, in *getInput) (*web.Tagged[Executive], error) {
	s, err := executive.Load(ctx, web.Tenant(ctx), in.Executive)
	if err != nil {
		return nil, err
	}
	return web.Respond(in.IfNoneMatch, d.etag(s), func() (Executive, error) { return d.show(s), nil })
}

type deleteInput struct {
	ExecutiveInput
	web.IfMatch
}

func (d Deps) deleteExecutive(ctx context.Context, in *deleteInput) (*struct{}, error) {
	c := web.Tenant(ctx)
	s, err := executive.Load(ctx, c, in.Executive)
	if err != nil {
		return nil, err
	}
	if err := in.Check(s.Revision()); err != nil {
		return nil, err
	}
	end, err := user.EndTokens(ctx, c, s.ID, s.Generation+1, d.Now())
	if err != nil {
		return nil, err
	}
	return nil, in.Overtaken(store.Fault(c.Commit(ctx, c.Delete(executive.Key(s.ID), executive.Entity, s.Version).Quietly(), end), ""))
}

func (d Deps) show(s executive.Stored) Executive {
	out := Executive{
		ID: s.ID, Draft: s.Draft, State: s.StateAt(d.Now()), Version: s.Version, CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt,
	}
	if out.State == executive.Certified {
		out.Certification = s.Certification
	}
	return out
}

// etag covers the version and the state, which changes with time, because a certification expires.
func (d Deps) etag(s executive.Stored) string {
	return web.ETag(s.Revision() + "." + string(s.StateAt(d.Now())))
}
