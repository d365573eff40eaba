package operations_test

import (
	"testing"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/domain/suspension"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
)

// TestSuspended lets the users of a suspended company read, and refuses their writes. Another company goes on.
func TestSuspended(t *testing.T) {
	t.Parallel()
	h := office(t)
	c := store.For(h.Store, h.A.ID)
	founder := "/companies/" + h.A.ID + "/operations/users/" + h.A.UserID
	h.Do("PATCH", founder, h.A.Token, object{"name": "Ada"}).Want(200)
	var invited struct{ InvitationToken string }
	invite(h, h.A.Token, object{"email": "mia@acme.test", "role": "member"}).Want(201).JSON(&invited)
	_, err := suspension.Suspend(t.Context(), c, "unpaid", time.Now())
	errtest.Must(t, err)
	h.Forget()
	h.Do("GET", path(h, "/users"), h.A.Token, nil).Want(200)
	h.Do("HEAD", path(h, "/users"), h.A.Token, nil).Want(200)
	h.Do("PATCH", founder, h.A.Token, object{"name": "A"}).WantProblem(403, "suspended")
	h.Do("PATCH", founder, h.Token(h.A.ID, "operations:read"), object{"name": "A"}).WantProblem(403, "insufficient-scope")
	_, err = accept(t, h, invited.InvitationToken)
	if got := fault.KindOf(err); got != fault.Suspended {
		t.Errorf("an invitation is accepted with %v, want %v", got, fault.Suspended)
	}
	h.Do("PATCH", "/companies/"+h.B.ID+"/operations/users/"+h.B.UserID, h.B.Token, object{"name": "Bob"}).Want(200)
	_, err = suspension.Resume(t.Context(), c, time.Now())
	errtest.Must(t, err)
	h.Forget()
	h.Do("PATCH", founder, h.A.Token, object{"name": "A"}).Want(200)
}
