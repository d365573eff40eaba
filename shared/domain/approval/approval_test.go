package approval_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/approval"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/timeline"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
)

// desk holds a company's approvals of one action.
type desk struct {
	t   *testing.T
	c   store.Company
	now time.Time
}

func setup(t *testing.T) *desk {
	t.Helper()
	return &desk{t, store.For(webtest.OpenStore(t), "a"), time.Now().UTC().Truncate(time.Millisecond)}
}

func (d *desk) request(decision string) approval.Approval {
	d.t.Helper()
	made := policy.Decision{
		ID: decision, At: d.now, ActionDigest: "digest", Principal: timeline.Reference{Type: "integration", ID: "github"}, Action: "goal.update",
		Policies: []string{"closing"}, Reasons: []string{"agree"},
	}
	a := approval.New(made, json.RawMessage(`{"goal":{}}`), "Ship", made.Principal)
	_, version := d.mark()
	errtest.Must(d.t, d.c.Commit(d.t.Context(), a.Request(d.c, version)...))
	return a
}

func (d *desk) mark() (approval.Mark, int64) {
	d.t.Helper()
	m, version, err := approval.FindMark(d.t.Context(), d.c, "digest")
	errtest.Must(d.t, err)
	return m, version
}

// holds checks whether the mark of an approval stands for a further request at a time.
func (d *desk) holds(after time.Duration, want bool) {
	d.t.Helper()
	m, _ := d.mark()
	if got := m.Holds(d.now.Add(after)); got != want {
		d.t.Errorf("mark %+v holds after %v: %t, want %t", m, after, got, want)
	}
}

func (d *desk) end(a approval.Approval, s approval.State) {
	d.t.Helper()
	ops, err := a.End(s, approval.Answer{At: d.now}).Settle(d.t.Context(), d.c, 1)
	errtest.Must(d.t, err)
	errtest.Must(d.t, d.c.Commit(d.t.Context(), ops...))
}

func (d *desk) want(want approval.Approval) {
	d.t.Helper()
	var got approval.Approval
	_, err := d.c.Get(d.t.Context(), approval.Key(want.ID), &got)
	errtest.Must(d.t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		d.t.Errorf("stored approval differs (-want +got):\n%s", diff)
	}
}

// While an approval waits, its action needs no second one. After a rejection the same holds until it would have expired.
func TestApproval_Settle(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.holds(0, false)
	a := d.request("1")
	d.want(a)
	d.holds(approval.Waits-1, true)
	d.holds(approval.Waits, false)
	d.end(a, approval.Approved)
	d.holds(0, false)
	b := d.request("2")
	d.end(b, approval.Rejected)
	d.holds(approval.Waits-1, true)
	if m, _ := d.mark(); m.State != approval.Rejected {
		t.Errorf("state of the mark = %s, want %s", m.State, approval.Rejected)
	}
}

// The end of an approval leaves the mark of a later one.
func TestApproval_Settle_Later(t *testing.T) {
	t.Parallel()
	d := setup(t)
	a, b := d.request("1"), d.request("2")
	d.end(a, approval.Expired)
	if m, _ := d.mark(); m.ID != b.ID {
		t.Errorf("mark of approval %s, want of the later one, %s", m.ID, b.ID)
	}
}

// Two requests for one action at once store one approval.
func TestApproval_Request_Conflict(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.request("1")
	second := approval.New(policy.Decision{ID: "2", At: d.now, ActionDigest: "digest"}, json.RawMessage(`{}`), "", timeline.Reference{})
	if err := d.c.Commit(t.Context(), second.Request(d.c, 0)...); !errors.Is(err, store.ErrConflict) {
		t.Errorf("err = %v, want %v", err, store.ErrConflict)
	}
}

func TestExpire(t *testing.T) {
	t.Parallel()
	d := setup(t)
	a := d.request("1")
	expire := func(id string, at time.Time) []store.Op {
		ops, err := approval.Expire(t.Context(), d.c, id, at)
		errtest.Must(t, err)
		return ops
	}
	if ops := expire(a.ID, a.ExpiresAt.Add(-1)); ops != nil {
		t.Errorf("before its time: ops = %+v, want none", ops)
	}
	if ops := expire("unknown", a.ExpiresAt); ops != nil {
		t.Errorf("an unknown approval: ops = %+v, want none", ops)
	}
	errtest.Must(t, d.c.Commit(t.Context(), expire(a.ID, a.ExpiresAt)...))
	d.want(a.End(approval.Expired, approval.Answer{At: a.ExpiresAt, By: timeline.Reference{Type: "system", ID: "orgops"}}))
	d.holds(0, false)
	if ops := expire(a.ID, a.ExpiresAt); ops != nil {
		t.Errorf("a second time: ops = %+v, want none", ops)
	}
}

// An approval counts as expired from its time on, even if the timer is late.
func TestApproval_AsOf(t *testing.T) {
	t.Parallel()
	a := approval.Approval{State: approval.Pending, ExpiresAt: time.Unix(100, 0)}
	for at, want := range map[int64]approval.State{99: approval.Pending, 100: approval.Expired} {
		if got := a.AsOf(time.Unix(at, 0)).State; got != want {
			t.Errorf("state at %d = %s, want %s", at, got, want)
		}
	}
	a.State = approval.Approved
	if got := a.AsOf(time.Unix(200, 0)).State; got != approval.Approved {
		t.Errorf("state of a decided approval = %s, want %s", got, approval.Approved)
	}
}
