package company_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/base/fault"
	"orgops/shared/domain/company"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestProvision(t *testing.T) {
	t.Parallel()
	h, ctx := webtest.New(t), context.Background()
	p, err := company.Provision(ctx, h.Store, h.Hasher, company.New{Name: "Gamma", Email: "Gus@Gamma.test"}, now)
	errtest.Must(t, err)
	if p.Password == "" {
		t.Fatal("no password, want a generated one")
	}
	tenant := store.For(h.Store, p.CompanyID)
	got, version, err := company.Get(ctx, tenant)
	errtest.Must(t, err)
	want := company.Company{ID: p.CompanyID, Name: "Gamma", Plan: "free", Founders: 1, CreatedAt: now}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("company differs (-want +got):\n%s", diff)
	}
	if version != 1 {
		t.Errorf("company at version %d, want 1", version)
	}
	u, _, err := company.GetUser(ctx, tenant, p.UserID)
	errtest.Must(t, err)
	if diff := cmp.Diff(user.User{ID: p.UserID, Email: "Gus@Gamma.test", Role: user.Founder, State: user.Active, CreatedAt: now}, u); diff != "" {
		t.Errorf("user differs (-want +got):\n%s", diff)
	}
	loginIs(t, h, p)
	if _, err := h.Store.Get(ctx, store.RegistryOf(p.CompanyID), p.CompanyID); err != nil {
		t.Error("not in the registry:", err)
	}
}

// loginIs checks that the founder's address and password lead to the user, and that neither is stored in plain text.
func loginIs(t *testing.T, h *webtest.Harness, p company.Provisioned) {
	t.Helper()
	item, err := h.Store.Get(t.Context(), store.Login("gus@gamma.test"), user.LoginKey(p.CompanyID))
	errtest.Must(t, err)
	for _, plain := range []string{p.Password, "amma.test"} {
		if strings.Contains(string(item.Body), plain) {
			t.Errorf("login %s, want it without %q", item.Body, plain)
		}
	}
	var login user.Login
	errtest.Must(t, json.Unmarshal(item.Body, &login))
	want := user.Login{CompanyID: p.CompanyID, UserID: p.UserID, Person: login.Person, Role: user.Founder, Generation: login.Generation}
	if diff := cmp.Diff(want, login); diff != "" {
		t.Errorf("login differs (-want +got):\n%s", diff)
	}
	item, err = h.Store.Get(t.Context(), store.Login("gus@gamma.test"), user.ProvenKey)
	errtest.Must(t, err)
	var person user.Person
	errtest.Must(t, json.Unmarshal(item.Body, &person))
	if diff := cmp.Diff(user.Person{ID: login.Person, PasswordHash: person.PasswordHash, Proven: true, Companies: []string{p.CompanyID}}, person); diff != "" {
		t.Errorf("person differs (-want +got):\n%s", diff)
	}
	ok, err := h.Hasher.Verify(t.Context(), p.Password, person.PasswordHash)
	errtest.Must(t, err)
	if !ok {
		t.Errorf("the password %q is refused, want it accepted", p.Password)
	}
}

// TestSetPassword checks that a new password replaces the old one, and that nothing else changes.
func TestSetPassword(t *testing.T) {
	t.Parallel()
	h := webtest.New(t)
	p, err := company.Provision(t.Context(), h.Store, h.Hasher, company.New{Name: "Gamma", Email: "gus@gamma.test"}, now)
	if err != nil {
		t.Fatal(err)
	}
	changed, err := company.SetPassword(t.Context(), h.Store, h.Hasher, "Gus@Gamma.test", "", now)
	errtest.Must(t, err)
	if changed.Password == "" {
		t.Fatal("no password, want a generated one")
	}
	if changed.Password == p.Password {
		t.Fatalf("password %q as before, want another", changed.Password)
	}
	loginIs(t, h, company.Provisioned{CompanyID: p.CompanyID, UserID: p.UserID, Password: changed.Password})
	_, err = company.SetPassword(t.Context(), h.Store, h.Hasher, "nobody@gamma.test", "", now)
	wantKind(t, fault.NotFound, err)
	_, err = company.SetPassword(t.Context(), h.Store, h.Hasher, "gus", "short", now)
	if diff := cmp.Diff([]string{"/email", "/password"}, pointers(err)); diff != "" {
		t.Errorf("problems differ (-want +got):\n%s", diff)
	}
}

// TestSetPassword_Strangers replaces the password of an address that many companies have invited, each with a person of its own.
func TestSetPassword_Strangers(t *testing.T) {
	t.Parallel()
	h, ctx, now := webtest.New(t), t.Context(), time.Now()
	const address, companies = "ann@elsewhere.test", 39
	for n := range companies {
		inviting, err := company.Provision(ctx, h.Store, h.Hasher, company.New{Name: "Gamma", Email: fmt.Sprintf("gus%d@gamma.test", n)}, now)
		errtest.Must(t, err)
		in, err := company.NewInvitation(inviting.CompanyID, "", company.NewUser{Email: address, Role: user.Member}, now)
		errtest.Must(t, err)
		errtest.Must(t, company.Invite(ctx, h.Store, store.For(h.Store, inviting.CompanyID), in))
		invitation, err := company.OpenInvitation(ctx, h.Store, in.Token)
		errtest.Must(t, err)
		all, err := company.Accounts(ctx, h.Store, address)
		errtest.Must(t, err)
		_, _, err = invitation.Accept(ctx, h.Store, h.Hasher, all, company.Consent{Password: fmt.Sprintf("a password of company %d", n)}, now)
		errtest.Must(t, err)
	}
	for _, pass := range []string{"the first of the right person", "the second of the right person"} {
		_, err := company.SetPassword(ctx, h.Store, h.Hasher, address, pass, now)
		errtest.Must(t, err)
		all, err := company.Accounts(ctx, h.Store, address)
		errtest.Must(t, err)
		right, err := company.Matching(ctx, h.Hasher, pass, all)
		errtest.Must(t, err)
		members := 0
		for _, a := range right {
			members += len(a.Members)
		}
		if members < 29 {
			t.Errorf("the password leads to %d companies, want as many as one commit can give it", members)
		}
	}
}

