package intake_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/base/id"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/domain/policy"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/intake"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
)

// at returns an action of a time of the provider's: some minutes after a past one, or 0 for an unknown time.
func at(a connector.Action, minute int) connector.Action {
	when := now.Add(-time.Hour).Add(time.Duration(minute) * time.Minute)
	switch {
	case minute == 0:
	case a.Memory != nil:
		a.Memory.UpdatedAt = &when
	case a.Goal != nil:
		a.Goal.UpdatedAt = &when
	}
	return a
}

func called(title string) connector.Action {
	return connector.Action{Port: integration.GoalUpdate, Goal: &goal.Draft{ExternalID: "g", Title: title, State: goal.Open}}
}

// permits implements an engine that permits everything. Each decision has an id of its own.
type permits struct{}

func (permits) Decide(ctx context.Context, company store.Company, r policy.Request) (policy.Decision, error) {
	d, err := verdict(policy.Permitted).Decide(ctx, company, r)
	d.ID = id.New()
	return d, err
}

// carryOut plans the actions of one arrival and commits their writes together.
func carryOut(t *testing.T, p *intake.Planner, actions ...connector.Action) (outcomes []intake.Outcome) {
	t.Helper()
	planned, err := p.PlanAll(t.Context(), actions)
	errtest.Must(t, err)
	var ops []store.Op
	for _, one := range planned {
		outcomes, ops = append(outcomes, one.Outcome), append(ops, one.Ops...)
	}
	if len(ops) > 0 {
		errtest.Must(t, p.Company.Commit(t.Context(), ops...))
	}
	return outcomes
}

// TestPlanner_PlanAll_Order ends with the latest state of an item in any order of the arrivals, alone or together.
func TestPlanner_PlanAll_Order(t *testing.T) {
	t.Parallel()
	type state struct {
		title  string
		minute int
	}
	tests := []struct {
		name     string
		arrivals [][]state
		want     string
	}{
		{"a late change between two equal states", [][]state{{{"x", 1}}, {{"x", 3}}, {{"y", 2}}}, "x"},
		{"the newer one first", [][]state{{{"new", 3}, {"old", 1}}}, "new"},
		{"the newer one first, between them what is stored", [][]state{{{"stored", 2}}, {{"new", 3}, {"old", 1}}}, "new"},
		{"back to what is stored", [][]state{{{"x", 1}}, {{"y", 2}, {"x", 3}}}, "x"},
		{"back to what is stored, the newer one first", [][]state{{{"x", 1}}, {{"x", 3}, {"y", 2}}}, "x"},
		{"three", [][]state{{{"b", 2}, {"c", 3}, {"a", 1}}}, "c"},
		{"without times", [][]state{{{"x", 0}}, {{"y", 0}, {"x", 0}}}, "x"},
		{"of one time", [][]state{{{"x", 1}, {"y", 1}}}, "y"},
		{"an old one after one without a time", [][]state{{{"x", 2}}, {{"y", 0}, {"x", 1}}}, "y"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := planner(t, permits{})
			for _, arrival := range tt.arrivals {
				var actions []connector.Action
				for _, s := range arrival {
					actions = append(actions, at(upsert(s.title), s.minute), at(called(s.title), s.minute))
				}
				carryOut(t, p, actions...)
			}
			var m memory.Memory
			_, err := p.Company.Get(t.Context(), p.Key(upsert("")), &m)
			errtest.Must(t, err)
			var g goal.Goal
			_, err = p.Company.Get(t.Context(), p.Key(called("")), &g)
			errtest.Must(t, err)
			if diff := cmp.Diff([]string{tt.want, tt.want}, []string{m.Title, g.Title}); diff != "" {
				t.Errorf("titles of the memory and the goal differ (-want +got):\n%s", diff)
			}
		})
	}
}

// TestPlanner_PlanAll_Later stores a later time of the same content without a change in the feed, and the same time not at all.
func TestPlanner_PlanAll_Later(t *testing.T) {
	t.Parallel()
	p := planner(t, permits{})
	carryOut(t, p, at(upsert("x"), 1), at(due(0.1), 1))
	for _, tt := range []struct{ minute, quiet, timers int }{{1, 0, 0}, {2, 2, 1}, {2, 0, 0}} {
		planned, err := p.PlanAll(t.Context(), []connector.Action{at(upsert("x"), tt.minute), at(due(0.1), tt.minute)})
		errtest.Must(t, err)
		quiet, timers := 0, 0
		for _, one := range planned {
			if one.Outcome != intake.Unchanged {
				t.Errorf("minute %d: outcome = %s, want %s", tt.minute, one.Outcome, intake.Unchanged)
			}
			for _, op := range one.Ops {
				if op.Entity == "timer" { // that of the former version starts no other
					timers++
				} else if op.Quiet {
					quiet++
				}
			}
			if len(one.Ops) > 0 {
				errtest.Must(t, p.Company.Commit(t.Context(), one.Ops...))
			}
		}
		if diff := cmp.Diff([]int{tt.quiet, tt.timers}, []int{quiet, timers}); diff != "" {
			t.Errorf("minute %d: quiet writes and timers differ (-want +got):\n%s", tt.minute, diff)
		}
	}
}

func once(of string) connector.Action {
	return connector.Action{Port: integration.TimelineNote, Note: &connector.NoteDraft{Title: "Deployed", Once: of}}
}

// TestPlanner_PlanAll_Once notes once what an arrival notes twice, for each incarnation of the integration.
func TestPlanner_PlanAll_Once(t *testing.T) {
	t.Parallel()
	p := planner(t, permits{})
	first := []intake.Outcome{intake.Created, intake.Unchanged, intake.Created}
	again := []intake.Outcome{intake.Unchanged, intake.Unchanged, intake.Unchanged}
	for _, tt := range []struct {
		incarnation string
		want        []intake.Outcome
	}{{"", first}, {"", again}, {"next", first}, {"next", again}} {
		p.Integration.Incarnation = tt.incarnation
		got := carryOut(t, p, once("deploy-1"), once("deploy-1"), once("deploy-2"))
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("outcomes in incarnation %q differ (-want +got):\n%s", tt.incarnation, diff)
		}
	}
}
