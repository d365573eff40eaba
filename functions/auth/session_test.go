package auth_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/audit"
	"orgops/shared/domain/company"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
)

const another = "nine quiet otters read maps"

// signIn logs in and returns the token.
func signIn(h *webtest.Harness, email, password string) string {
	var got struct {
		AccessToken string `json:"access_token"`
	}
	login(h, email, password).Want(200).JSON(&got)
	return got.AccessToken
}

func changePassword(h *webtest.Harness, bearer, from, to string) *webtest.Response {
	return h.Do("POST", "/auth/password", bearer, map[string]string{"current": from, "new": to})
}

// TestPassword_Ends changes a password: the old password and every token issued before stop working, in five seconds at
// most. Tokens of other users and of later logins go on working.
func TestPassword_Ends(t *testing.T) {
	t.Parallel()
	h, _ := harness(t)
	here, there := signIn(h, h.A.Email, webtest.Password), signIn(h, h.A.Email, webtest.Password)
	changePassword(h, here, webtest.Password, another).Want(204)
	login(h, h.A.Email, webtest.Password).WantProblem(401, "unauthenticated")
	later := signIn(h, h.A.Email, another)
	h.Forget()
	for name, bearer := range map[string]string{"this": here, "the other": there} {
		r := h.Do("POST", "/auth/sign-out", bearer, nil)
		r.WantProblem(401, "unauthenticated")
		if got, want := r.Header.Get("WWW-Authenticate"), `Bearer error="invalid_token"`; got != want {
			t.Errorf("%s token: WWW-Authenticate = %q, want %q", name, got, want)
		}
	}
	h.Do("POST", "/auth/sign-out", h.B.Token, nil).Want(204)
	h.Do("POST", "/auth/sign-out", later, nil).Want(204)
}

func TestPassword_Refused(t *testing.T) {
	t.Parallel()
	h, _ := harness(t)
	tests := []struct{ name, current, new, pointer string }{
		{"wrong current password", "wrong password", another, "/current"},
		{"too short", webtest.Password, "x4ñq9-z", "/new"},
		{"common", webtest.Password, "qwertyuiop", "/new"},
		{"of the address", webtest.Password, "ada@acme-2026", "/new"},
		{"of the service", webtest.Password, "orgops-2026", "/new"},
		{"as before", webtest.Password, webtest.Password, "/new"},
	}
	for _, tt := range tests {
		r := changePassword(h, h.A.Token, tt.current, tt.new)
		problem := r.WantProblem(422, "invalid")
		if len(problem.Errors) != 1 {
			t.Fatalf("%s: errors = %+v, want one", tt.name, problem.Errors)
		}
		if got := problem.Errors[0].Pointer; got != tt.pointer {
			t.Errorf("%s: pointer = %q, want %q", tt.name, got, tt.pointer)
		}
		if strings.Contains(string(r.Body), tt.new) {
			t.Errorf("%s: answer %s, want one without the password", tt.name, r.Body)
		}
	}
}

// TestPassword_Limit counts each check of the current password as a try to log in.
func TestPassword_Limit(t *testing.T) {
	t.Parallel()
	h, _ := harness(t)
	for range 10 {
		changePassword(h, h.A.Token, "wrong password", another).Want(422)
	}
	changePassword(h, h.A.Token, webtest.Password, another).WantProblem(429, "quota-exceeded")
	login(h, h.A.Email, webtest.Password).WantProblem(429, "quota-exceeded")
}

