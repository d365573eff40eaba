// Package provisioner creates and administers companies for the operator of a cloud deployment, as `orgops admin company` does.
package provisioner

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/domain/company"
	"orgops/shared/identity/password"
	"orgops/shared/storage/store"
)

// Request holds the payload that the operator invokes the function with. Without an action it creates a company.
type Request struct {
	Action    string `json:"action,omitempty"`    // see Administer; "": create
	CompanyID string `json:"companyId,omitempty"` // of an action on one company
	Reason    string `json:"reason,omitempty"`    // of a suspension

	// WithoutRequest lets an erasure begin that no founder has asked for.
	WithoutRequest bool `json:"withoutRequest,omitempty"`

	Name     string `json:"name"`  // of a new company, or to confirm which one is erased
	Email    string `json:"email"` // the first founder's
	Password string `json:"password,omitempty"`
	Plan     string `json:"plan,omitempty"`
}

// Answer describes the company. Password holds a generated password only. The service does not store it, so the operator
// must note it now.
type Answer struct {
	company.Provisioned
	Warning string `json:"warning,omitempty"` // what the operator has left to do
}

// Plans enrols companies in the gateway's usage plans.
type Plans interface {
	Check(plan string) error
	Enrol(ctx context.Context, companyID, plan string) error
}

// Provisioner creates and administers companies. All fields are required, but for Plans.
type Provisioner struct {
	Store    store.Store
	Hasher   *password.Hasher
	Plans    Plans // nil: no gateway holds to plans, and no company can be created
	Operator string
	Logger   *slog.Logger
	Now      func() time.Time
}

// Handle creates a company. If the gateway refuses the usage key, Handle still returns the company with a warning, because
// the generated password is shown only once. A repeated request completes a partial one: if a company with this name exists,
// and its founder has this address, Handle creates only the missing usage key.
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
		p.Logger.ErrorContext(ctx, "company not enrolled in its usage plan", "company", answer.CompanyID, "error", err)
		answer.Warning = fmt.Sprintf("the company exists, but the gateway refuses its requests until it has a usage key in plan %s; repeat the request: %v", r.Plan, err)
	}
	return answer, nil
}

// alreadyThere warns that the company exists.
const alreadyThere = "the company already exists, and its founder's password is unchanged; if the password is lost, set a new one with " +
	"`orgops admin user password`"

func (p *Provisioner) create(ctx context.Context, r Request) (Answer, error) {
	found, was, err := company.Founded(ctx, p.Store, r.Name, r.Email)
	switch {
	case err == nil && found.Plan != r.Plan:
		return Answer{}, fault.Newf(fault.Conflict, "this founder has a company of this name on the plan %s; change its plan instead", found.Plan)
	case err == nil:
		return Answer{Warning: alreadyThere, Provisioned: company.Provisioned{CompanyID: found.ID, UserID: was.ID, Email: was.Email}}, nil
	case fault.KindOf(err) != fault.NotFound:
		return Answer{}, err
	}
	created, err := company.Provision(ctx, p.recording("create-company"), p.Hasher,
		company.New{Name: r.Name, Email: r.Email, Password: r.Password, Plan: r.Plan}, p.Now())
	return Answer{Provisioned: created}, err
}
