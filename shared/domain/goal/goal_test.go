package goal_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"orgops/shared/domain/goal"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func day(n float64) time.Time { return start.Add(time.Duration(n * 24 * float64(time.Hour))) }

func due(n float64) *time.Time {
	t := day(n)
	return &t
}

func TestAlign(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		goal   goal.Goal
		now    time.Time
		status goal.Status
		score  float64
	}{
		{"no due date", goal.Goal{State: goal.Open, CreatedAt: start}, day(50), goal.Aligned, 1},
		{"just begun", goal.Goal{State: goal.Open, CreatedAt: start, DueAt: due(10)}, day(0), goal.Aligned, 1},
		{"ahead of time", goal.Goal{State: goal.Open, CreatedAt: start, DueAt: due(10), Progress: 0.9}, day(5), goal.Aligned, 1},
		{"at the bound", goal.Goal{State: goal.Open, CreatedAt: start, DueAt: due(10), Progress: 0.4}, day(5), goal.Aligned, 0.8},
		{"behind", goal.Goal{State: goal.Open, CreatedAt: start, DueAt: due(10), Progress: 0.3}, day(5), goal.Drifting, 0.6},
		{"far behind", goal.Goal{State: goal.Open, CreatedAt: start, DueAt: due(10), Progress: 0.1}, day(5), goal.Misaligned, 0.2},
		{"overdue", goal.Goal{State: goal.Open, CreatedAt: start, DueAt: due(10), Progress: 0.9}, day(10), goal.Misaligned, 0.45},
		{"overdue but done", goal.Goal{State: goal.Open, CreatedAt: start, DueAt: due(10), Progress: 1}, day(12), goal.Aligned, 1},
		{"closed", goal.Goal{State: goal.Closed, CreatedAt: start, DueAt: due(10)}, day(12), goal.Aligned, 1},
		{"due before it was created", goal.Goal{State: goal.Open, CreatedAt: day(3), DueAt: due(1)}, day(3), goal.Misaligned, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := goal.Align(tt.goal, tt.now)
			if got.Status != tt.status || math.Abs(got.Score-tt.score) > 0.001 || len(got.Reasons) == 0 {
				t.Errorf("Align = %+v, want %s with score %v and a reason", got, tt.status, tt.score)
			}
		})
	}
}

// TestNextReview walks from review to review. At every hour between two reviews the status must still be the earlier one's.
func TestNextReview(t *testing.T) {
	t.Parallel()
	for _, progress := range []float64{0, 0.05, 0.2, 0.45, 0.6, 0.81, 0.99} {
		g := goal.Goal{State: goal.Open, CreatedAt: start, DueAt: due(10), Progress: progress}
		seen := goal.Align(g, start).Status
		review, more := goal.NextReview(g, start)
		for now := start; now.Before(day(12)); now = now.Add(time.Hour) {
			for more && !review.After(now) {
				seen = goal.Align(g, review).Status
				review, more = goal.NextReview(g, review)
			}
			// A review falls a second after the bound, so the status on the hour may differ for that long.
			soon := more && review.Sub(now) <= 2*time.Second
			if is := goal.Align(g, now).Status; is != seen && !soon {
				t.Fatalf("progress %v at %v: status %s, the last review saw %s", progress, now, is, seen)
			}
		}
		if seen != goal.Misaligned {
			t.Errorf("progress %v: %s in the end, want misaligned", progress, seen)
		}
	}
}

func TestApply(t *testing.T) {
	t.Parallel()
	d := goal.Draft{ExternalID: "m/1", Title: "Ship", Progress: 0.5, DueAt: due(10), StartedAt: due(0), State: goal.Open}
	first, changed := goal.Apply(goal.Goal{}, "github", d, day(5))
	if !changed || first.CreatedAt != start || first.Alignment.Status != goal.Aligned {
		t.Fatalf("first = %+v, %v", first, changed)
	}
	if again, changed := goal.Apply(first, "github", d, day(9)); changed || again.UpdatedAt != first.UpdatedAt {
		t.Errorf("the same draft later changed the goal: %+v", again)
	}
	d.Progress = 0.6
	second, changed := goal.Apply(first, "github", d, day(9))
	if !changed || second.CreatedAt != start || second.ID != first.ID || second.Alignment.Status != goal.Drifting {
		t.Errorf("second = %+v, %v", second, changed)
	}
}

func TestDraft_Check(t *testing.T) {
	t.Parallel()
	bad := goal.Draft{Progress: math.NaN(), State: "paused"}
	got := map[string]bool{}
	for _, p := range bad.Check("/data") {
		got[p.Pointer] = true
	}
	for _, want := range []string{"/data/externalId", "/data/title", "/data/progress", "/data/state"} {
		if !got[want] {
			t.Errorf("no problem at %s; got %v", want, got)
		}
	}
	early := time.Date(0, 1, 1, 0, 0, 0, 0, time.FixedZone("", 3600))
	late := time.Date(9999, 12, 31, 23, 0, 0, 0, time.FixedZone("", -7200))
	if p := (goal.Draft{ExternalID: "1", Title: "x", State: goal.Open, DueAt: &late, StartedAt: &early, URL: strings.Repeat("u", 2049)}).Check(""); len(p) != 3 {
		t.Errorf("problems = %v, want two times out of range and one url too long", p)
	}
	good := goal.Draft{ExternalID: "1", Title: "x", State: goal.Closed, Progress: 1}
	if p := good.Check(""); len(p) > 0 {
		t.Errorf("a good draft has problems: %v", p)
	}
}
