package auth_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
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
	Token     string `json:"access_token"`
	CompanyID string `json:"company_id"`
	Companies []auth.Membership
}

func read(r *webtest.Response) (e entered) {
	if r.Status == http.StatusOK {
		r.JSON(&e)
	}
	e.Status = r.Status
	return e
}

func enter(h *webtest.Harness, body map[string]string) entered {
	return read(h.Do("POST", "/auth/login", "", body))
}

// where returns the answer without its token, and with the companies in the order of their names.
func (e entered) where() entered {
	e.Token = ""
	slices.SortFunc(e.Companies, func(a, b auth.Membership) int { return strings.Compare(a.Name, b.Name) })
	return e
}

// invites invites an address to a company and returns the token.
func invites(t *testing.T, h *webtest.Harness, companyID, email string) string {
	t.Helper()
	invited, err := company.NewInvitation(companyID, "", company.NewUser{Email: email, Role: user.Member}, time.Now())
	errtest.Must(t, err)
	errtest.Must(t, company.Invite(t.Context(), h.Store, store.For(h.Store, companyID), invited))
	return invited.Token
}

// joins invites an address to a company and accepts with a password.
func joins(t *testing.T, h *webtest.Harness, companyID, email, pass string) {
	t.Helper()
	accept(h, invites(t, h, companyID, email), pass).Want(200)
}

// founds creates a company as the operator of the service does.
func founds(t *testing.T, h *webtest.Harness, name, email, pass string) company.Provisioned {
	t.Helper()
	made, err := company.Provision(t.Context(), h.Store, h.Hasher, company.New{Name: name, Email: email, Password: pass}, time.Now())
	errtest.Must(t, err)
	return made
}

// TestPerson has the operator create a second company for a known address. The password stays, one login leads to both companies, and
// one change of the password and one sign-out are for both.
func TestPerson(t *testing.T) {
	t.Parallel()
	h, clock := harness(t)
	gamma := founds(t, h, "Gamma", h.A.Email, another)
	if got, want := [2]any{gamma.Password, gamma.Known}, [2]any{"", true}; got != want {
		t.Errorf("password and known = %v, want %v", got, want)
	}
	both := []auth.Membership{{ID: h.A.ID, Name: "Acme", Role: user.Founder}, {ID: gamma.CompanyID, Name: "Gamma", Role: user.Founder}}
	for name, tt := range map[string]struct {
		body map[string]string
		want entered
	}{
		"the password":           {map[string]string{"password": webtest.Password}, entered{Status: 200, CompanyID: h.A.ID, Companies: both}},
		"one that was ignored":   {map[string]string{"password": another}, entered{Status: 401}},
		"a company of another's": {map[string]string{"password": webtest.Password, "company": h.B.ID}, entered{Status: 401}},
		"an unknown company":     {map[string]string{"password": webtest.Password, "company": "nowhere"}, entered{Status: 401}},
	} {
		tt.body["email"] = h.A.Email
		if diff := cmp.Diff(tt.want, enter(h, tt.body).where()); diff != "" {
			t.Errorf("%s: answer differs (-want +got):\n%s", name, diff)
		}
	}
	clock.Advance(time.Minute)
	in := func(companyID, pass string) string {
		return enter(h, map[string]string{"email": h.A.Email, "password": pass, "company": companyID}).Token
	}
	here, there := in(h.A.ID, webtest.Password), in(gamma.CompanyID, webtest.Password)
	changePassword(h, there, webtest.Password, another).Want(204)
	h.Forget()
	h.Do("POST", "/auth/sign-out", here, nil).WantProblem(401, "unauthenticated")
	clock.Advance(time.Minute)
	here, there = in(h.A.ID, another), in(gamma.CompanyID, another)
	h.Do("POST", "/auth/sign-out", here, nil).Want(204)
	h.Forget()
	h.Do("POST", "/auth/sign-out", there, nil).WantProblem(401, "unauthenticated")
	h.Do("POST", "/auth/sign-out", h.B.Token, nil).Want(204)
}

