package executives

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"orgops/shared/base/fault"
	"orgops/shared/base/text"
	"orgops/shared/domain/executive"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// ExecutiveRequest says what an executive should be.
type ExecutiveRequest struct{ executive.Draft }

type configureInput struct {
	web.Creation
	Body ExecutiveRequest
}

type configuredOutput struct {
	Status   int
	Location string `header:"Location" doc:"the executive's path, if it was created"`
	ETag     string `header:"ETag"`
	Body     Executive
}

func (d Deps) configureExecutive(ctx context.Context, in *configureInput) (*configuredOutput, error) {
	draft := in.Body.Draft
	if err := check(draft); err != nil {
		return nil, err
	}
	slices.Sort(draft.Actions)
	slices.Sort(draft.Reads)
	c, now := web.Tenant(ctx), d.Now().UTC()
	old, err := executive.Load(ctx, c, executive.IDOf(draft.Name))
	if err != nil && fault.KindOf(err) != fault.NotFound {
		return nil, err
	}
	if err := in.Check(old.Revision()); err != nil {
		return nil, err
	}
	if old.Version == 0 {
		out, err := d.create(ctx, executive.New(draft, now))
		return out, in.Overtaken(err)
	}
	e, changed := old.Change(draft, now)
	if !changed {
		return d.configured(ctx, old, http.StatusOK), nil
	}
	next := executive.Stored{Executive: e, Version: old.Version}
	ops := []store.Op{save(c, next)}
	if e.Generation != old.Generation {
		end, err := user.EndTokens(ctx, c, e.ID, e.Generation, now)
		if err != nil {
			return nil, err
		}
		ops = append(ops, end)
	}
	if err := c.Commit(ctx, ops...); err != nil {
		return nil, in.Overtaken(store.Fault(err, ""))
	}
	next.Version++
	return d.configured(ctx, next, http.StatusOK), nil
}

func (d Deps) create(ctx context.Context, e executive.Executive) (*configuredOutput, error) {
	c, s := web.Tenant(ctx), executive.Stored{Executive: e}
	var err error
	if s.Generation, err = user.Generation(ctx, c, e.ID); err != nil { // of one with the same name that was deleted
		return nil, err
	}
	err = c.InTurn(ctx, "executives", func() ([]store.Op, error) {
		all, err := executive.List(ctx, c)
		if err == nil && len(all) >= executive.MaxPerCompany {
			err = fault.Newf(fault.Conflict, "a company has at most %d executives; delete one first", executive.MaxPerCompany)
		}
		return []store.Op{save(c, s)}, err
	})
	if err != nil {
		return nil, store.Fault(err, "")
	}
	s.Version++
	return d.configured(ctx, s, http.StatusCreated), nil
}

func (d Deps) configured(ctx context.Context, s executive.Stored, status int) *configuredOutput {
	out := &configuredOutput{Status: status, ETag: d.etag(s), Body: d.show(s)}
	if status == http.StatusCreated {
		out.Location = href(ctx, s.ID, "")
	}
	return out
}

// check refuses what the schema of a request cannot express.
func check(draft executive.Draft) error {
	var problems []fault.FieldError
	for pointer, value := range map[string]string{"/name": draft.Name, "/role": draft.Role} {
		if !text.IsLine(value) {
			problems = append(problems, fault.FieldError{Pointer: pointer, Detail: "needs printable characters, without space at its ends"})
		}
	}
	slices.SortFunc(problems, func(a, b fault.FieldError) int { return strings.Compare(a.Pointer, b.Pointer) })
	return fault.Refuse(problems)
}

// save returns the write of an executive. It stays out of the change feed, because nothing is derived from executives.
func save(c store.Company, s executive.Stored) store.Op {
	return c.Save(executive.Key(s.ID), executive.Entity, s.Version, s.Executive).Quietly()
}

func href(ctx context.Context, executiveID, rest string) string {
	return web.CompanyPath(ctx) + "/executives/" + executiveID + rest
}
