package company_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/base/fault"
	"orgops/shared/domain/company"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/webtest"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestProvision(t *testing.T) {
	t.Parallel()
	h, ctx := webtest.New(t), context.Background()
	p, err := company.Provision(ctx, h.Store, h.Hasher, company.New{Name: "Gamma", Email: "Gus@Gamma.test"}, now)
	if err != nil || p.Password == "" {
		t.Fatal(p, err)
	}
	tenant := store.For(h.Store, p.CompanyID)
	got, version, err := company.Get(ctx, tenant)
	want := company.Company{ID: p.CompanyID, Name: "Gamma", Plan: "free", Founders: 1, CreatedAt: now}
	if diff := cmp.Diff(want, got); diff != "" || version != 1 || err != nil {
		t.Error(diff, version, err)
	}
	u, _, err := company.GetUser(ctx, tenant, p.UserID)
	if diff := cmp.Diff(user.User{ID: p.UserID, Email: "Gus@Gamma.test", Role: user.Founder, CreatedAt: now}, u); diff != "" || err != nil {
		t.Error(diff, err)
	}
	loginIs(t, h, p)
	if _, err := h.Store.Get(ctx, store.RegistryOf(p.CompanyID), p.CompanyID); err != nil {
		t.Error("not in the registry:", err)
	}
}

// loginIs checks that the founder's address and password lead to the user, and that neither is stored in plain text.
func loginIs(t *testing.T, h *webtest.Harness, p company.Provisioned) {
	t.Helper()
	item, err := h.Store.Get(t.Context(), store.Login("gus@gamma.test"), user.LoginKey)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(item.Body), p.Password) || strings.Contains(string(item.Body), "amma.test") {
		t.Error("the login holds the password or the address")
	}
	var login user.Login
	if err := json.Unmarshal(item.Body, &login); err != nil {
		t.Fatal(err)
	}
	if ok, err := h.Hasher.Verify(t.Context(), p.Password, login.PasswordHash); !ok || err != nil || login.CompanyID != p.CompanyID || login.UserID != p.UserID {
		t.Error(ok, err, login)
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
	changed, err := company.SetPassword(t.Context(), h.Store, h.Hasher, "Gus@Gamma.test", "")
	if err != nil || changed.Password == "" || changed.Password == p.Password {
		t.Fatal(changed, err)
	}
	loginIs(t, h, company.Provisioned{CompanyID: p.CompanyID, UserID: p.UserID, Password: changed.Password})
	if _, err := company.SetPassword(t.Context(), h.Store, h.Hasher, "nobody@gamma.test", ""); fault.KindOf(err) != fault.NotFound {
		t.Errorf("got %v", err)
	}
	if _, err := company.SetPassword(t.Context(), h.Store, h.Hasher, "gus", "short"); len(pointers(err)) != 2 {
		t.Errorf("got %v", err)
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
		{"address in use, in another case", company.New{Name: "X", Email: "ADA@acme.test"}, fault.Conflict, nil},
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
			if fault.KindOf(err) != tt.kind {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.pointers, pointers(err)); diff != "" {
				t.Error(diff)
			}
			if strings.Contains(err.Error(), "short") {
				t.Error("the error holds the password")
			}
		})
	}
}

func TestMembers(t *testing.T) {
	t.Parallel()
	h, ctx := webtest.New(t), context.Background()
	tenant := store.For(h.Store, h.A.ID)
	wantKind := func(kind fault.Kind, err error) {
		t.Helper()
		if err == nil || fault.KindOf(err) != kind {
			t.Errorf("got %v, want %s", err, kind)
		}
	}
	u, generated, err := company.AddUser(ctx, h.Store, h.Hasher, h.A.ID, company.NewUser{Email: "mia@acme.test", Role: user.Member}, now)
	if err != nil || generated == "" {
		t.Fatal(err)
	}
	_, _, err = company.AddUser(ctx, h.Store, h.Hasher, h.B.ID, company.NewUser{Email: "mia@acme.test", Role: user.Member}, now)
	wantKind(fault.Conflict, err)
	_, _, err = company.AddUser(ctx, h.Store, h.Hasher, h.A.ID, company.NewUser{Email: "x@acme.test", Role: "god"}, now)
	wantKind(fault.Invalid, err)

	wantKind(fault.Conflict, company.RemoveUser(ctx, h.Store, h.A.ID, h.A.UserID))
	_, err = company.SetRole(ctx, h.Store, h.A.ID, h.A.UserID, user.Member)
	wantKind(fault.Conflict, err)
	if u, err = company.SetRole(ctx, h.Store, h.A.ID, u.ID, user.Founder); err != nil || u.Role != user.Founder {
		t.Fatal(u, err)
	}
	if c, _, err := company.Get(ctx, tenant); err != nil || c.Founders != 2 {
		t.Error(c, err)
	}
	if err := company.RemoveUser(ctx, h.Store, h.A.ID, h.A.UserID); err != nil {
		t.Fatal(err)
	}
	wantKind(fault.Conflict, company.RemoveUser(ctx, h.Store, h.A.ID, u.ID))
	if _, err := h.Store.Get(ctx, store.Login(h.A.Email), user.LoginKey); err == nil {
		t.Error("a removed user can still log in")
	}
	users, next, err := company.ListUsers(ctx, tenant, "", 10)
	if diff := cmp.Diff([]user.User{u}, users); diff != "" || next != "" || err != nil {
		t.Error(diff, next, err)
	}
	_, _, err = company.GetUser(ctx, store.For(h.Store, h.B.ID), u.ID)
	wantKind(fault.NotFound, err)
	_, _, err = company.GetUser(ctx, tenant, "../COMPANY")
	wantKind(fault.NotFound, err)
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
