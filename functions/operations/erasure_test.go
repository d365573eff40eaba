package operations_test

import (
	"testing"
	"time"

	"orgops/shared/domain/approval"
	tenant "orgops/shared/domain/company"
	"orgops/shared/domain/erasure"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
	"orgops/shared/storage/vault"
	"orgops/shared/testkit/errtest"
)

// TestErasure asks for an erasure as a founder. The founder cannot approve it; an operator can. The company is suspended at once,
// and nothing of it can be read when it is erased.
func TestErasure(t *testing.T) {
	t.Parallel()
	h := office(t)
	operator, _ := join(t, h, "olga@acme.test", user.Operator)
	olga := h.UserToken(h.A.ID, operator.ID, user.Operator)
	h.Do("POST", path(h, "/erasure"), olga, object{"name": "Acme"}).WantProblem(403, "forbidden")
	h.Do("POST", path(h, "/erasure"), h.A.Token, object{"name": "Beta"}).WantProblem(422, "invalid")
	ask := func() approval.Approval {
		t.Helper()
		var asked struct{ Approval approval.Approval }
		h.Do("POST", path(h, "/erasure"), h.A.Token, object{"name": "Acme"}).Want(202).JSON(&asked)
		return asked.Approval
	}
	asked := ask()
	if again := ask(); again.ID != asked.ID {
		t.Errorf("a second request has the approval %s, want that of the first, %s", again.ID, asked.ID)
	}
	approve := path(h, "/approvals/"+asked.ID+"/approve")
	h.Do("POST", approve, h.A.Token, nil).WantProblem(403, "forbidden")
	h.Do("POST", approve, olga, nil).Want(200)
	h.Forget()
	h.Do("GET", path(h, "/users"), h.A.Token, nil).Want(200)
	h.Do("POST", path(h, "/users"), h.A.Token, object{"email": "x@acme.test", "role": "member"}).WantProblem(403, "suspended")

	eraser := erasure.Eraser{Store: h.Store, Keys: vault.StoreKeys{Store: h.Store}, Now: time.Now}
	if _, done, err := eraser.Run(t.Context(), h.A.ID, time.Now().Add(time.Minute)); !done {
		t.Fatalf("not erased: %v", err)
	}
	h.Forget()
	h.Do("GET", path(h, "/users"), h.A.Token, nil).WantProblem(401, "unauthenticated")
	if _, _, err := tenant.Get(t.Context(), store.For(h.Store, h.A.ID)); err == nil {
		t.Error("the company is there, want it removed")
	}
}

// TestErasure_Rejected keeps the company, and refuses another request for the rest of the day.
func TestErasure_Rejected(t *testing.T) {
	t.Parallel()
	h := office(t)
	operator, _ := join(t, h, "olga@acme.test", user.Operator)
	var asked struct{ Approval approval.Approval }
	h.Do("POST", path(h, "/erasure"), h.A.Token, object{"name": "Acme"}).Want(202).JSON(&asked)
	h.Do("POST", path(h, "/approvals/"+asked.Approval.ID+"/reject"), h.UserToken(h.A.ID, operator.ID, user.Operator), nil).Want(200)
	h.Do("POST", path(h, "/erasure"), h.A.Token, object{"name": "Acme"}).WantProblem(409, "conflict")
	is, _, err := tenant.Get(t.Context(), store.For(h.Store, h.A.ID))
	errtest.Must(t, err)
	if is.Erasing != nil {
		t.Errorf("erasing since %v, want the company kept", is.Erasing)
	}
	h.Do("PATCH", path(h, "/users/"+h.A.UserID), h.A.Token, object{"name": "Ada"}).Want(200)
}

// TestErasure_Unreadable does not tell a founder whose record cannot be read that only founders may ask.
func TestErasure_Unreadable(t *testing.T) {
	t.Parallel()
	h := office(t)
	c := store.For(h.Store, h.A.ID)
	item, err := c.Get(t.Context(), user.Key(h.A.UserID), nil)
	errtest.Must(t, err)
	errtest.Must(t, c.Commit(t.Context(), c.Replace(item.Key, item.Entity, item.Version, "damaged").Quietly()))
	h.Do("POST", path(h, "/erasure"), h.A.Token, object{"name": "Acme"}).WantProblem(500, "internal")
}
