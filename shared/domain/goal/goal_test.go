package goal_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

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
		{"a minute old", goal.Goal{State: goal.Open, CreatedAt: start, DueAt: due(10)}, start.Add(time.Minute), goal.Aligned, 1},
		{"a day behind", goal.Goal{State: goal.Open, CreatedAt: start, DueAt: due(10), Progress: 0.4}, day(5), goal.Aligned, 1},
		{"a twentieth behind", goal.Goal{State: goal.Open, CreatedAt: start, DueAt: due(100), Progress: 0.45}, day(50), goal.Aligned, 1},
		{"a short goal", goal.Goal{State: goal.Open, CreatedAt: start, DueAt: due(0.5)}, day(0.4), goal.Aligned, 1},
		{"of three centuries", goal.Goal{State: goal.Open, CreatedAt: start, DueAt: due(100_000), Progress: 0.99}, day(5), goal.Aligned, 1},
		{"at the bound", goal.Goal{State: goal.Open, CreatedAt: start, DueAt: due(10), Progress: 0.3}, day(5), goal.Aligned, 0.8},
		{"behind", goal.Goal{State: goal.Open, CreatedAt: start, DueAt: due(10), Progress: 0.2}, day(5), goal.Drifting, 0.6},
		{"far behind", goal.Goal{State: goal.Open, CreatedAt: start, DueAt: due(10)}, day(5), goal.Misaligned, 0.2},
		{"overdue", goal.Goal{State: goal.Open, CreatedAt: start, DueAt: due(10), Progress: 0.9}, day(10), goal.Misaligned, 0.45},
		{"overdue but done", goal.Goal{State: goal.Open, CreatedAt: start, DueAt: due(10), Progress: 1}, day(12), goal.Aligned, 1},
		{"closed", goal.Goal{State: goal.Closed, CreatedAt: start, DueAt: due(10)}, day(12), goal.Aligned, 1},
		{"due before it was created", goal.Goal{State: goal.Open, CreatedAt: day(3), DueAt: due(1)}, day(3), goal.Misaligned, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := goal.Align(tt.goal, tt.now)
			want := goal.Alignment{Status: tt.status, Score: tt.score, Reasons: got.Reasons}
			if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 0.001)); diff != "" {
				t.Errorf("alignment differs (-want +got):\n%s", diff)
			}
			if len(got.Reasons) == 0 {
				t.Error("no reason, want at least one")
			}
		})
	}
}

