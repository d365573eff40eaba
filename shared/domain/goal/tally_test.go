package goal_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/goal"
)

// TestTally adds up the values of records exactly, and says why there is no number.
func TestTally(t *testing.T) {
	t.Parallel()
	type result struct{ Value, Problem string }
	for name, tt := range map[string]struct {
		source goal.Source
		values string
		want   result
	}{
		"sum, where floats drift":   {goal.Source{Aggregate: goal.Sum}, `[0.1,0.2,"0.3",null]`, result{Value: "0.6"}},
		"sum of cents":              {goal.Source{Aggregate: goal.Sum, Factor: "0.01"}, `[2060000,2060050]`, result{Value: "41200.5"}},
		"sum of nothing":            {goal.Source{Aggregate: goal.Sum}, `[]`, result{Value: "0"}},
		"sum of large numbers":      {goal.Source{Aggregate: goal.Sum}, `[9007199254740993,1]`, result{Value: "9007199254740994"}},
		"count":                     {goal.Source{Aggregate: goal.Count}, `[{"a":1},null,"x",0]`, result{Value: "3"}},
		"count of nothing":          {goal.Source{Aggregate: goal.Count}, `[]`, result{Value: "0"}},
		"last":                      {goal.Source{Aggregate: goal.Last}, `[1,-2.50,""]`, result{Value: "-2.5"}},
		"min":                       {goal.Source{Aggregate: goal.Min}, `[3,-1e2,7]`, result{Value: "-100"}},
		"max":                       {goal.Source{Aggregate: goal.Max}, `[3,-1,7,6.99]`, result{Value: "7"}},
		"avg, rounded at the end":   {goal.Source{Aggregate: goal.Avg}, `[1,1,0]`, result{Value: "0.666666667"}},
		"a number that is nearly 0": {goal.Source{Aggregate: goal.Last}, `[-1e-20]`, result{Value: "0"}},
		"avg of nothing":            {goal.Source{Aggregate: goal.Avg}, `[]`, result{Problem: "the list rows is empty"}},
		"no number":                 {goal.Source{Aggregate: goal.Sum}, `[1,"much"]`, result{Problem: "1 of 2 records of rows have no number at /n"}},
		"an object":                 {goal.Source{Aggregate: goal.Sum}, `[{"n":1}]`, result{Problem: "1 of 1 records of rows have no number at /n"}},
		"the wrong pointer":         {goal.Source{Aggregate: goal.Sum}, `[null,null]`, result{Problem: "no record of rows has a number at /n"}},
		"an exponent without bound": {goal.Source{Aggregate: goal.Sum}, `[1e999999999]`, result{Problem: "1 of 1 records of rows have no number at /n"}},
		"a number without bound":    {goal.Source{Aggregate: goal.Sum}, `[1e30]`, result{Problem: "the number has more than 18 digits before the point"}},
	} {
		tt.source.Stream, tt.source.Pointer = "rows", "/n"
		tally := goal.Tally{Source: tt.source}
		if _, problem := tally.Result(); problem != "the list rows was not read" {
			t.Errorf("%s: problem %q before the first page, want that the list was not read", name, problem)
		}
		tally.Add(json.RawMessage(`999`)) // of a list that is read again from its beginning
		tally.Reset()
		var values []json.RawMessage
		if err := json.Unmarshal([]byte(tt.values), &values); err != nil {
			t.Fatal(err)
		}
		for _, v := range values {
			tally.Add(v)
		}
		value, problem := tally.Result()
		if diff := cmp.Diff(tt.want, result{value, problem}); diff != "" {
			t.Errorf("%s: result differs (-want +got):\n%s", name, diff)
		}
	}
}

// TestRead gives a goal its first number, which is also its start, and later ones. The number stays when the source has ended.
func TestRead(t *testing.T) {
	t.Parallel()
	source := goal.Source{Provider: "stripe", Stream: "invoices", Pointer: "/amount_paid", Aggregate: goal.Sum}
	g, _ := goal.Apply(goal.Goal{}, goal.Own, measured(goal.Measure{Target: "50000", Unit: "EUR", Direction: goal.Up, Source: &source}), day(0))
	if got, want := g.Measure.String(), "no value yet of 50,000 EUR"; got != want {
		t.Errorf("measure %q, want %q", got, want)
	}
	at := func(g goal.Goal, current string, now time.Time) goal.Goal {
		read, _ := goal.Read(g, goal.Reading{Goal: g.ID, Source: source, Current: current}, now)
		if _, changed := goal.Read(read, goal.Reading{Goal: g.ID, Source: source, Current: current}, now); changed {
			t.Errorf("%s: the same number changes the goal, want no change", current)
		}
		return read
	}
	g = at(at(g, "30000", day(1)), "41200", day(68))
	if got, want := g.Alignment.Reasons[0], "41,200 of 50,000 EUR, 12 days behind, due on 2026-04-11"; got != want {
		t.Errorf("reason %q, want %q", got, want)
	}
	want := &goal.Measure{Start: "30000", Current: "41200", Target: "50000", Unit: "EUR", Direction: goal.Up, Source: &source, ObservedAt: day(68)}
	if diff := cmp.Diff(want, g.Measure); diff != "" {
		t.Errorf("the measure differs (-want +got):\n%s", diff)
	}
	other := source
	other.Pointer = "/total"
	closed, ended := g, goal.Unsourced(g, day(69))
	closed.State = goal.Closed
	for name, tt := range map[string]struct {
		g      goal.Goal
		source goal.Source
	}{"of another pointer": {g, other}, "of a closed goal": {closed, source}, "of a goal whose source has ended": {ended, source}} {
		if _, changed := goal.Read(tt.g, goal.Reading{Source: tt.source, Current: "1"}, day(70)); changed {
			t.Errorf("a number %s moves it, want it to stay", name)
		}
	}
	if ended.Measure.Current != "41200" {
		t.Errorf("the goal is at %s when its source has ended, want 41200", ended.Measure.Current)
	}
	if reasons := strings.Join(ended.Alignment.Reasons, "; "); !strings.Contains(reasons, "its source stripe was deleted") {
		t.Errorf("reasons %q, want one about the source", reasons)
	}
}
