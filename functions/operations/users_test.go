package operations_test

import (
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"orgops/functions/operations"
	members "orgops/shared/domain/company"
	"orgops/shared/domain/user"
	"orgops/shared/provider/policyengine/policycheck"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
)

const password = "nine quiet otters read maps"

// office registers the group with the machine's clock, by which the store lets invitations expire.
func office(t *testing.T) *webtest.Harness {
	t.Helper()
	h := webtest.New(t)
	operations.Register(h.API(), operations.Deps{Store: h.Store, Vault: h.Vault, Checker: policycheck.New(), Now: time.Now})
	return h
}

type object = map[string]any

func invite(h *webtest.Harness, bearer string, body object) *webtest.Response {
	return h.Do("POST", path(h, "/users"), bearer, body)
}

// join invites a user, accepts the invitation, and returns the user with the ETag. The user decides on what is asked for in a later
// millisecond, for which join waits.
func join(t *testing.T, h *webtest.Harness, email string, role user.Role) (user.User, string) {
	t.Helper()
	var invited operations.InvitedUser
	invite(h, h.A.Token, object{"email": email, "role": role}).Want(201).JSON(&invited)
	_, err := accept(t, h, invited.InvitationToken)
	errtest.Must(t, err)
	var joined user.User
	r := h.Do("GET", path(h, "/users/"+invited.ID), h.A.Token, nil).Want(200).JSON(&joined)
	for !joined.Decides(time.Now()) {
		runtime.Gosched()
	}
	return joined, r.Header.Get("ETag")
}

// TestUsers follows a user from the invitation to the removal.
func TestUsers(t *testing.T) {
	t.Parallel()
	h := office(t)
	var invited operations.InvitedUser
	invite(h, h.A.Token, object{"email": "mia@acme.test", "name": "Mia Moss", "role": "member"}).Want(201).JSON(&invited)
	want := user.User{Email: "mia@acme.test", Name: "Mia Moss", Role: user.Member, State: user.Invited}
	if diff := cmp.Diff(want, invited.User, cmpopts.IgnoreFields(user.User{}, "ID", "CreatedAt", "InvitedUntil")); diff != "" {
		t.Errorf("invited user (-want +got):\n%s", diff)
	}
	if got, want := invited.InvitedUntil.Sub(invited.CreatedAt), 24*time.Hour; got != want {
		t.Errorf("the invitation is valid for %s, want %s", got, want)
	}
	one := path(h, "/users/"+invited.ID)
	if shown := h.Do("GET", one, h.A.Token, nil).Want(200); strings.Contains(string(shown.Body), invited.InvitationToken) {
		t.Errorf("the user %s shows the token of the invitation, want it shown once", shown.Body)
	}
	_, err := accept(t, h, invited.InvitationToken)
	errtest.Must(t, err)

	read := h.Do("GET", one, h.A.Token, nil).Want(200)
	etag := read.Header.Get("ETag")
	h.Do("GET", one, h.A.Token, nil, "If-None-Match", etag).Want(304)
	var changed user.User
	update := h.Do("PATCH", one, h.A.Token, object{"role": "operator", "name": "Mia"}, "If-Match", etag).Want(200).JSON(&changed)
	if got, want := []string{string(changed.Role), changed.Name, string(changed.State)}, []string{"operator", "Mia", "active"}; !cmp.Equal(got, want) {
		t.Errorf("role, name and state = %q, want %q", got, want)
	}
	stale := h.Do("PATCH", one, h.A.Token, object{"name": "M"}, "If-Match", etag)
	stale.WantProblem(412, "stale")
	if got, want := stale.Header.Get("ETag"), update.Header.Get("ETag"); got != want {
		t.Errorf("ETag of the refusal = %s, want %s", got, want)
	}
	h.Do("DELETE", one, h.A.Token, nil, "If-Match", etag).WantProblem(412, "stale")
	if got := emails(h); !cmp.Equal(got, []string{h.A.Email, "mia@acme.test"}) {
		t.Errorf("users = %q, want both", got)
	}
	h.Do("DELETE", one, h.A.Token, nil, "If-Match", update.Header.Get("ETag")).Want(204)
	h.Do("GET", one, h.A.Token, nil).WantProblem(404, "not-found")
	if got := emails(h); !cmp.Equal(got, []string{h.A.Email}) {
		t.Errorf("users = %q, want the founder alone", got)
	}
	h.Do("GET", strings.Replace(one, h.A.ID, h.B.ID, 1), h.B.Token, nil).WantProblem(404, "not-found")
}

func emails(h *webtest.Harness) (all []string) {
	var page struct{ Items []user.User }
	h.Do("GET", path(h, "/users"), h.A.Token, nil).Want(200).JSON(&page)
	for _, u := range page.Items {
		all = append(all, u.Email)
	}
	return all
}

