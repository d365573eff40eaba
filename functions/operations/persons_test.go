package operations_test

import (
	"testing"
	"time"

	"orgops/functions/operations"
	"orgops/shared/base/fault"
	"orgops/shared/domain/approval"
	tenant "orgops/shared/domain/company"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
)

// erases asks for the erasure of the company and returns the path of the approval.
func erases(h *webtest.Harness, bearer string) string {
	var asked struct{ Approval approval.Approval }
	h.Do("POST", path(h, "/erasure"), bearer, object{"name": "Acme"}).Want(202).JSON(&asked)
	return path(h, "/approvals/"+asked.Approval.ID)
}

func stateOf(h *webtest.Harness, approvalPath string) approval.State {
	var a approval.Approval
	h.Do("GET", approvalPath, h.A.Token, nil).Want(200).JSON(&a)
	return a.State
}

// TestApprovals_Persons refuses an approver whom the one who asked could have made after the request.
func TestApprovals_Persons(t *testing.T) {
	t.Parallel()
	const email = "olga@acme.test"
	tests := []struct {
		name   string
		before func(*webtest.Harness) user.User
		after  func(*webtest.Harness, user.User) user.User
		want   int
	}{
		{"operator before and after", func(h *webtest.Harness) user.User { return joined(t, h, email, user.Operator) }, nil, 200},
		{"invited afterwards", nil, func(h *webtest.Harness, _ user.User) user.User { return joined(t, h, email, user.Operator) }, 403},
		{"a member before", func(h *webtest.Harness) user.User { return joined(t, h, email, user.Member) }, func(h *webtest.Harness, u user.User) user.User {
			h.Do("PATCH", path(h, "/users/"+u.ID), h.A.Token, object{"role": "operator"}).Want(200)
			return u
		}, 403},
		{"disabled before", func(h *webtest.Harness) user.User {
			u := joined(t, h, email, user.Operator)
			h.Do("PATCH", path(h, "/users/"+u.ID), h.A.Token, object{"disabled": true}).Want(200)
			return u
		}, func(h *webtest.Harness, u user.User) user.User {
			h.Do("PATCH", path(h, "/users/"+u.ID), h.A.Token, object{"disabled": false}).Want(200)
			return u
		}, 403},
		{"the same person by single sign-on", func(h *webtest.Harness) user.User {
			u := user.User{ID: "sso", Email: "ADA@acme.test", Role: user.Operator, State: user.Active, Identity: "i", CreatedAt: time.Now().Add(-time.Hour)}
			c := store.For(h.Store, h.A.ID)
			errtest.Must(t, c.Commit(t.Context(), c.Create(user.Key(u.ID), user.Entity, u).Quietly()))
			return u
		}, nil, 403},
		{"a user who is not there", func(*webtest.Harness) user.User { return user.User{ID: "u-test"} }, nil, 403},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := office(t)
			var u user.User
			if tt.before != nil {
				u = tt.before(h)
			}
			asked := erases(h, h.A.Token)
			if tt.after != nil {
				u = tt.after(h, u)
			}
			decides := h.Signed(h.A.ID, u.ID, user.Operator, 9)
			if got := h.Do("POST", asked+"/approve", decides, nil).Status; got != tt.want {
				t.Errorf("approve: status = %d, want %d", got, tt.want)
			}
			if tt.want == 403 {
				h.Do("POST", asked+"/reject", decides, nil).WantProblem(403, "forbidden")
			}
		})
	}
}

func joined(t *testing.T, h *webtest.Harness, email string, role user.Role) user.User {
	t.Helper()
	u, _ := join(t, h, email, role)
	return u
}

// TestApprovals_AcceptedAfterwards refuses an approver who was invited before the request and accepted after it.
func TestApprovals_AcceptedAfterwards(t *testing.T) {
	t.Parallel()
	h := office(t)
	var invited operations.InvitedUser
	invite(h, h.A.Token, object{"email": "olga@acme.test", "role": "operator"}).Want(201).JSON(&invited)
	asked := erases(h, h.A.Token)
	_, err := accept(t, h, invited.InvitationToken)
	errtest.Must(t, err)
	h.Do("POST", asked+"/approve", h.UserToken(h.A.ID, invited.ID, user.Operator), nil).WantProblem(403, "forbidden")
}

