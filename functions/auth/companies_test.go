package auth_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/functions/auth"
	"orgops/shared/domain/company"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
)

// entered holds what the tests read of the answer to a login.
type entered struct {
	Status    int    `json:"-"`
	CompanyID string `json:"company_id"`
	Companies []auth.Membership
}

func enter(h *webtest.Harness, body map[string]string) (e entered) {
	r := h.Do("POST", "/auth/login", "", body)
	if r.Status == http.StatusOK {
		r.JSON(&e)
	}
	e.Status = r.Status
	return e
}

// joins invites an address to a company and accepts with a password.
func joins(t *testing.T, h *webtest.Harness, companyID, email, pass string) {
	t.Helper()
	invited, err := company.NewInvitation(companyID, "", company.NewUser{Email: email, Role: user.Member}, time.Now())
	errtest.Must(t, err)
	errtest.Must(t, company.Invite(t.Context(), h.Store, store.For(h.Store, companyID), invited))
	h.Do("POST", "/auth/invitation", "", map[string]string{"token": invited.Token, "password": pass}).Want(200)
}

// TestLogin_Companies has a company take the address of another's founder. The founder logs in as before, the two accounts stay
// apart, and an invitation to one of them leads to no other.
func TestLogin_Companies(t *testing.T) {
	t.Parallel()
	h, clock := harness(t)
	joins(t, h, h.B.ID, h.A.Email, another)
	acme := auth.Membership{ID: h.A.ID, Name: "Acme", Role: user.Founder}
	beta := auth.Membership{ID: h.B.ID, Name: "Beta", Role: user.Member}
	for name, tt := range map[string]struct {
		body map[string]string
		want entered
	}{
		"the founder's password":     {map[string]string{"password": webtest.Password}, entered{200, h.A.ID, []auth.Membership{acme}}},
		"the other password":         {map[string]string{"password": another}, entered{200, h.B.ID, []auth.Membership{beta}}},
		"the company of the founder": {map[string]string{"password": webtest.Password, "company": h.A.ID}, entered{200, h.A.ID, []auth.Membership{acme}}},
		"the other company":          {map[string]string{"password": webtest.Password, "company": h.B.ID}, entered{Status: 401}},
		"a wrong password":           {map[string]string{"password": "wrong password"}, entered{Status: 401}},
		"an unknown company":         {map[string]string{"password": webtest.Password, "company": "nowhere"}, entered{Status: 401}},
	} {
		tt.body["email"] = h.A.Email
		if diff := cmp.Diff(tt.want, enter(h, tt.body)); diff != "" {
			t.Errorf("%s: answer differs (-want +got):\n%s", name, diff)
		}
	}
	clock.Advance(time.Minute)
	token := signIn(h, h.A.Email, another)
	h.Do("POST", "/auth/password", token, map[string]string{"current": webtest.Password, "new": "eight loud otters read maps"}).WantProblem(422, "invalid")
	h.Do("POST", "/auth/sign-out", token, nil).Want(204)
	h.Forget()
	h.Do("POST", "/auth/sign-out", h.A.Token, nil).Want(204) // the founder's session in the other company goes on until then
}

// TestLogin_LastUsed leads a person with one password in two companies to the one used last.
func TestLogin_LastUsed(t *testing.T) {
	t.Parallel()
	h, clock := harness(t)
	joins(t, h, h.B.ID, h.A.Email, webtest.Password)
	in := func(companyID string) entered {
		t.Helper()
		body := map[string]string{"email": h.A.Email, "password": webtest.Password}
		if companyID != "" {
			body["company"] = companyID
		}
		return enter(h, body)
	}
	if got := in(""); len(got.Companies) != 2 {
		t.Errorf("companies = %v, want both", got.Companies)
	}
	for _, companyID := range []string{h.B.ID, h.A.ID} {
		clock.Advance(time.Minute)
		in(companyID)
		if got := in("").CompanyID; got != companyID {
			t.Errorf("company without a choice = %s, want the last one, %s", got, companyID)
		}
	}
}

// TestLogin_OneDerivation checks that the hashes of an address share their salt, so that a login takes the time of one.
func TestLogin_OneDerivation(t *testing.T) {
	t.Parallel()
	h, _ := harness(t)
	joins(t, h, h.B.ID, h.A.Email, another)
	changePassword(h, h.A.Token, webtest.Password, "eight loud otters read maps").Want(204)
	salts := map[string]bool{}
	for _, companyID := range []string{h.A.ID, h.B.ID} {
		item, err := h.Store.Get(t.Context(), store.Login(h.A.Email), user.LoginKey(companyID))
		errtest.Must(t, err)
		var l user.Login
		errtest.Must(t, item.Decode(&l))
		salts[l.PasswordHash[:len(l.PasswordHash)-43]] = true
	}
	if len(salts) != 1 {
		t.Errorf("parameters and salts = %v, want one", salts)
	}
}

// TestLogin_Former opens the login of an earlier release, whose key named no company.
func TestLogin_Former(t *testing.T) {
	t.Parallel()
	h, _ := harness(t)
	p := store.Login(h.A.Email)
	item, err := h.Store.Get(t.Context(), p, user.LoginKey(h.A.ID))
	errtest.Must(t, err)
	errtest.Must(t, h.Store.Commit(t.Context(), p.Entry(user.FormerLoginKey, item.Entity, 0, item.Body), store.Op{
		Partition: p, Key: item.Key, Entity: item.Entity, Quiet: true, Action: store.Delete, Condition: store.IfVersion, Version: item.Version,
	}))
	changePassword(h, signIn(h, h.A.Email, webtest.Password), webtest.Password, another).Want(204)
	login(h, h.A.Email, another).Want(200)
}