// TestUsers_ResumeMails checks that an administrator lets mails go to an address again that refused one.
func TestUsers_ResumeMails(t *testing.T) {
	t.Parallel()
	h := office(t)
	u, _ := join(t, h, "mia@acme.test", user.Member)
	c := store.For(h.Store, h.A.ID)
	u, version, err := members.GetUser(t.Context(), c, u.ID)
	errtest.Must(t, err)
	now := time.Now().UTC().Truncate(time.Millisecond)
	u.MailRefusedAt, u.MailRefusedWith = &now, user.MailBounced
	errtest.Must(t, c.Commit(t.Context(), c.Replace(user.Key(u.ID), user.Entity, version, u)))

	one := path(h, "/users/"+u.ID)
	var shown object
	etag := h.Do("GET", one, h.A.Token, nil).Want(200).JSON(&shown).Header.Get("ETag")
	if diff := cmp.Diff([]any{now.Format(time.RFC3339Nano), "bounced"}, []any{shown["mailRefusedAt"], shown["mailRefusedWith"]}); diff != "" {
		t.Errorf("since when and why no mails go to the user (-want +got):\n%s", diff)
	}
	var changed user.User
	h.Do("PATCH", one, h.A.Token, object{"resumeMails": true}, "If-Match", etag).Want(200).JSON(&changed)
	u.MailRefusedAt, u.MailRefusedWith = nil, ""
	if diff := cmp.Diff(u, changed); diff != "" {
		t.Errorf("the user after resumeMails (-want +got):\n%s", diff)
	}
}

// TestUsers_EndsTokens checks that a new role, disabling and removal end the user's tokens, and that a new name does not.
func TestUsers_EndsTokens(t *testing.T) {
	t.Parallel()
	h := office(t)
	tests := []struct {
		name, method string
		body         any
		want         int
	}{
		{"a new name", "PATCH", object{"name": "M"}, 200}, {"a new role", "PATCH", object{"role": "founder"}, 401},
		{"disabling", "PATCH", object{"disabled": true}, 401}, {"removal", "DELETE", nil, 401},
	}
	for n, tt := range tests {
		u, _ := join(t, h, "mia"+string(rune('a'+n))+"@acme.test", user.Operator)
		held := h.UserToken(h.A.ID, u.ID, user.Operator)
		h.Do("GET", path(h, "/users"), held, nil).Want(200)
		if got := h.Do(tt.method, path(h, "/users/"+u.ID), h.A.Token, tt.body).Status; got >= 300 {
			t.Fatalf("%s: status = %d, want a success", tt.name, got)
		}
		h.Forget()
		if got := h.Do("GET", path(h, "/users"), held, nil).Status; got != tt.want {
			t.Errorf("%s: status of a token from before = %d, want %d", tt.name, got, tt.want)
		}
	}
}

// TestUsers_LastFounder protects the last founder who can log in. An invited or a disabled founder does not count.
func TestUsers_LastFounder(t *testing.T) {
	t.Parallel()
	h := office(t)
	first := path(h, "/users/"+h.A.UserID)
	invite(h, h.A.Token, object{"email": "gus@acme.test", "role": "founder"}).Want(201)
	other, _ := join(t, h, "mia@acme.test", user.Founder)
	second := path(h, "/users/"+other.ID)
	h.Do("PATCH", second, h.A.Token, object{"disabled": true}).Want(200)
	for _, body := range []object{{"disabled": true}, {"role": "member"}} {
		h.Do("PATCH", first, h.A.Token, body).WantProblem(409, "conflict")
	}
	h.Do("DELETE", first, h.A.Token, nil).WantProblem(409, "conflict")
	h.Do("PATCH", second, h.A.Token, object{"disabled": false}).Want(200)
	h.Do("PATCH", first, h.A.Token, object{"role": "member"}).Want(200)
	h.Do("DELETE", second, h.A.Token, nil).WantProblem(409, "conflict")
}

// TestUsers_LastPassword protects the last founder with a password. A founder whom the identity provider made does not stand in.
func TestUsers_LastPassword(t *testing.T) {
	t.Parallel()
	h := office(t)
	key := store.IdentityKey(h.A.ID, "i", "s")
	_, err := members.SignIn(t.Context(), h.Store, store.For(h.Store, h.A.ID), members.Identity{Key: key, Email: "ida@acme.test", Role: user.Founder}, time.Now())
	errtest.Must(t, err)
	first := path(h, "/users/"+h.A.UserID)
	for _, body := range []object{{"disabled": true}, {"role": "member"}} {
		h.Do("PATCH", first, h.A.Token, body).WantProblem(409, "conflict")
	}
	h.Do("DELETE", first, h.A.Token, nil).WantProblem(409, "conflict")
	join(t, h, "mia@acme.test", user.Founder)
	h.Do("DELETE", first, h.A.Token, nil).Want(204)
}

