// Package provisioner creates companies for the operator of the cloud form, as `orgops admin company create` does on a
// laptop.
package provisioner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"orgops/shared/company"
	"orgops/shared/fault"
	"orgops/shared/password"
	"orgops/shared/store"
)

// Request is the payload that the function is invoked with.
type Request struct {
	Name     string `json:"name"`
	Email    string `json:"email"` // of the first founder
	Password string `json:"password,omitempty"`
	Plan     string `json:"plan,omitempty"`
}

// Answer is the new company. Password is set when it was generated: it is stored nowhere, so show it now.
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
// because nothing else will ever show the password.
func (p *Provisioner) Handle(ctx context.Context, r Request) (Answer, error) {
	if r.Plan == "" {
		r.Plan = company.DefaultPlan
	}
	if err := p.Plans.Check(r.Plan); err != nil {
		return Answer{}, err
	}
	created, err := company.Provision(ctx, p.Store, p.Hasher,
		company.New{Name: r.Name, Email: r.Email, Password: r.Password, Plan: r.Plan}, p.Now())
	if err != nil {
		return Answer{}, explain(err)
	}
	answer := Answer{Provisioned: created}
	if err := p.Plans.Enrol(ctx, created.CompanyID, r.Plan); err != nil {
		p.Logger.ErrorContext(ctx, "usage key", "company", created.CompanyID, "error", err)
		answer.Warning = fmt.Sprintf("the company is there, but the gateway refuses its requests until it has a usage key in plan %s: %v", r.Plan, err)
	}
	return answer, nil
}

// explain lists every problem of a refused request.
func explain(err error) error {
	var f *fault.Error
	if !errors.As(err, &f) {
		return err
	}
	if len(f.Problems) == 0 {
		return errors.New(f.Detail)
	}
	lines := make([]string, 0, len(f.Problems))
	for _, p := range f.Problems {
		lines = append(lines, strings.TrimPrefix(p.Pointer, "/")+": "+p.Detail)
	}
	return errors.New(strings.Join(lines, "; "))
}
