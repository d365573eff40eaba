package executives_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/functions/executives"
	"orgops/shared/domain/executive"
	"orgops/shared/domain/finding"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
)

// results returns the outcome of each check.
func results(r executives.ExecutiveReport) map[string]finding.Status {
	all := map[string]finding.Status{}
	for _, c := range r.Checks {
		all[c.ID] = c.Status
	}
	return all
}

func passes() map[string]finding.Status {
	return map[string]finding.Status{
		"declares-actions": finding.Pass, "refuses-undeclared-actions": finding.Pass, "owner-active": finding.Pass, "daily-quota": finding.Pass,
	}
}

func TestCertify(t *testing.T) {
	t.Parallel()
	s := setup(t)
	tests := []struct {
		name string
		edit func(d *executive.Draft)
		fail string // the check
	}{
		{"some actions", func(*executive.Draft) {}, ""},
		{"every action", func(d *executive.Draft) { d.Actions = executive.Actions() }, ""},
		{"no action", func(d *executive.Draft) { d.Actions = []executive.Action{} }, "declares-actions"},
		{"the default quota", func(d *executive.Draft) { d.QuotaPerDay = 0 }, ""},
		{"no such owner", func(d *executive.Draft) { d.Owner = "nobody" }, "owner-active"},
	}
	for _, tt := range tests {
		d := s.draft(executive.TimelineNote)
		d.Name = tt.name
		tt.edit(&d)
		path := "/" + executive.IDOf(d.Name)
		s.do("POST", "", d).Want(201)
		s.do("GET", path+"/certification", nil).WantProblem(404, "not-found")
		want, state := passes(), executive.Certified
		if tt.fail != "" {
			want[tt.fail], state = finding.Fail, executive.Sandbox
		}
		var run, last executives.ExecutiveReport
		s.do("POST", path+"/certification", nil).Want(200).JSON(&run)
		if diff := cmp.Diff(want, results(run)); diff != "" {
			t.Errorf("%s: results differ (-want +got):\n%s", tt.name, diff)
		}
		if run.State != state {
			t.Errorf("%s: state = %s, want %s", tt.name, run.State, state)
		}
		s.do("GET", path+"/certification", nil).Want(200).JSON(&last)
		if diff := cmp.Diff(run, last); diff != "" {
			t.Errorf("%s: last report differs (-run +last):\n%s", tt.name, diff)
		}
		for _, c := range run.Checks {
			if c.Status == finding.Fail && c.Remedy.Href != s.at("") {
				t.Errorf("%s: remedy = %+v, want one at %s", tt.name, c.Remedy, s.at(""))
			}
		}
	}
}

// A certification ends after 90 days, and when the executive is changed.
func TestCertify_Ends(t *testing.T) {
	t.Parallel()
	s := setup(t)
	d := s.draft(executive.TimelineNote)
	s.certified(d)
	state := func(want executive.State) {
		t.Helper()
		var got executives.Executive
		s.do("GET", "/"+executive.IDOf(d.Name), nil).Want(200).JSON(&got)
		if got.State != want {
			t.Errorf("state = %s, want %s", got.State, want)
		}
	}
	s.do("POST", "", d).Want(200)
	state(executive.Certified)
	d.Actions = append(d.Actions, executive.MemorySync)
	s.do("POST", "", d).Want(200)
	state(executive.Sandbox)
	s.do("POST", "/"+executive.IDOf(d.Name)+"/certification", nil).Want(200)
	state(executive.Certified)
	s.clock.Advance(executive.CertifiedFor)
	state(executive.Sandbox)
}

// permits implements an engine that permits everything.
type permits struct{}

func (permits) Decide(_ context.Context, _ store.Company, r policy.Request) (policy.Decision, error) {
	return policy.Decision{ID: "d", Verdict: policy.Permitted, Principal: r.Principal, Action: r.Action, Resource: r.Resource}, nil
}

// An executive stays in the sandbox if the policies would permit what it does not declare.
func TestCertify_Permissive(t *testing.T) {
	t.Parallel()
	s := setupWith(t, permits{})
	d := s.draft(executive.TimelineNote)
	s.do("POST", "", d).Want(201)
	var run executives.ExecutiveReport
	s.do("POST", "/"+executive.IDOf(d.Name)+"/certification", nil).Want(200).JSON(&run)
	want := passes()
	want["refuses-undeclared-actions"] = finding.Fail
	if diff := cmp.Diff(want, results(run)); diff != "" {
		t.Errorf("results differ (-want +got):\n%s", diff)
	}
}

// An executive whose owner was disabled is denied what it asks for, even while it is certified.
func TestCertify_OwnerDisabled(t *testing.T) {
	t.Parallel()
	s := setup(t)
	owner := user.User{ID: "owner", Email: "cy@acme.test", Role: user.Member, State: user.Active, CreatedAt: time.Now()}
	errtest.Must(t, s.company().Commit(t.Context(), s.company().Create(user.Key(owner.ID), user.Entity, owner)))
	d := s.draft(executive.TimelineNote)
	d.Owner = owner.ID
	path := s.certified(d)
	s.asked(path, "1", executive.TimelineNote, map[string]any{"title": "Moved"}).Want(202)
	owner.State = user.Disabled
	errtest.Must(t, s.company().Commit(t.Context(), s.company().Replace(user.Key(owner.ID), user.Entity, 1, owner)))
	s.asked(path, "2", executive.TimelineNote, map[string]any{"title": "Moved"}).WantProblem(403, "denied-by-policy")
}