// TestApprovals_Withdraw lets the user who asked take the request back, once, and ask again.
func TestApprovals_Withdraw(t *testing.T) {
	t.Parallel()
	h := office(t)
	olga := h.UserToken(h.A.ID, joined(t, h, "olga@acme.test", user.Operator).ID, user.Operator)
	first := erases(h, h.A.Token)
	h.Do("POST", first+"/withdraw", olga, nil).WantProblem(403, "forbidden")
	var ended approval.Approval
	h.Do("POST", first+"/withdraw", h.A.Token, nil).Want(200).JSON(&ended)
	if ended.State != approval.Withdrawn {
		t.Errorf("state = %s, want withdrawn", ended.State)
	}
	for _, how := range []string{"/withdraw", "/approve", "/reject"} {
		h.Do("POST", first+how, h.A.Token, nil).WantProblem(409, "approval-decided")
	}
	second := erases(h, h.A.Token)
	if second == first {
		t.Errorf("the second request has the approval of the first, %s; want another", first)
	}
	h.Do("POST", second+"/approve", olga, nil).Want(200)
	h.Do("POST", second+"/withdraw", h.A.Token, nil).Want(409)
	h.Do("POST", path(h, "/approvals/unknown/withdraw"), h.B.Token, nil).WantProblem(403, "forbidden")
}

// TestUsers_Leaving withdraws the invitations and the requests of a founder who is removed, demoted or disabled.
func TestUsers_Leaving(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, method string
		body         any
	}{{"removed", "DELETE", nil}, {"demoted", "PATCH", object{"role": "operator"}}, {"disabled", "PATCH", object{"disabled": true}}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := office(t)
			gus := joined(t, h, "gus@acme.test", user.Founder)
			olga := h.UserToken(h.A.ID, joined(t, h, "olga@acme.test", user.Operator).ID, user.Operator)
			held := h.UserToken(h.A.ID, gus.ID, user.Founder)
			asked, stays := erases(h, held), erases(h, h.A.Token)
			var invited, other operations.InvitedUser
			invite(h, held, object{"email": "eve@acme.test", "role": "operator"}).Want(201).JSON(&invited)
			invite(h, h.A.Token, object{"email": "mia@acme.test", "role": "member"}).Want(201).JSON(&other)
			if got := h.Do(tt.method, path(h, "/users/"+gus.ID), h.A.Token, tt.body).Status; got >= 300 {
				t.Fatalf("status = %d, want a success", got)
			}
			if got := stateOf(h, asked); got != approval.Withdrawn {
				t.Errorf("the request of the one who left is %s, want withdrawn", got)
			}
			h.Do("POST", asked+"/approve", olga, nil).WantProblem(409, "approval-decided")
			if got := stateOf(h, stays); got != approval.Pending {
				t.Errorf("the request of another founder is %s, want pending", got)
			}
			h.Do("GET", path(h, "/users/"+invited.ID), h.A.Token, nil).WantProblem(404, "not-found")
			h.Do("GET", path(h, "/users/"+other.ID), h.A.Token, nil).Want(200)
			if _, err := accept(t, h, invited.InvitationToken); fault.KindOf(err) != fault.Unauthenticated {
				t.Errorf("the invitation of the one who left is accepted with %v, want %v", err, fault.Unauthenticated)
			}
			_, err := accept(t, h, other.InvitationToken)
			errtest.Must(t, err)
			is, _, err := tenant.Get(t.Context(), store.For(h.Store, h.A.ID))
			errtest.Must(t, err)
			if len(is.Awaited) > 0 {
				t.Errorf("awaited operators = %v, want none", is.Awaited)
			}
		})
	}
}

func accept(t *testing.T, h *webtest.Harness, token string) (user.Login, error) {
	t.Helper()
	invitation, err := tenant.OpenInvitation(t.Context(), h.Store, token)
	if err != nil {
		return user.Login{}, err
	}
	_, login, err := invitation.Accept(t.Context(), h.Store, h.Hasher, nil, tenant.Consent{Password: password}, time.Now())
	return login, err
}

// TestUsers_LeavingLater refuses what a founder began whose end a crash or a limit kept from being withdrawn.
func TestUsers_LeavingLater(t *testing.T) {
	t.Parallel()
	h := office(t)
	gus := joined(t, h, "gus@acme.test", user.Founder)
	olga := h.UserToken(h.A.ID, joined(t, h, "olga@acme.test", user.Operator).ID, user.Operator)
	held := h.UserToken(h.A.ID, gus.ID, user.Founder)
	asked := erases(h, held)
	var invited operations.InvitedUser
	invite(h, held, object{"email": "eve@acme.test", "role": "founder"}).Want(201).JSON(&invited)
	c := store.For(h.Store, h.A.ID)
	_, version, err := tenant.GetUser(t.Context(), c, gus.ID)
	errtest.Must(t, err)
	gus.Role, gus.Since = user.Operator, time.Now()
	errtest.Must(t, c.Commit(t.Context(), c.Replace(user.Key(gus.ID), user.Entity, version, gus).Quietly()))
	h.Do("POST", asked+"/approve", olga, nil).WantProblem(409, "conflict")
	if _, err := accept(t, h, invited.InvitationToken); fault.KindOf(err) != fault.Unauthenticated {
		t.Errorf("the invitation is accepted with %v, want %v", err, fault.Unauthenticated)
	}
	h.Do("POST", asked+"/reject", olga, nil).Want(200)
}
