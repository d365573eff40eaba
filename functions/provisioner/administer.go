package provisioner

import (
	"context"
	"fmt"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/domain/audit"
	"orgops/shared/domain/company"
	"orgops/shared/domain/suspension"
	"orgops/shared/storage/store"
)

// The actions of a Request. Each but List names a company.
const (
	Create  = "create"
	List    = "list"
	Show    = "show"
	Suspend = "suspend"
	Resume  = "resume"
	Plan    = "plan"  // moves the company to another plan
	Erase   = "erase" // begins the erasure; the ticker carries it out
)

// Listing answers List.
type Listing struct {
	Companies []company.Entry `json:"companies"`
}

// Administer carries out one action and returns what to answer. Each change writes an audit record in its own transaction.
func (p *Provisioner) Administer(ctx context.Context, r Request) (any, error) {
	switch r.Action {
	case "", Create:
		return p.Handle(ctx, r)
	case List:
		return p.list(ctx)
	}
	if !id.Valid(r.CompanyID) {
		return nil, fault.Refuse([]fault.FieldError{{Pointer: "/companyId", Detail: "give the company's id"}})
	}
	switch r.Action {
	case Show:
		return p.show(ctx, r)
	case Erase:
		return p.erase(ctx, r)
	case Suspend:
		return suspension.Suspend(ctx, p.on(r.CompanyID, "suspend-company"), r.Reason, p.Now())
	case Resume:
		return suspension.Resume(ctx, p.on(r.CompanyID, "resume-company"), p.Now())
	case Plan:
		return p.plan(ctx, r)
	}
	return nil, fmt.Errorf("unknown action %q; want %s, %s, %s, %s, %s, %s or %s", r.Action, Create, List, Show, Suspend, Resume, Plan, Erase)
}

// recording returns a store that adds an audit record of a command to its first commit.
func (p *Provisioner) recording(command string) store.Store {
	return audit.NewRecording(p.Store, audit.Commanded(p.Operator, command, "", p.Now()))
}

// on binds a company to a store that records a command.
func (p *Provisioner) on(companyID, command string) store.Company {
	return store.For(p.recording(command), companyID)
}

func (p *Provisioner) list(ctx context.Context) (any, error) {
	out := Listing{Companies: []company.Entry{}}
	for item, err := range company.Registered(ctx, p.Store) {
		if err != nil {
			return nil, err
		}
		var entry company.Entry
		if err := item.Decode(&entry); err != nil {
			return nil, err
		}
		out.Companies = append(out.Companies, entry)
	}
	return out, nil
}

// plan moves a company to another plan. The company gets its key in the new plan before any token names that plan, and keeps the
// key of the former plan as long as tokens may name it. So no request is refused in between. A timer ends that key.
func (p *Provisioner) plan(ctx context.Context, r Request) (any, error) {
	if err := company.CheckPlan(r.Plan); err != nil {
		return nil, err
	}
	if _, _, err := company.Get(ctx, store.For(p.Store, r.CompanyID)); err != nil {
		return nil, err
	}
	if p.Plans != nil {
		if err := p.Plans.Enrol(ctx, r.CompanyID, r.Plan); err != nil {
			return nil, fmt.Errorf("the company keeps its plan, because the gateway refuses a key in plan %s; repeat the command: %w", r.Plan, err)
		}
	}
	return company.SetPlan(ctx, p.on(r.CompanyID, "change-plan"), r.Plan, p.Now())
}
