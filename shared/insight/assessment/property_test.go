package assessment_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/base/id"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/timeline"
	"orgops/shared/insight/assessment"
	"orgops/shared/insight/projection"
)

// arbitrary makes a company in a random state, healthy or not.
func arbitrary(seed uint64) *company {
	r := rand.New(rand.NewPCG(seed, 3))
	ago := func(most time.Duration) time.Time { return noon().Add(-time.Duration(r.Int64N(int64(most)))) }
	c := newCompany()
	change := func(i *projection.Integration) {
		i.SecretAt, i.CertifiedUntil = ago(300*day), noon().Add(time.Duration(r.IntN(60)-10)*day)
		i.CertifiedAt = ago(20 * day)
		if r.IntN(4) == 0 {
			i.State, i.SandboxedAt = integration.Sandbox, ago(day)
		}
		if r.IntN(3) == 0 {
			i.FailingSince = ago(6 * day)
		}
		if r.IntN(5) == 0 {
			i.Enabled, i.DisabledReason, i.DisabledAt = false, []string{"manual", "gone", "failing"}[r.IntN(3)], ago(day)
		}
	}
	if r.IntN(8) > 0 {
		c.webhook(change)
	}
	if r.IntN(3) > 0 {
		c.feed(change)
		c.Syncs["feed"] = projection.Sync{LastSucceededAt: ago(10 * day), FailuresInRow: r.IntN(5)}
	}
	for range r.IntN(6) {
		c.attempts(ago(4*day), r.IntN(60), r.IntN(6))
	}
	c.deliver([]delivery.State{delivery.Scheduled, delivery.Dead, delivery.Held}[r.IntN(3)], ago(4*time.Hour), r.IntN(30))
	for n := range r.IntN(5) {
		c.Goals.Open++
		c.Goals.Listed = append(c.Goals.Listed, projection.Goal{ID: fmt.Sprint(n), Title: "Goal", Status: goal.Drifting, Since: ago(day), Reason: "why"})
	}
	for n := range 10 {
		at := noon().Add(time.Duration(-n) * time.Hour)
		c.Timeline = append(c.Timeline, timeline.Entry{ID: id.At(at), At: at, Kind: timeline.Note, Title: "note"})
	}
	return c
}

const seeds = 400

// TestAssessment_SameBytes checks that the same context and asOf give the same bytes, also after the context was stored and
// read.
func TestAssessment_SameBytes(t *testing.T) {
	t.Parallel()
	all := func(p projection.Context) string {
		asOf := noon()
		b, err := json.Marshal([]any{
			assessment.HealthOf(p, asOf, path), assessment.ReadinessOf(p, asOf, path), assessment.DashboardOf(p, asOf, path), assessment.Recommendations(p, asOf, path),
			assessment.BriefOf(p, asOf, asOf.Add(-day), p.Timeline, path), assessment.Tag(p.ContextVersion, asOf),
		})
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for seed := range uint64(seeds) {
		p := arbitrary(seed).Context
		raw, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		var again projection.Context
		if err := json.Unmarshal(raw, &again); err != nil {
			t.Fatal(err)
		}
		first := all(p)
		if diff := cmp.Diff(first, all(p)); diff != "" {
			t.Fatalf("seed %d: the same context gave another result (-first +second):\n%s", seed, diff)
		}
		if diff := cmp.Diff(first, all(again)); diff != "" {
			t.Fatalf("seed %d: the stored context gave another result (-before +after):\n%s", seed, diff)
		}
	}
}

// TestHealth_Failure checks that one more failed attempt never raises a known check, nor the score over the same checks.
// The test skips the score when the attempt makes another check known, because the score then covers other checks.
func TestHealth_Failure(t *testing.T) {
	t.Parallel()
	for seed := range uint64(seeds) {
		c := arbitrary(seed)
		before := assessment.HealthOf(c.Context, noon(), path)
		r := rand.New(rand.NewPCG(seed, 4))
		after := assessment.HealthOf(c.attempts(noon().Add(-time.Duration(r.Int64N(int64(3*day)))), 0, 1+r.IntN(3)).Context, noon(), path)
		same := true
		for i, was := range before.Checks {
			is := after.Checks[i]
			same = same && (was.Score == nil) == (is.Score == nil)
			if was.Score != nil && is.Score != nil && *is.Score > *was.Score {
				t.Errorf("seed %d: %s went from %g to %g, want no more", seed, was.ID, *was.Score, *is.Score)
			}
		}
		if same && before.Score != nil && after.Score != nil && *after.Score > *before.Score {
			t.Errorf("seed %d: the score went from %g to %g, want no more", seed, *before.Score, *after.Score)
		}
	}
}

// TestHealth_Evidence checks that losing evidence never raises the lower bound, and that the bound never exceeds the score.
func TestHealth_Evidence(t *testing.T) {
	t.Parallel()
	lost := 0
	for seed := range uint64(seeds) {
		c := arbitrary(seed)
		before := assessment.HealthOf(c.Context, noon(), path)
		if before.Score != nil && before.LowerBound > *before.Score {
			t.Errorf("seed %d: lower bound %g above score %g", seed, before.LowerBound, *before.Score)
		}
		empty := projection.Empty("acme")
		switch seed % 3 {
		case 0:
			c.Deliveries.Recent, c.Deliveries.Hourly = empty.Deliveries.Recent, empty.Deliveries.Hourly
		case 1:
			c.Syncs = map[string]projection.Sync{"feed": {LastSucceededAt: time.Time{}, FailuresInRow: 0}}
		default:
			c.Deliveries.Hourly, c.Syncs = empty.Deliveries.Hourly, empty.Syncs
		}
		after := assessment.HealthOf(c.Context, noon(), path)
		if after.Coverage < before.Coverage {
			lost++
		}
		if after.Coverage < before.Coverage && after.LowerBound > before.LowerBound {
			t.Errorf("seed %d: coverage %g → %g, lower bound %g → %g, want no more", seed, before.Coverage, after.Coverage, before.LowerBound, after.LowerBound)
		}
	}
	if lost < seeds/4 {
		t.Errorf("%d of %d companies lost coverage, want %d or more", lost, seeds, seeds/4)
	}
}

// TestHealth_PointsLost checks that the points lost add up to 100 minus the score, unless a critical check caps the score.
func TestHealth_PointsLost(t *testing.T) {
	t.Parallel()
	for seed := range uint64(seeds) {
		h := assessment.HealthOf(arbitrary(seed).Context, noon(), path)
		if h.Score == nil || *h.Score == 49 {
			continue
		}
		lost := 0.0
		for _, c := range h.Checks {
			lost += c.PointsLost
		}
		if diff := 100 - lost - *h.Score; diff > 0.5 || diff < -0.5 {
			t.Errorf("seed %d: score = %g, want %g after a loss of %g points", seed, *h.Score, 100-lost, lost)
		}
	}
}

func BenchmarkHealth(b *testing.B) {
	p := arbitrary(5).Context
	b.ReportAllocs()
	for range b.N {
		if _, err := json.Marshal(assessment.HealthOf(p, noon(), path)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDashboard(b *testing.B) {
	p := arbitrary(5).Context
	b.ReportAllocs()
	for range b.N {
		if _, err := json.Marshal(assessment.DashboardOf(p, noon(), path)); err != nil {
			b.Fatal(err)
		}
	}
}