// TestPerson_Last leads a person with several companies to the one used last.
func TestPerson_Last(t *testing.T) {
	t.Parallel()
	h, clock := harness(t)
	gamma := founds(t, h, "Gamma", h.A.Email, "")
	for _, companyID := range []string{gamma.CompanyID, h.A.ID} {
		clock.Advance(time.Minute)
		enter(h, map[string]string{"email": h.A.Email, "password": webtest.Password, "company": companyID})
		if got := enter(h, map[string]string{"email": h.A.Email, "password": webtest.Password}).CompanyID; got != companyID {
			t.Errorf("company without a choice = %s, want the last one, %s", got, companyID)
		}
	}
}

// TestPerson_Apart keeps what is of a membership apart: disabling in one company, and removal from it, leave the other as it is.
func TestPerson_Apart(t *testing.T) {
	t.Parallel()
	h, _ := harness(t)
	joins(t, h, h.B.ID, h.A.Email, webtest.Password)
	b := store.For(h.Store, h.B.ID)
	users, _, err := company.ListUsers(t.Context(), b, "", 10)
	errtest.Must(t, err)
	u, version, err := company.GetUser(t.Context(), b, users[slices.IndexFunc(users, func(u user.User) bool { return u.Email == h.A.Email })].ID)
	errtest.Must(t, err)
	acme := entered{Status: 200, CompanyID: h.A.ID, Companies: []auth.Membership{{ID: h.A.ID, Name: "Acme", Role: user.Founder}}}
	body := map[string]string{"email": h.A.Email, "password": webtest.Password}
	u, version, err = company.ChangeUser(t.Context(), h.Store, b, u, version, company.Change{Disabled: new(true)}, time.Now())
	errtest.Must(t, err)
	if diff := cmp.Diff(acme, enter(h, body).where()); diff != "" {
		t.Errorf("answer after disabling differs (-want +got):\n%s", diff)
	}
	if got := enter(h, map[string]string{"email": h.A.Email, "password": webtest.Password, "company": h.B.ID}).Status; got != 401 {
		t.Errorf("status for the company that disabled the user = %d, want 401", got)
	}
	errtest.Must(t, company.RemoveUser(t.Context(), h.Store, b, u, version, time.Now()))
	if diff := cmp.Diff(acme, enter(h, body).where()); diff != "" {
		t.Errorf("answer after the removal differs (-want +got):\n%s", diff)
	}
	if got := keysOf(t, h, h.A.Email); !slices.Equal(got, []string{user.LoginKey(h.A.ID), user.ProvenKey}) {
		t.Errorf("logins and persons = %v, want one of each", got)
	}
}

// keysOf returns the keys of the logins and persons of an address.
func keysOf(t *testing.T, h *webtest.Harness, email string) (keys []string) {
	t.Helper()
	page, err := h.Store.Query(t.Context(), store.Login(email), store.Query{})
	errtest.Must(t, err)
	for _, item := range page.Items {
		if user.IsLogin(item.Key) || user.IsPerson(item.Key) {
			keys = append(keys, item.Key)
		}
	}
	return keys
}

// TestPerson_Removed removes a person with the last company.
func TestPerson_Removed(t *testing.T) {
	t.Parallel()
	h, _ := harness(t)
	accept(h, invite(t, h, "mia@acme.test", user.Member, time.Now()).Token, another).Want(200)
	c := store.For(h.Store, h.A.ID)
	users, _, err := company.ListUsers(t.Context(), c, "", 10)
	errtest.Must(t, err)
	u, version, err := company.GetUser(t.Context(), c, users[slices.IndexFunc(users, func(u user.User) bool { return u.Email == "mia@acme.test" })].ID)
	errtest.Must(t, err)
	errtest.Must(t, company.RemoveUser(t.Context(), h.Store, c, u, version, time.Now()))
	if got := keysOf(t, h, u.Email); len(got) > 0 {
		t.Errorf("logins and persons = %v, want none", got)
	}
}

