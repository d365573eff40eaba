package provisioner

import (
	"context"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/domain/approval"
	"orgops/shared/domain/company"
	"orgops/shared/domain/erasure"
	"orgops/shared/domain/timeline"
	"orgops/shared/storage/store"
)

// Erasing answers Erase.
type Erasing struct {
	CompanyID string    `json:"companyId"`
	Since     time.Time `json:"erasingSince"`
}

// show returns a company, or the receipt of an erased one.
func (p *Provisioner) show(ctx context.Context, r Request) (any, error) {
	is, _, err := company.Get(ctx, store.For(p.Store, r.CompanyID))
	if fault.KindOf(err) != fault.NotFound {
		return is, err
	}
	receipt, version, find := erasure.Find(ctx, p.Store, r.CompanyID)
	if find != nil {
		return nil, find
	}
	if version == 0 {
		return nil, err
	}
	return receipt, nil
}

// erase approves the erasure that a founder has asked for, and begins it. Without such a request it refuses, unless the operator
// says so: the founders of an abandoned company cannot ask.
func (p *Provisioner) erase(ctx context.Context, r Request) (any, error) {
	c := store.For(p.Store, r.CompanyID)
	is, _, err := company.Get(ctx, c)
	if err != nil {
		return nil, err
	}
	if r.Name != is.Name {
		return nil, fault.Refuse([]fault.FieldError{{Pointer: "/name", Detail: "must be the company's name, exactly, to confirm which company is erased"}})
	}
	now := p.Now().UTC()
	asked, version, err := requested(ctx, c, now)
	if err != nil {
		return nil, err
	}
	if version == 0 && !r.WithoutRequest {
		return nil, fault.New(fault.Conflict, "no founder has asked for the erasure (erase-company) within the last 24 hours; to erase the company without a request, say so: --without-request, or withoutRequest")
	}
	ops, err := erasure.Begin(ctx, c, now)
	if err != nil {
		return nil, err
	}
	if version > 0 {
		answer := approval.Answer{At: now, By: timeline.Reference{Type: "operator", ID: p.Operator}}
		end, err := asked.End(approval.Approved, answer).Settle(ctx, c, version)
		if err != nil {
			return nil, err
		}
		ops = append(ops, end...)
	}
	if err := p.on(r.CompanyID, "erase-company").Commit(ctx, ops...); err != nil {
		return nil, store.Fault(err, "there is no such company")
	}
	return Erasing{CompanyID: is.ID, Since: now}, nil
}

// requested returns the pending approval of the company's erasure; version 0: no founder has asked.
func requested(ctx context.Context, c store.Company, now time.Time) (a approval.Approval, version int64, err error) {
	for item, err := range c.Items(ctx, store.Query{Prefix: approval.Prefix, Desc: true}) {
		if err != nil {
			return a, 0, store.Fault(err, "")
		}
		var found approval.Approval
		if err := item.Decode(&found); err != nil {
			return a, 0, err
		}
		if found.Action == erasure.Action && found.IsPending(now) {
			return found, item.Version, nil
		}
	}
	return a, 0, nil
}