func TestProvision_Refused(t *testing.T) {
	t.Parallel()
	h, ctx := webtest.New(t), context.Background()
	tests := []struct {
		name     string
		in       company.New
		kind     fault.Kind
		pointers []string
	}{
		{"everything wrong", company.New{Name: " ", Email: "no", Plan: "a b", UserName: "a\x00", Password: "short"}, fault.Invalid,
			[]string{"/name", "/plan", "/email", "/userName", "/password"}},
		{"name too long", company.New{Name: strings.Repeat("x", 201), Email: "a@b.test"}, fault.Invalid, []string{"/name"}},
		{"address with a name", company.New{Name: "X", Email: "Ada <a@b.test>"}, fault.Invalid, []string{"/email"}},
		{"two addresses", company.New{Name: "X", Email: "a@b.test, c@d.test"}, fault.Invalid, []string{"/email"}},
		{"address too long", company.New{Name: "X", Email: strings.Repeat("x", 250) + "@b.test"}, fault.Invalid, []string{"/email"}},
		{"line end in the address", company.New{Name: "X", Email: "a@b.test\n"}, fault.Invalid, []string{"/email"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := company.Provision(ctx, h.Store, h.Hasher, tt.in, now)
			wantKind(t, tt.kind, err)
			if diff := cmp.Diff(tt.pointers, pointers(err)); diff != "" {
				t.Errorf("problems differ (-want +got):\n%s", diff)
			}
			if got := errtest.Message(err); strings.Contains(got, "short") {
				t.Errorf("error %q, want it without the password", got)
			}
		})
	}
}

// TestUsers adds a user to a company that has one founder, makes the user a founder, and removes the other founder.
func TestUsers(t *testing.T) {
	t.Parallel()
	h, ctx := webtest.New(t), context.Background()
	tenant := store.For(h.Store, h.A.ID)
	u, generated, err := company.AddUser(ctx, h.Store, h.Hasher, h.A.ID, company.NewUser{Email: "mia@acme.test", Role: user.Member}, now)
	errtest.Must(t, err)
	if generated.Password == "" {
		t.Error("no password, want a generated one")
	}
	_, _, err = company.AddUser(ctx, h.Store, h.Hasher, h.A.ID, company.NewUser{Email: "MIA@acme.test", Role: user.Member}, now)
	wantKind(t, fault.Conflict, err)
	_, _, err = company.AddUser(ctx, h.Store, h.Hasher, h.A.ID, company.NewUser{Email: "x@acme.test", Role: "god"}, now)
	wantKind(t, fault.Invalid, err)

	wantKind(t, fault.Conflict, remove(t, h, h.A.UserID))
	_, err = setRole(t, h, h.A.UserID, user.Member)
	wantKind(t, fault.Conflict, err)
	u, err = setRole(t, h, u.ID, user.Founder)
	errtest.Must(t, err)
	if u.Role != user.Founder {
		t.Errorf("role %q, want %q", u.Role, user.Founder)
	}
	c, _, err := company.Get(ctx, tenant)
	errtest.Must(t, err)
	if c.Founders != 2 {
		t.Errorf("%d founders, want 2", c.Founders)
	}
	errtest.Must(t, remove(t, h, h.A.UserID))
	wantKind(t, fault.Conflict, remove(t, h, u.ID))
	if _, err := h.Store.Get(ctx, store.Login(h.A.Email), user.LoginKey(h.A.ID)); err == nil {
		t.Error("a removed user can still log in")
	}
	users, next, err := company.ListUsers(ctx, tenant, "", 10)
	errtest.Must(t, err)
	if diff := cmp.Diff([]user.User{u}, users); diff != "" {
		t.Errorf("users differ (-want +got):\n%s", diff)
	}
	if next != "" {
		t.Errorf("next page after %q, want none", next)
	}
	_, _, err = company.GetUser(ctx, store.For(h.Store, h.B.ID), u.ID)
	wantKind(t, fault.NotFound, err)
	_, _, err = company.GetUser(ctx, tenant, "../COMPANY")
	wantKind(t, fault.NotFound, err)
}

func remove(t *testing.T, h *webtest.Harness, userID string) error {
	t.Helper()
	c := store.For(h.Store, h.A.ID)
	u, version, err := company.GetUser(t.Context(), c, userID)
	errtest.Must(t, err)
	return company.RemoveUser(t.Context(), h.Store, c, u, version, now)
}

func setRole(t *testing.T, h *webtest.Harness, userID string, role user.Role) (user.User, error) {
	t.Helper()
	c := store.For(h.Store, h.A.ID)
	u, version, err := company.GetUser(t.Context(), c, userID)
	errtest.Must(t, err)
	u, _, err = company.ChangeUser(t.Context(), h.Store, c, u, version, company.Change{Role: &role}, now)
	return u, err
}

func wantKind(t *testing.T, want fault.Kind, err error) {
	t.Helper()
	if got := fault.KindOf(err); got != want {
		t.Errorf("error %v of kind %s, want %s", err, got, want)
	}
}

func pointers(err error) []string {
	var out []string
	var f *fault.Error
	if errors.As(err, &f) {
		for _, p := range f.Problems {
			out = append(out, p.Pointer)
		}
	}
	return out
}
