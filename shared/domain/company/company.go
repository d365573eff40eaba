// Package company stores the tenants: it provisions a company with its first founder, and manages its users.
package company

import (
	"context"
	"errors"
	"slices"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/domain/user"
	"orgops/shared/identity/password"
	"orgops/shared/storage/store"
)

// Entity and Key name the entity and the key of a company's only item.
const (
	Entity = "company"
	Key    = "COMPANY"
)

// RegistryEntity names the entity of a company's entry in the registry.
const RegistryEntity = "registry"

// DefaultPlan names the plan of a company that is provisioned without one.
const DefaultPlan = "free"

// Company describes a company, as stored. Each transaction that adds or removes a founder updates Founders. Two concurrent
// requests therefore cannot remove the last founder, and the change feed shows the number. In the same way Awaited lists the
// operators who were invited and have not signed in.
type Company struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Plan      string    `json:"plan"`
	Founders  int       `json:"founders"`
	Awaited   []Awaited `json:"awaited,omitempty"`
	CreatedAt time.Time `json:"createdAt"`

	SecondFactor bool `json:"secondFactor,omitempty"` // its users need a second factor

	Suspended *Suspension `json:"suspended,omitempty"` // nil: it is not suspended
	Erasing   *time.Time  `json:"erasing,omitempty"`   // since when the company is being erased
}

// Suspension says when and why the operator of the service suspended a company.
type Suspension struct {
	At     time.Time `json:"at"`
	Reason string    `json:"reason,omitempty"`
}

// Awaited names an operator who was invited and has not signed in. It stays for a week, longer than the invitation.
type Awaited struct {
	UserID string    `json:"userId"`
	At     time.Time `json:"at"` // when the operator was invited
}

// Limits of the awaited operators: how long they stay, and how many are kept, the latest ones.
const (
	awaitedKept = 7 * 24 * time.Hour
	maxAwaited  = 10
)

// await adds an operator to the awaited ones, or removes the operator, and drops those of long ago.
func (c *Company) await(u user.User, awaited bool) {
	c.Awaited = slices.DeleteFunc(c.Awaited, func(a Awaited) bool { return a.UserID == u.ID || awaited && u.CreatedAt.Sub(a.At) > awaitedKept })
	if awaited {
		c.Awaited = append(c.Awaited, Awaited{UserID: u.ID, At: u.CreatedAt})
	}
	c.Awaited = c.Awaited[max(len(c.Awaited)-maxAwaited, 0):]
}

// Entry lists a company in the registry.
type Entry struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	CreatedAt time.Time `json:"createdAt"`
}

// Get returns the company that c is bound to, and the version of its item.
func Get(ctx context.Context, c store.Company) (Company, int64, error) {
	var out Company
	item, err := c.Get(ctx, Key, &out)
	if err != nil {
		return Company{}, 0, store.Fault(err, "there is no such company")
	}
	return out, item.Version, nil
}

// New holds the data of a company to provision.
type New struct {
	Name     string
	Plan     string // "": DefaultPlan
	Email    string // of the first founder
	UserName string // of the first founder; may be empty
	Password string // "": one is generated
}

// Provisioned reports a new company. Password is set only if Provision or SetPassword generated it. The service stores only
// its hash, so the caller must show it now. Known reports that the person of the address had a password already, which stays.
type Provisioned struct {
	CompanyID string `json:"companyId"`
	UserID    string `json:"userId"`
	Email     string `json:"email"`
	Password  string `json:"password,omitempty"`
	Known     bool   `json:"known,omitempty"`
}

// Provision makes a company, its first founder, the founder's login and the company's entry in the registry, all in one
// transaction. A person whom the address is known to have keeps the password.
func Provision(ctx context.Context, st store.Store, hasher *password.Hasher, in New, now time.Time) (Provisioned, error) {
	if in.Plan == "" {
		in.Plan = DefaultPlan
	}
	problems := user.CheckName(in.Name, "/name", true)
	problems = append(problems, checkPlan(in.Plan)...)
	problems = append(problems, checkUser(in.Email, in.UserName, "/userName", user.Founder)...)
	c := Company{ID: id.New(), Name: in.Name, Plan: in.Plan, Founders: 1, CreatedAt: stamp(now)}
	account, made, err := assigned(ctx, st, hasher, c.ID, NewUser{Email: in.Email, Name: in.UserName, Password: in.Password}, problems)
	if err != nil {
		return Provisioned{}, err
	}
	founder := user.User{ID: id.New(), Email: in.Email, Name: in.UserName, Role: user.Founder, State: user.Active, CreatedAt: c.CreatedAt}
	tenant, known := store.For(st, c.ID), account.Stored()
	ops, err := addUser(tenant, founder, account)
	if err != nil {
		return Provisioned{}, err
	}
	ops = append(ops, tenant.Create(Key, Entity, c),
		store.RegistryOf(c.ID).Entry(c.ID, RegistryEntity, 0, Entry{ID: c.ID, Name: c.Name, CreatedAt: c.CreatedAt}))
	if err := commit(ctx, st, ops); err != nil {
		return Provisioned{}, err
	}
	return Provisioned{CompanyID: c.ID, UserID: founder.ID, Email: founder.Email, Password: made, Known: known}, nil
}

func checkPlan(plan string) []fault.FieldError {
	if !id.Valid(plan) {
		return []fault.FieldError{{Pointer: "/plan", Detail: "needs 1 to 64 of a–z, A–Z, 0–9, - and _"}}
	}
	return nil
}

// stamp returns t as it is stored: in UTC, to the millisecond.
func stamp(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// commit commits ops. It explains the conflicts that the caller can resolve: an e-mail address that is in use, or is used at the same time.
func commit(ctx context.Context, st store.Store, ops []store.Op) error {
	err := st.Commit(ctx, ops...)
	var conflict *store.ConflictError
	switch {
	case !errors.As(err, &conflict):
	case user.IsLogin(conflict.Key):
		return fault.Wrap(fault.Conflict, "a user of this company has this e-mail address already", err)
	case user.IsPerson(conflict.Key):
		return fault.Wrap(fault.Conflict, "the login of this e-mail address was changed at the same time; try again", err)
	}
	return store.Fault(err, "there is no such company")
}