// TestAlign_Stalled holds a goal back whose work is stalled, and names that first.
func TestAlign_Stalled(t *testing.T) {
	t.Parallel()
	open := goal.Goal{State: goal.Open, CreatedAt: start, DueAt: due(10), Progress: 0.9, Stalled: goal.Blocked}
	late, done, closed, undated := open, open, open, open
	late.Progress, done.Progress, closed.State, undated.DueAt, undated.Stalled = 0, 1, goal.Closed, nil, goal.Stale
	for _, tt := range []struct {
		name   string
		goal   goal.Goal
		status goal.Status
		score  float64
		reason string
	}{
		{"ahead of time", open, goal.Drifting, 0.7, "an item of its work is blocked"},
		{"far behind", late, goal.Misaligned, 0.2, "0 % done after 50 % of the time to 2026-01-11"},
		{"done", done, goal.Aligned, 1, "100 % done after 50 % of the time to 2026-01-11"},
		{"closed", closed, goal.Aligned, 1, "it is closed"},
		{"without a due date", undated, goal.Drifting, 0.7, "no item of its open work has changed for 14 days"},
	} {
		got := goal.Align(tt.goal, day(5))
		got.Reasons = got.Reasons[:1]
		if diff := cmp.Diff(goal.Alignment{Status: tt.status, Score: tt.score, Reasons: []string{tt.reason}}, got, cmpopts.EquateApprox(0, 0.001)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestWork_Stalled(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		work goal.Work
		now  float64
		want goal.Stall
	}{
		{goal.Work{}, 100, ""},
		{goal.Work{Done: 3, ChangedAt: start}, 100, ""},
		{goal.Work{Open: 1, ChangedAt: start}, 13.9, ""},
		{goal.Work{Open: 1, ChangedAt: start}, 14, goal.Stale},
		{goal.Work{Open: 1, Blocked: 1, ChangedAt: start}, 14, goal.Blocked},
	} {
		if got := tt.work.Stalled(day(tt.now)); got != tt.want {
			t.Errorf("%+v on day %g: %q, want %q", tt.work, tt.now, got, tt.want)
		}
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
				t.Fatalf("progress %v at %v: status %s, want %s as at the last review", progress, now, is, seen)
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
	expect := func(step string, want, got goal.Goal, wantChanged, changed bool) {
		t.Helper()
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(goal.Alignment{}, "Score", "Reasons")); diff != "" {
			t.Errorf("%s: goal differs (-want +got):\n%s", step, diff)
		}
		if changed != wantChanged {
			t.Errorf("%s: changed = %t, want %t", step, changed, wantChanged)
		}
	}
	first, changed := goal.Apply(goal.Goal{}, "github", d, day(5))
	want := goal.Goal{
		ID: goal.IDOf("github", "", "m/1"), Provider: "github", ExternalID: "m/1", Title: "Ship", Progress: 0.5, DueAt: due(10), State: goal.Open,
		Alignment: goal.Alignment{Status: goal.Aligned}, CreatedAt: start, UpdatedAt: day(5),
	}
	expect("new", want, first, true, changed)
	again, changed := goal.Apply(first, "github", d, day(9))
	expect("the same draft later", want, again, false, changed)
	d.Progress, want.Progress, want.Alignment.Status, want.UpdatedAt = 0.55, 0.55, goal.Drifting, day(9)
	want.Alignment.ChangedAt = day(9)
	second, changed := goal.Apply(first, "github", d, day(9))
	expect("progress", want, second, true, changed)
	d.Progress = 0.95
	third, _ := goal.Apply(second, "github", d, day(9.25))
	if got, want := third.Alignment.Reasons[1], "it stays drifting until 2026-01-11 at 00:00 UTC, because a status lasts a day"; got != want {
		t.Errorf("reason %q, want %q", got, want)
	}
}

// TestApply_Wavering lets progress waver by 1 % around each threshold every hour, and looks at the goal whenever a review is
// due: the status changes at most once a day, and in the end it is the right one.
func TestApply_Wavering(t *testing.T) {
	t.Parallel()
	for _, share := range []float64{0.8, 0.5} { // of the time
		var g goal.Goal
		var changed []time.Time
		set := func(next goal.Goal, now time.Time) {
			if g.ID != "" && next.Alignment.Status != g.Alignment.Status {
				changed = append(changed, now)
			}
			g = next
		}
		for hour := range 9 * 24 {
			now := start.Add(time.Duration(hour) * time.Hour)
			progress := (share*float64(hour)-24)/240 + []float64{0.01, -0.01}[hour%2] // a day is the grace
			d := goal.Draft{ExternalID: "m/1", Title: "Ship", Progress: max(progress, 0), DueAt: due(10), StartedAt: due(0), State: goal.Open}
			next, _ := goal.Apply(g, "github", d, now)
			set(next, now)
			if at, more := goal.NextReview(g, now); more && at.Before(now.Add(time.Hour)) {
				next, _ = goal.Review(g, "", at)
				set(next, at)
			}
		}
		if len(changed) == 0 {
			t.Errorf("around %g: the status never changed, want changes", share)
		}
		for n := 1; n < len(changed); n++ {
			if gap := changed[n].Sub(changed[n-1]); gap < 24*time.Hour {
				t.Errorf("around %g: the status changed again after %v, want a day at least", share, gap)
			}
		}
		for at, more := goal.NextReview(g, day(9)); more; at, more = goal.NextReview(g, at) {
			next, _ := goal.Review(g, "", at)
			set(next, at)
		}
		if got := g.Alignment.Status; got != goal.Misaligned {
			t.Errorf("around %g: %s in the end, want misaligned", share, got)
		}
	}
}

func TestDraft_Check(t *testing.T) {
	t.Parallel()
	early := time.Date(0, 1, 1, 0, 0, 0, 0, time.FixedZone("", 3600))
	late := time.Date(9999, 12, 31, 23, 0, 0, 0, time.FixedZone("", -7200))
	tests := []struct {
		name  string
		draft goal.Draft
		want  []string
	}{
		{"empty fields, no number and an unknown state", goal.Draft{Progress: math.NaN(), State: "paused"},
			[]string{"/data/externalId", "/data/title", "/data/progress", "/data/state"}},
		{"times out of range and a long url",
			goal.Draft{ExternalID: "1", Title: "x", State: goal.Open, DueAt: &late, StartedAt: &early, URL: strings.Repeat("u", 2049)},
			[]string{"/data/url", "/data/dueAt", "/data/startedAt"}},
		{"good", goal.Draft{ExternalID: "1", Title: "x", State: goal.Closed, Progress: 1}, nil},
	}
	for _, tt := range tests {
		var got []string
		for _, p := range tt.draft.Check("/data") {
			got = append(got, p.Pointer)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: problems differ (-want +got):\n%s", tt.name, diff)
		}
	}
}
