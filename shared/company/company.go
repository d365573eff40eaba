// Package company is the tenant: its item, how it comes into being with its first founder, and who belongs to it.
package company

import (
	"context"
	"errors"
	"time"

	"orgops/shared/fault"
	"orgops/shared/id"
	"orgops/shared/password"
	"orgops/shared/store"
	"orgops/shared/user"
)

// Entity and Key are the item's entity and its key: a company has one.
const (
	Entity = "company"
	Key    = "COMPANY"
)

// RegistryEntity is the entity of a company's entry in the registry.
const RegistryEntity = "registry"

// DefaultPlan is the plan of a company that names none.
const DefaultPlan = "free"

// Company is a company, as stored. Founders is counted here, in the transactions that change it, so that the last one
// cannot leave by two requests at once, and so that the change feed tells of it.
type Company struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Plan      string    `json:"plan"`
	Founders  int       `json:"founders"`
	CreatedAt time.Time `json:"createdAt"`
}

// Entry is a company in the registry.
type Entry struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	CreatedAt time.Time `json:"createdAt"`
}

// Get is the company that c is bound to, with its item's version.
func Get(ctx context.Context, c store.Company) (Company, int64, error) {
	var out Company
	item, err := c.Get(ctx, Key, &out)
	if err != nil {
		return Company{}, 0, store.Fault(err, "there is no such company")
	}
	return out, item.Version, nil
}

// New is what a company begins with.
type New struct {
	Name     string
	Plan     string // "": DefaultPlan
	Email    string // the first founder's
	UserName string // the first founder's, may be empty
	Password string // "": one is generated
}

// Provisioned is a new company. Password is set when it was generated: it is stored nowhere, so show it now.
type Provisioned struct {
	CompanyID string `json:"companyId"`
	UserID    string `json:"userId"`
	Email     string `json:"email"`
	Password  string `json:"password,omitempty"`
}

// Provision makes a company, its first founder, the founder's login and the company's entry in the registry, all or
// none. An e-mail address that has a login already is fault.Conflict.
func Provision(ctx context.Context, st store.Store, hasher *password.Hasher, in New, now time.Time) (Provisioned, error) {
	generated := ""
	if in.Password == "" {
		generated = password.Generate()
		in.Password = generated
	}
	if in.Plan == "" {
		in.Plan = DefaultPlan
	}
	problems := user.CheckName(in.Name, "/name", true)
	problems = append(problems, checkPlan(in.Plan)...)
	if err := fault.Refuse(append(problems, checkUser(in.Email, in.UserName, "/userName", user.Founder, in.Password)...)); err != nil {
		return Provisioned{}, err
	}
	hash, err := hasher.Hash(ctx, in.Password)
	if err != nil {
		return Provisioned{}, err
	}
	c := Company{ID: id.New(), Name: in.Name, Plan: in.Plan, Founders: 1, CreatedAt: stamp(now)}
	founder := user.User{ID: id.New(), Email: in.Email, Name: in.UserName, Role: user.Founder, CreatedAt: c.CreatedAt}
	tenant := store.For(st, c.ID)
	ops := append(addUser(tenant, founder, hash),
		tenant.Create(Key, Entity, c),
		store.RegistryOf(c.ID).Entry(c.ID, RegistryEntity, 0, Entry{ID: c.ID, Name: c.Name, CreatedAt: c.CreatedAt}))
	if err := commit(ctx, st, ops); err != nil {
		return Provisioned{}, err
	}
	return Provisioned{CompanyID: c.ID, UserID: founder.ID, Email: founder.Email, Password: generated}, nil
}

func checkPlan(plan string) []fault.Problem {
	if !id.Valid(plan) {
		return []fault.Problem{{Pointer: "/plan", Detail: "needs 1 to 64 of a–z, A–Z, 0–9, - and _"}}
	}
	return nil
}

// stamp is a time as it is stored: UTC, to the millisecond.
func stamp(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// commit tells the one conflict that a caller can do something about: the e-mail address.
func commit(ctx context.Context, st store.Store, ops []store.Op) error {
	err := st.Commit(ctx, ops...)
	var conflict *store.ConflictError
	if errors.As(err, &conflict) && conflict.Key == user.LoginKey {
		return fault.Wrap(fault.Conflict, "this e-mail address has a login already", err)
	}
	return store.Fault(err, "there is no such company")
}
