package goal_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/goal"
)

func measured(m goal.Measure) goal.Draft {
	return goal.Draft{ExternalID: "m", Title: "MRR", State: goal.Open, DueAt: due(100), StartedAt: due(0), Measure: &m}
}

// TestMeasure_Progress gives the share of the way, whichever way the number must go.
func TestMeasure_Progress(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		m    goal.Measure
		want float64
	}{
		"half way up":                {goal.Measure{Start: "30000", Current: "40000", Target: "50000", Unit: "EUR", Direction: goal.Up}, 0.5},
		"below the start":            {goal.Measure{Start: "30000", Current: "20000", Target: "50000", Unit: "EUR", Direction: goal.Up}, 0},
		"beyond the target":          {goal.Measure{Start: "30000", Current: "60000.01", Target: "50000", Unit: "EUR", Direction: goal.Up}, 1},
		"half way down":              {goal.Measure{Start: "10", Current: "7.5", Target: "5", Unit: "%", Direction: goal.Down}, 0.5},
		"beyond the target, down":    {goal.Measure{Start: "10", Current: "-1", Target: "5", Unit: "%", Direction: goal.Down}, 1},
		"no start and no value":      {goal.Measure{Target: "10", Unit: "users", Direction: goal.Up}, 0},
		"a value alone":              {goal.Measure{Current: "8", Target: "10", Unit: "users", Direction: goal.Up}, 0},
		"reached when it is made":    {goal.Measure{Current: "12", Target: "10", Unit: "users", Direction: goal.Up}, 1},
		"more digits than a float64": {goal.Measure{Start: "0", Current: "900719925474099.3", Target: "900719925474099.3", Unit: "x", Direction: goal.Up}, 1},
	} {
		g, _ := goal.Apply(goal.Goal{}, goal.Own, measured(tt.m), day(0))
		if g.Progress != tt.want {
			t.Errorf("%s: progress %v, want %v", name, g.Progress, tt.want)
		}
	}
}

// TestMeasure_Update keeps the start of the stored goal, and what an update leaves out.
func TestMeasure_Update(t *testing.T) {
	t.Parallel()
	first, _ := goal.Apply(goal.Goal{}, "webhook", measured(goal.Measure{Current: "30000", Target: "50000", Unit: "EUR", Direction: goal.Up}), day(0))
	next, _ := goal.Apply(first, "webhook", measured(goal.Measure{Current: "45000", Target: "50000", Unit: "EUR", Direction: goal.Up}), day(80))
	want := &goal.Measure{Start: "30000", Current: "45000", Target: "50000", Unit: "EUR", Direction: goal.Up, ObservedAt: day(80)}
	if diff := cmp.Diff(want, next.Measure); diff != "" {
		t.Errorf("the measure differs (-want +got):\n%s", diff)
	}
	if got, want := next.Alignment.Reasons[0], "45,000 of 50,000 EUR, 5 days behind, due on 2026-04-11"; got != want {
		t.Errorf("reason %q, want %q", got, want)
	}
	if _, changed := goal.Apply(next, "webhook", measured(goal.Measure{Current: "45000", Target: "50000", Unit: "EUR", Direction: goal.Up}), day(90)); changed {
		t.Error("the same value changes the goal, want no change")
	}
	unmeasured := measured(goal.Measure{})
	unmeasured.Measure = nil
	if kept, _ := goal.Apply(next, "webhook", unmeasured, day(91)); kept.Measure == nil {
		t.Error("a draft without a measure removes it, want it kept")
	}
}

func TestMeasure_Check(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		m    goal.Measure
		want []string
	}{
		"good":                   {goal.Measure{Current: "1", Target: "2", Unit: "x", Direction: goal.Up}, nil},
		"nothing":                {goal.Measure{}, []string{"/m/target", "/m/unit", "/m/direction"}},
		"no numbers":             {goal.Measure{Current: "1e5", Target: "50,000", Start: "NaN", Unit: "x", Direction: goal.Up}, []string{"/m/current", "/m/target", "/m/start"}},
		"the target is start":    {goal.Measure{Target: "2.0", Start: "2", Unit: "x", Direction: goal.Up}, []string{"/m/target"}},
		"the wrong way":          {goal.Measure{Target: "2", Start: "1", Unit: "x", Direction: goal.Down}, []string{"/m/direction"}},
		"another way":            {goal.Measure{Target: "2", Start: "1", Unit: "x", Direction: "sideways"}, []string{"/m/direction"}},
		"too many digits":        {goal.Measure{Target: "1234567890123456789", Unit: "x", Direction: goal.Up}, []string{"/m/target"}},
		"a unit that is a space": {goal.Measure{Target: "2", Unit: " ", Direction: goal.Up}, []string{"/m/unit"}},
	} {
		var got []string
		for _, p := range tt.m.Check("/m") {
			got = append(got, p.Pointer)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: problems differ (-want +got):\n%s", name, diff)
		}
	}
}
