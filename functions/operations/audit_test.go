package operations_test

import (
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/functions/operations"
	"orgops/shared/domain/audit"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
)

// records lists the audit records that a query finds, as "operation resource outcome".
func records(h *webtest.Harness, query string) (all []string) {
	for _, r := range recorded(h, query) {
		all = append(all, r.Operation+" "+r.Resource+" "+r.Outcome)
	}
	return all
}

func recorded(h *webtest.Harness, query string) []audit.Record {
	var page struct{ Items []audit.Record }
	h.Do("GET", path(h, "/audit"+query), h.A.Token, nil).Want(200).JSON(&page)
	return page.Items
}

// TestAudit records changes and refusals with their actor, and reads not at all.
func TestAudit(t *testing.T) {
	t.Parallel()
	h := office(t)
	founder := h.UserToken(h.A.ID, h.A.UserID, user.Founder)
	var invited operations.InvitedUser
	answer := invite(h, founder, object{"email": "mia@acme.test", "role": "member"}).Want(201).JSON(&invited)
	h.Do("GET", path(h, "/users"), founder, nil).Want(200)
	invite(h, founder, object{"email": "no", "role": "member"}).Want(422)
	invite(h, h.UserToken(h.A.ID, h.A.UserID, user.Member), object{"email": "a@b.test", "role": "member"}).Want(403)
	h.Do("DELETE", path(h, "/users/"+h.A.UserID), founder, nil).Want(409)
	h.Do("DELETE", "/companies/"+h.B.ID+"/operations/users/x", founder, nil).Want(403)
	h.Do("DELETE", path(h, "/users/x"), "", nil).Want(401)

	want := []string{
		"remove-user operations/users/x denied",
		"remove-user operations/users/" + h.A.UserID + " failure",
		"invite-user operations/users denied",
		"invite-user operations/users failure",
		"invite-user operations/users/" + invited.ID + " success",
	}
	got := records(h, "")
	slices.Sort(want) // records of one millisecond have no order
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	claims, err := h.Verifier.Verify(founder)
	errtest.Must(t, err)
	first := recorded(h, "?outcome=success")[0]
	wanted := audit.Record{
		ID: first.ID, At: first.At, Actor: audit.Actor{UserID: h.A.UserID, Role: "founder", TokenID: claims.ID}, Operation: "invite-user",
		Resource: "operations/users/" + invited.ID, Outcome: "success", RequestID: answer.Header.Get("X-Request-Id"), Network: "192.0.2.0/24",
	}
	if diff := cmp.Diff(wanted, first); diff != "" {
		t.Errorf("record (-want +got):\n%s", diff)
	}
	if got := recorded(h, "?outcome=failure&operation=remove-user")[0].Status; got != 409 {
		t.Errorf("status of the failure = %d, want 409", got)
	}
	var foreign struct{ Items []audit.Record }
	h.Do("GET", "/companies/"+h.B.ID+"/operations/audit", h.B.Token, nil).Want(200).JSON(&foreign)
	if len(foreign.Items) != 0 {
		t.Errorf("the other company has the records %+v, want none", foreign.Items)
	}
}

// TestAudit_Filters pages through records that a filter keeps.
func TestAudit_Filters(t *testing.T) {
	t.Parallel()
	h := office(t)
	c := store.For(h.Store, h.A.ID)
	begin := time.Now().UTC().Truncate(time.Second).Add(-time.Hour)
	for n, r := range []audit.Record{
		{Actor: audit.Actor{UserID: "ada"}, Operation: "sync-memory", Outcome: "success"},
		{Actor: audit.Actor{UserID: "bob"}, Operation: "sync-memory", Outcome: "denied"},
		{Actor: audit.Actor{UserID: "ada"}, Operation: "update-user", Outcome: "failure"},
	} {
		r.At, r.Resource = begin.Add(time.Duration(n)*time.Minute), "x"
		errtest.Must(t, c.Commit(t.Context(), audit.Write(c, r, 1)))
	}
	at := func(n int) string {
		return url.QueryEscape(begin.Add(time.Duration(n) * time.Minute).Format(time.RFC3339))
	}
	for query, want := range map[string][]string{
		"?actor=ada":             {"update-user x failure", "sync-memory x success"},
		"?operation=sync-memory": {"sync-memory x denied", "sync-memory x success"},
		"?outcome=denied":        {"sync-memory x denied"},
		"?since=" + at(2):        {"update-user x failure"},
		"?until=" + at(0):        {"sync-memory x success"},
		"?since=" + at(1) + "&until=" + at(1) + "&limit=1": {"sync-memory x denied"},
	} {
		if diff := cmp.Diff(want, records(h, query)); diff != "" {
			t.Errorf("records of %s (-want +got):\n%s", query, diff)
		}
	}
	h.Do("GET", path(h, "/audit?since="+at(1)+"&until="+at(0)), h.A.Token, nil).WantProblem(422, "invalid")
	h.Do("GET", path(h, "/audit?outcome=maybe"), h.A.Token, nil).WantProblem(422, "invalid")
	var page struct{ NextCursor string }
	h.Do("GET", path(h, "/audit?limit=2"), h.A.Token, nil).Want(200).JSON(&page)
	if got := records(h, "?limit=2&cursor="+page.NextCursor); !cmp.Equal(got, []string{"sync-memory x success"}) {
		t.Errorf("second page = %q, want the oldest record", got)
	}
}

// TestAudit_Bounded refuses a caller 30 times: the caller gets ten records, and the next record says how many are missing.
func TestAudit_Bounded(t *testing.T) {
	t.Parallel()
	h := office(t)
	member := h.UserToken(h.A.ID, h.A.UserID, user.Member)
	for range 30 {
		invite(h, member, object{"email": "a@b.test", "role": "member"}).Want(403)
	}
	if got := len(recorded(h, "")); got != 10 {
		t.Errorf("%d records of 30 refusals, want 10", got)
	}
}

// TestAudit_Append checks that a record cannot be written twice, and that it expires after 400 days.
func TestAudit_Append(t *testing.T) {
	t.Parallel()
	h := office(t)
	c, now := store.For(h.Store, h.A.ID), time.Now()
	op := audit.Write(c, audit.Record{At: now, RequestID: "r", Operation: "o", Outcome: "success"}, 1)
	errtest.Must(t, c.Commit(t.Context(), op))
	if err := c.Commit(t.Context(), op); err == nil {
		t.Error("a record was overwritten")
	}
	if got, want := op.Expires.Sub(now).Round(time.Hour), 400*24*time.Hour; got != want {
		t.Errorf("a record is kept for %s, want %s", got, want)
	}
}