// TestUsers_Operator keeps an operator from granting or taking rights that the operator lacks.
func TestUsers_Operator(t *testing.T) {
	t.Parallel()
	h := office(t)
	u, _ := join(t, h, "olu@acme.test", user.Operator)
	operator := h.UserToken(h.A.ID, u.ID, user.Operator)
	for _, role := range []string{"founder", "member", "integration"} {
		invite(h, operator, object{"email": "x@acme.test", "role": role, "provider": ""}).WantProblem(403, "insufficient-scope")
	}
	h.Do("PATCH", path(h, "/users/"+u.ID), operator, object{"role": "founder"}).WantProblem(403, "insufficient-scope")
	h.Do("DELETE", path(h, "/users/"+h.A.UserID), operator, nil).WantProblem(403, "insufficient-scope")
	invite(h, operator, object{"email": "y@acme.test", "role": "operator"}).Want(201)
}

// TestUsers_InvitedRole lets a founder give an invited user a role that the one who invited lacks. The invitation is the founder's from then on.
func TestUsers_InvitedRole(t *testing.T) {
	t.Parallel()
	h := office(t)
	olu, _ := join(t, h, "olu@acme.test", user.Operator)
	var invited operations.InvitedUser
	invite(h, h.UserToken(h.A.ID, olu.ID, user.Operator), object{"email": "mia@acme.test", "role": "operator"}).Want(201).JSON(&invited)
	h.Do("PATCH", path(h, "/users/"+invited.ID), h.A.Token, object{"role": "founder"}).Want(200)
	_, err := accept(t, h, invited.InvitationToken)
	errtest.Must(t, err)
	var joined user.User
	h.Do("GET", path(h, "/users/"+invited.ID), h.A.Token, nil).Want(200).JSON(&joined)
	if got := [2]any{joined.State, joined.Role}; got != [2]any{user.Active, user.Founder} {
		t.Errorf("the user is %v, want an active founder", got)
	}
}

func TestUsers_Refused(t *testing.T) {
	t.Parallel()
	h := office(t)
	pending := operations.InvitedUser{}
	invite(h, h.A.Token, object{"email": "p@acme.test", "role": "member"}).Want(201).JSON(&pending)
	users, invited := path(h, "/users"), path(h, "/users/"+pending.ID)
	tests := []struct {
		name, method, path string
		body               any
		status             int
		pointers           []string
	}{
		{"no role", "POST", users, object{"email": "a@b.test"}, 422, []string{"/role"}},
		{"unknown role", "POST", users, object{"email": "a@b.test", "role": "god"}, 422, []string{"/role"}},
		{"not an address", "POST", users, object{"email": "ada", "role": "member"}, 422, []string{"/email"}},
		{"integration without a provider", "POST", users, object{"email": "a@b.test", "role": "integration"}, 422, []string{"/provider"}},
		{"member with a provider", "POST", users, object{"email": "a@b.test", "role": "member", "provider": "github"}, 422, []string{"/provider"}},
		{"address of a user", "POST", users, object{"email": h.A.Email, "role": "member"}, 409, nil},
		{"control character", "PATCH", users + "/" + h.A.UserID, object{"name": "a\x00"}, 422, []string{"/name"}},
		{"integration without a provider, later", "PATCH", users + "/" + h.A.UserID, object{"role": "integration"}, 422, []string{"/provider"}},
		{"disabled before accepted", "PATCH", invited, object{"disabled": true}, 409, nil},
		{"no such user", "PATCH", users + "/nobody", object{"disabled": true}, 404, nil},
		{"a key instead of an id", "DELETE", users + "/%23", nil, 404, nil},
	}
	for _, tt := range tests {
		r := h.Do(tt.method, tt.path, h.A.Token, tt.body).Want(tt.status)
		var problem struct{ Errors []struct{ Pointer string } }
		r.JSON(&problem)
		var got []string
		for _, e := range problem.Errors {
			got = append(got, e.Pointer)
		}
		if diff := cmp.Diff(tt.pointers, got); diff != "" {
			t.Errorf("%s: pointers (-want +got):\n%s", tt.name, diff)
		}
	}
	h.Do("DELETE", invited, h.A.Token, nil).Want(http.StatusNoContent)
	if _, err := accept(t, h, pending.InvitationToken); err == nil {
		t.Error("a withdrawn invitation was accepted")
	}
}
