package client

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/base/text"
	"orgops/shared/domain/user"
)

// Check returns what is wrong with a draft by itself.
func (d Draft) Check(now time.Time) []fault.FieldError {
	var problems []fault.FieldError
	refuse := func(pointer, detail string) {
		problems = append(problems, fault.FieldError{Pointer: pointer, Detail: detail})
	}
	for _, f := range []struct{ pointer, value string }{{"/name", d.Name}, {"/purpose", d.Purpose}} {
		if !text.IsLine(f.value) {
			refuse(f.pointer, "needs printable characters, without space at its ends")
		}
	}
	if d.ExpiresAt != nil && !d.ExpiresAt.After(now) {
		refuse("/expiresAt", "must be in the future")
	}
	if d.Executive != "" && d.Provider != "" {
		refuse("/provider", "goes without an executive, which is bound to no integration")
	}
	for n, s := range d.Scopes {
		if acts := s == user.ScopeExecutivesAct; acts != (d.Executive != "") {
			refuse(fmt.Sprintf("/scopes/%d", n), "executives:act belongs to a client with an executive, and is the only scope of one")
		}
	}
	if d.Executive == "" && len(d.Scopes) == 0 {
		refuse("/scopes", "needs at least one scope")
	}
	for n, network := range d.Networks {
		if network != network.Masked() {
			refuse(fmt.Sprintf("/networks/%d", n), "has bits beyond the length of its prefix; send "+network.Masked().String())
		}
	}
	return append(problems, d.Federation.check()...)
}

// check refuses what would match more than one subject, or none.
func (f *Federation) check() []fault.FieldError {
	if f == nil {
		return nil
	}
	var problems []fault.FieldError
	for _, m := range []struct{ pointer, value string }{{"/federation/subject", f.Subject}, {"/federation/audience", f.Audience}} {
		switch {
		case !text.IsLine(m.value):
			problems = append(problems, fault.FieldError{Pointer: m.pointer, Detail: "needs printable characters, without space at its ends"})
		case strings.Contains(m.value, "*"):
			problems = append(problems, fault.FieldError{Pointer: m.pointer, Detail: "matches exactly, so it takes no *; write the whole value"})
		}
	}
	return problems
}

// CheckOwner returns what the owner of a draft may not pass on.
func (d Draft) CheckOwner(owner user.User) []fault.FieldError {
	if owner.State != user.Active {
		return []fault.FieldError{{Pointer: "/owner", Detail: "must be an active user of the company"}}
	}
	held := owner.Role.Scopes()
	if d.Executive != "" && !slices.Contains(held, user.ScopeExecutivesWrite) {
		return []fault.FieldError{{Pointer: "/owner", Detail: "must be a user who may ask for an executive's actions: a founder"}}
	}
	var problems []fault.FieldError
	for n, s := range d.Scopes {
		if d.Executive == "" && !slices.Contains(held, s) {
			problems = append(problems, fault.FieldError{Pointer: fmt.Sprintf("/scopes/%d", n), Detail: "is not a scope of the owner's role"})
		}
	}
	if !d.IsWithin(owner.Provider) {
		problems = append(problems, fault.FieldError{Pointer: "/provider", Detail: "must be the integration that the owner reaches"})
	}
	return problems
}

// IsWithin reports whether the client reaches no more than an owner who is bound to an integration; "" if the owner is bound to none.
func (d Draft) IsWithin(provider string) bool { return provider == "" || d.Provider == provider }