// TestAudit_Logins records logins and refused ones of a known address.
func TestAudit_Logins(t *testing.T) {
	t.Parallel()
	h, _ := harness(t)
	login(h, h.A.Email, "wrong password").Want(401)
	login(h, "nobody@acme.test", "wrong password").Want(401)
	claims, err := h.Verifier.Verify(signIn(h, h.A.Email, webtest.Password))
	errtest.Must(t, err)
	page, err := store.For(h.Store, h.A.ID).Query(t.Context(), store.Query{Prefix: audit.Prefix})
	errtest.Must(t, err)
	var got []audit.Record
	for _, item := range page.Items {
		var r audit.Record
		errtest.Must(t, item.Decode(&r))
		got = append(got, audit.Record{Actor: r.Actor, Operation: r.Operation, Outcome: r.Outcome, Status: r.Status})
	}
	want := []audit.Record{
		{Actor: audit.Actor{UserID: h.A.UserID, Role: "founder"}, Operation: "login", Outcome: "denied", Status: 401},
		{Actor: audit.Actor{UserID: h.A.UserID, Role: "founder", TokenID: claims.ID}, Operation: "login", Outcome: "success"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
}

// TestSignOut_SameSecond signs out and logs in within one second: the new token works, the old one does not.
func TestSignOut_SameSecond(t *testing.T) {
	t.Parallel()
	h, _ := harness(t)
	for range 3 {
		old := signIn(h, h.A.Email, webtest.Password)
		h.Do("POST", "/auth/sign-out", old, nil).Want(204)
		fresh := signIn(h, h.A.Email, webtest.Password)
		h.Forget()
		h.Do("POST", "/auth/sign-out", old, nil).Want(401)
		h.Do("POST", "/auth/sign-out", fresh, nil).Want(204)
	}
}

// invite stores an invitation to company A and returns it.
func invite(t *testing.T, h *webtest.Harness, email string, role user.Role, now time.Time) company.Invited {
	t.Helper()
	invited, err := company.NewInvitation(h.A.ID, "", company.NewUser{Email: email, Name: "Mia Moss", Role: role}, now)
	errtest.Must(t, err)
	errtest.Must(t, company.Invite(t.Context(), h.Store, store.For(h.Store, h.A.ID), invited))
	return invited
}

func accept(h *webtest.Harness, text, password string) *webtest.Response {
	return h.Do("POST", "/auth/invitation", "", map[string]string{"token": text, "password": password})
}

// TestInvitation accepts an invitation once. The user counts as a founder from then on, not before.
func TestInvitation(t *testing.T) {
	t.Parallel()
	h, _ := harness(t)
	invited := invite(t, h, "mia@acme.test", user.Founder, time.Now())
	login(h, "mia@acme.test", webtest.Password).WantProblem(401, "unauthenticated")
	wantFounders(t, h, 1)
	if problem := accept(h, invited.Token, "Mia-Moss-2026").WantProblem(422, "invalid"); problem.Errors[0].Pointer != "/password" {
		t.Errorf("errors = %+v, want one at /password", problem.Errors)
	}
	var got struct {
		AccessToken string `json:"access_token"`
		CompanyID   string `json:"company_id"`
	}
	accept(h, invited.Token, another).Want(200).JSON(&got)
	if got.CompanyID != h.A.ID {
		t.Errorf("company = %s, want %s", got.CompanyID, h.A.ID)
	}
	wantFounders(t, h, 2)
	accept(h, invited.Token, another).WantProblem(401, "unauthenticated")
	h.Do("POST", "/auth/sign-out", got.AccessToken, nil).Want(204)
	signIn(h, "mia@acme.test", another)
}

func wantFounders(t *testing.T, h *webtest.Harness, want int) {
	t.Helper()
	c, _, err := company.Get(t.Context(), store.For(h.Store, h.A.ID))
	errtest.Must(t, err)
	if c.Founders != want {
		t.Errorf("%d founders, want %d", c.Founders, want)
	}
}

func TestInvitation_Refused(t *testing.T) {
	t.Parallel()
	h, _ := harness(t)
	invited := invite(t, h, "mia@acme.test", user.Member, time.Now())
	expired := invite(t, h, "old@acme.test", user.Member, time.Now().Add(-24*time.Hour-time.Second))
	taken := invite(t, h, h.B.Email, user.Member, time.Now())
	parts := strings.Split(invited.Token, ".")
	for name, text := range map[string]string{
		"no token": "", "another secret": parts[0] + "." + parts[1] + ".AAAA", "another company": h.B.ID + "." + parts[1] + "." + parts[2],
		"no secret": parts[0] + "." + parts[1] + ".", "a key": parts[0] + ".#.x", "expired": expired.Token,
	} {
		if got := accept(h, text, another).Status; got != 401 {
			t.Errorf("%s: status = %d, want 401", name, got)
		}
	}
	accept(h, taken.Token, webtest.Password).Want(200) // a login in another company does not count in this one
	accept(h, invited.Token, another).Want(200)
}

// TestDisabled ends the login and the tokens of a user who is disabled, until the user is enabled again.
func TestDisabled(t *testing.T) {
	t.Parallel()
	h, _ := harness(t)
	c := store.For(h.Store, h.A.ID)
	u, _, err := company.AddUser(t.Context(), h.Store, h.Hasher, h.A.ID, company.NewUser{Email: "mia@acme.test", Role: user.Member, Password: another}, time.Now())
	errtest.Must(t, err)
	held := signIn(h, u.Email, another)
	disabled, enabled := true, false
	u, version, err := company.ChangeUser(t.Context(), h.Store, c, u, 1, company.Change{Disabled: &disabled}, time.Now())
	errtest.Must(t, err)
	h.Forget()
	h.Do("POST", "/auth/sign-out", held, nil).WantProblem(401, "unauthenticated")
	login(h, u.Email, another).WantProblem(401, "unauthenticated")
	_, _, err = company.ChangeUser(t.Context(), h.Store, c, u, version, company.Change{Disabled: &enabled}, time.Now())
	errtest.Must(t, err)
	signIn(h, u.Email, another)
	h.Do("POST", "/auth/sign-out", held, nil).WantProblem(401, "unauthenticated")
}

// TestAudit_Person records in every company of a person what concerns the person, and a refused exchange in the company of the token.
func TestAudit_Person(t *testing.T) {
	t.Parallel()
	h, _ := harness(t)
	joins(t, h, h.B.ID, h.A.Email, webtest.Password)
	in := func(name string) string {
		return enter(h, map[string]string{"email": h.A.Email, "password": name, "company": h.A.ID}).Token
	}
	refused(switches(h, in(webtest.Password), "nowhere").Want(400))
	h.Do("POST", "/auth/password", in(webtest.Password), map[string]string{"current": webtest.Password, "new": another}).Want(204)
	h.Do("POST", "/auth/sign-out", in(another), nil).Want(204)
	for _, tt := range []struct {
		company, operation, outcome string
	}{
		{h.A.ID, "issue-token", "failure"},
		{h.A.ID, "change-password", "success"}, {h.B.ID, "change-password", "success"},
		{h.A.ID, "sign-out", "success"}, {h.B.ID, "sign-out", "success"},
	} {
		n := 0
		for _, r := range recorded(t, h, tt.company) {
			if [2]string{r.Operation, r.Outcome} == [2]string{tt.operation, tt.outcome} {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d records of %s with %s in %s, want 1", n, tt.operation, tt.outcome, tt.company)
		}
	}
}

// TestAudit_Person_Everywhere records a new password in every company of a person, also when one commit cannot hold all records.
func TestAudit_Person_Everywhere(t *testing.T) {
	t.Parallel()
	h, _ := harness(t)
	companies := []string{h.A.ID}
	for n := range user.MaxMemberships - 1 {
		companies = append(companies, founds(t, h, fmt.Sprint("Gamma ", n), h.A.Email, "").CompanyID)
	}
	bearer := enter(h, map[string]string{"email": h.A.Email, "password": webtest.Password, "company": h.A.ID}).Token
	h.Do("POST", "/auth/password", bearer, map[string]string{"current": webtest.Password, "new": another}).Want(204)
	for _, company := range companies {
		n := 0
		for _, r := range recorded(t, h, company) {
			if r.Operation == "change-password" {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d records of the change in %s, want 1", n, company)
		}
	}
}