// TestInvitation_Known lets a person whom the address is known to have accept with their own password or their session, and in no other way.
func TestInvitation_Known(t *testing.T) {
	t.Parallel()
	h, clock := harness(t)
	token := invites(t, h, h.B.ID, h.A.Email)
	both := []auth.Membership{{ID: h.A.ID, Name: "Acme", Role: user.Founder}, {ID: h.B.ID, Name: "Beta", Role: user.Member}}
	with := func(bearer, pass string) *webtest.Response {
		return h.Do("POST", "/auth/invitation", bearer, map[string]string{"token": token, "password": pass})
	}
	if got := with("", another).WantProblem(422, "invalid").Errors[0].Pointer; got != "/password" {
		t.Errorf("pointer = %s, want /password", got)
	}
	with(h.B.Token, "").WantProblem(403, "forbidden") // of another address
	with("no token", "").WantProblem(401, "unauthenticated")
	with("", "").WantProblem(422, "invalid")
	want := entered{Status: 200, CompanyID: h.B.ID, Companies: both}
	if diff := cmp.Diff(want, read(with(h.A.Token, "")).where()); diff != "" {
		t.Errorf("answer differs (-want +got):\n%s", diff)
	}
	clock.Advance(time.Minute)
	login(h, h.A.Email, another).Want(401)
	if diff := cmp.Diff(want, enter(h, map[string]string{"email": h.A.Email, "password": webtest.Password}).where()); diff != "" {
		t.Errorf("answer to a login differs (-want +got):\n%s", diff)
	}
}

// TestInvitation_Guesses counts the passwords that an invitation is tried with as tries of its address.
func TestInvitation_Guesses(t *testing.T) {
	t.Parallel()
	h, _ := harness(t)
	token := invites(t, h, h.B.ID, h.A.Email)
	for range 10 {
		accept(h, token, another).Want(422)
	}
	accept(h, token, webtest.Password).WantProblem(429, "quota-exceeded")
	login(h, h.A.Email, webtest.Password).WantProblem(429, "quota-exceeded")
}

// TestInvitation_Squatter has a company accept its own invitation of a stranger's address. The stranger's company is created all the same,
// the squatter's password does not lead into it, and the stranger's does not lead into the squatter's.
func TestInvitation_Squatter(t *testing.T) {
	t.Parallel()
	h, _ := harness(t)
	const email, stolen = "sam@stranger.test", "the squatter chose this"
	joins(t, h, h.B.ID, email, stolen)
	made := founds(t, h, "Stranger", email, another)
	if got, want := [2]any{made.Password, made.Known}, [2]any{"", false}; got != want {
		t.Errorf("password and known = %v, want %v", got, want)
	}
	own := entered{Status: 200, CompanyID: made.CompanyID, Companies: []auth.Membership{{ID: made.CompanyID, Name: "Stranger", Role: user.Founder}}}
	squat := entered{Status: 200, CompanyID: h.B.ID, Companies: []auth.Membership{{ID: h.B.ID, Name: "Beta", Role: user.Member}}}
	for pass, want := range map[string]entered{another: own, stolen: squat} {
		if diff := cmp.Diff(want, enter(h, map[string]string{"email": email, "password": pass}).where()); diff != "" {
			t.Errorf("%q: answer differs (-want +got):\n%s", pass, diff)
		}
	}
	if got := enter(h, map[string]string{"email": email, "password": stolen, "company": made.CompanyID}).Status; got != 401 {
		t.Errorf("status of the squatter's password for the stranger's company = %d, want 401", got)
	}
	_, err := company.SetPassword(t.Context(), h.Store, h.Hasher, email, "eight loud otters read maps", time.Now())
	errtest.Must(t, err)
	for pass, want := range map[string]int{another: 401, stolen: 401, "eight loud otters read maps": 200} {
		login(h, email, pass).Want(want)
	}
	if got := len(keysOf(t, h, email)); got != 3 {
		t.Errorf("logins and persons = %v, want two logins of one person", keysOf(t, h, email))
	}
}

