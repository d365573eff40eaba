package projection_test

import (
	"fmt"
	"testing"
	"time"

	"orgops/shared/domain/goal"
	"orgops/shared/domain/recommendation"
	"orgops/shared/insight/projection"
	"orgops/shared/testkit/errtest"
)

// TestFold_Recommendations keeps the newest decision about each recommendation, and 64 at most: those that have succeeded go
// first.
func TestFold_Recommendations(t *testing.T) {
	t.Parallel()
	h := newHistory()
	dismissed := recommendation.Stored{ID: "kept"}.Dismiss("u", "other", "not now, but later", h.now.Add(time.Hour), h.now)
	h.put(recommendation.Entity, recommendation.Key("kept"), dismissed)
	for n := range 70 {
		h.after(time.Minute)
		s := recommendation.Stored{ID: fmt.Sprint(n)}.End(h.now)
		h.put(recommendation.Entity, recommendation.Key(s.ID), s)
	}
	p, _, failed := projection.Fold(projection.Empty("acme"), h.changes)
	errtest.Must(t, failed.Err())
	if got := len(p.Recommendations); got != 64 {
		t.Errorf("%d decisions, want 64", got)
	}
	if got := p.Recommendations["kept"].State; got != recommendation.Dismissed {
		t.Errorf("state of the oldest = %q, want dismissed", got)
	}
	if got := p.Recommendations["69"].State; got != recommendation.Succeeded {
		t.Errorf("state of the newest = %q, want succeeded", got)
	}
	if got, gone := p.Recommendations["0"]; gone {
		t.Errorf("the first success = %+v, want none", got)
	}
	h.remove(recommendation.Entity, recommendation.Key("kept"))
	p, _, failed = projection.Fold(p, h.changes)
	errtest.Must(t, failed.Err())
	if got, still := p.Recommendations["kept"]; still {
		t.Errorf("a removed decision = %+v, want none", got)
	}
}

// TestFold_Explanation keeps until when each goal is explained.
func TestFold_Explanation(t *testing.T) {
	t.Parallel()
	h := newHistory()
	for n := range projection.MaxGoals + 1 {
		until := h.now.Add(time.Duration(n+1) * time.Hour)
		h.put(goal.ExplanationEntity, goal.ExplanationKey(fmt.Sprint(n)), goal.Explanation{Until: until})
	}
	p, _, failed := projection.Fold(projection.Empty("acme"), h.changes)
	errtest.Must(t, failed.Err())
	if got := len(p.Goals.Explained); got != projection.MaxGoals {
		t.Errorf("%d goals are explained, want %d", got, projection.MaxGoals)
	}
	if until, kept := p.Goals.Explained["0"]; kept {
		t.Errorf("the explanation that ends first is kept until %v, want it dropped", until)
	}
	h.remove(goal.ExplanationEntity, goal.ExplanationKey("7"))
	p, _, failed = projection.Fold(p, h.changes)
	errtest.Must(t, failed.Err())
	if until, still := p.Goals.Explained["7"]; still {
		t.Errorf("a removed explanation holds until %v, want none", until)
	}
}
