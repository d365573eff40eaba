// Package provisioner creates companies for the operator of the cloud form, as `orgops admin company create` does on a
// laptop.
package provisioner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"orgops/shared/company"
	"orgops/shared/fault"
	"orgops/shared/password"
	"orgops/shared/store"
	"orgops/shared/user"
)

// Request is the payload that the function is invoked with.
type Request struct {
	Name     string `json:"name"`
	Email    string `json:"email"` // of the first founder
	Password string `json:"password,omitempty"`
	Plan     string `json:"plan,omitempty"`
}

// Answer is the company. Password is set when it was generated: it is stored nowhere, so show it now.
type Answer struct {
	company.Provisioned
	Warning string `json:"warning,omitempty"` // what is left to do by hand
}

// Plans is where the gateway counts requests.
type Plans interface {
	Check(plan string) error
	Enrol(ctx context.Context, companyID, plan string) error
}

// Provisioner creates companies. All fields are required.
type Provisioner struct {
	Store  store.Store
	Hasher *password.Hasher
	Plans  Plans
	Logger *slog.Logger
	Now    func() time.Time
}

// Handle creates a company. One that was created stays, though the gateway may not know it yet: the answer then says so,
// because nothing else will ever show the password. To repeat a request is to finish it: a company of that name whose
// founder has the address is not made again, and gets what it lacks.
func (p *Provisioner) Handle(ctx context.Context, r Request) (Answer, error) {
	if r.Plan == "" {
		r.Plan = company.DefaultPlan
	}
	if err := p.Plans.Check(r.Plan); err != nil {
		return Answer{}, err
	}
	answer, err := p.create(ctx, r)
	if err != nil {
		return Answer{}, fault.Explain(err, "")
	}
	if err := p.Plans.Enrol(ctx, answer.CompanyID, r.Plan); err != nil {
		p.Logger.ErrorContext(ctx, "usage key", "company", answer.CompanyID, "error", err)
		answer.Warning = fmt.Sprintf("the company is there, but the gateway refuses its requests until it has a usage key in plan %s; repeat the request: %v", r.Plan, err)
	}
	return answer, nil
}

// wasThere is the warning that a request was repeated.
const wasThere = "the company was there already, with the password that its founder has; where nobody knows that one, " +
	"`orgops admin user password` makes another"

func (p *Provisioner) create(ctx context.Context, r Request) (Answer, error) {
	created, err := company.Provision(ctx, p.Store, p.Hasher,
		company.New{Name: r.Name, Email: r.Email, Password: r.Password, Plan: r.Plan}, p.Now())
	if fault.KindOf(err) != fault.Conflict {
		return Answer{Provisioned: created}, err
	}
	found, was, lookup := company.ByEmail(ctx, p.Store, r.Email)
	switch {
	case lookup != nil:
		return Answer{}, errors.Join(err, lookup)
	case found.Name != r.Name || found.Plan != r.Plan || was.Role != user.Founder:
		return Answer{}, err
	}
	return Answer{Warning: wasThere, Provisioned: company.Provisioned{CompanyID: found.ID, UserID: was.ID, Email: was.Email}}, nil
}