// TestLogin_OneDerivation checks that the hashes of an address share their salt, so that a login takes the time of one.
func TestLogin_OneDerivation(t *testing.T) {
	t.Parallel()
	h, _ := harness(t)
	joins(t, h, h.B.ID, "sam@stranger.test", another)
	founds(t, h, "Stranger", "sam@stranger.test", webtest.Password)
	changePassword(h, signIn(h, "sam@stranger.test", webtest.Password), webtest.Password, "eight loud otters read maps").Want(204)
	accounts, err := company.Accounts(t.Context(), h.Store, "sam@stranger.test")
	errtest.Must(t, err)
	salts := map[string]bool{}
	for _, a := range accounts {
		salts[a.PasswordHash[:len(a.PasswordHash)-43]] = true
	}
	if got, want := [2]int{len(accounts), len(salts)}, [2]int{2, 1}; got != want {
		t.Errorf("accounts, parameters and salts: %v, want %v", got, want)
	}
}

// formerly stores the login of a company's founder as an earlier release did, under a key, with a password of its own.
func formerly(t *testing.T, h *webtest.Harness, of webtest.Tenant, email, key, hash string) {
	t.Helper()
	p := store.Login(email)
	errtest.Must(t, h.Store.Commit(t.Context(), p.Entry(key, user.LoginEntity, 0, user.Login{
		CompanyID: of.ID, UserID: of.UserID, PasswordHash: hash, Role: user.Founder,
	})))
}

// TestLogin_Former opens the logins of earlier releases, of which each company had one, with a password of its own. Those with one
// password become one person at the first login.
func TestLogin_Former(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]string{"of release 0.1.0": user.FormerLoginKey, "of a company": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, clock := harness(t)
			p := store.Login(h.A.Email)
			item, err := h.Store.Get(t.Context(), p, user.ProvenKey)
			errtest.Must(t, err)
			var person user.Person
			errtest.Must(t, json.Unmarshal(item.Body, &person))
			accounts, err := company.Accounts(t.Context(), h.Store, h.A.Email)
			errtest.Must(t, err)
			errtest.Must(t, h.Store.Commit(t.Context(), accounts[0].Leave(h.A.ID)...))
			own := key
			if own == "" {
				own = user.LoginKey(h.A.ID)
			}
			formerly(t, h, h.A, h.A.Email, own, person.PasswordHash)
			formerly(t, h, h.B, h.A.Email, user.LoginKey(h.B.ID), person.PasswordHash)
			body := map[string]string{"email": h.A.Email, "password": webtest.Password}
			both := []auth.Membership{{ID: h.A.ID, Name: "Acme", Role: user.Founder}, {ID: h.B.ID, Name: "Beta", Role: user.Founder}}
			for range 2 {
				if diff := cmp.Diff(entered{Status: 200, CompanyID: h.A.ID, Companies: both}, enter(h, body).where()); diff != "" {
					t.Errorf("answer differs (-want +got):\n%s", diff)
				}
			}
			if got := len(keysOf(t, h, h.A.Email)); got != 3 {
				t.Errorf("logins and persons = %v, want two logins of one person", keysOf(t, h, h.A.Email))
			}
			changePassword(h, signIn(h, h.A.Email, webtest.Password), webtest.Password, another).Want(204)
			clock.Advance(time.Minute)
			for _, companyID := range []string{h.A.ID, h.B.ID} {
				body := map[string]string{"email": h.A.Email, "password": another, "company": companyID}
				if got := enter(h, body).Status; got != 200 {
					t.Errorf("status of a login to %s with the new password = %d, want 200", companyID, got)
				}
			}
		})
	}
}
