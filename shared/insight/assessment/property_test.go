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
	"orgops/shared/storage/store"
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
			i.SandboxedCause = []string{"", integration.SandboxedByExpiry, integration.SandboxedByChange}[r.IntN(3)]
		}
		if r.IntN(3) == 0 {
			i.SyncSeconds = int64(time.Hour/time.Second) * int64(1+r.IntN(24))
		}
		if r.IntN(3) == 0 {
			i.CredentialsAt = ago(400 * day)
			i.CredentialsEnd = noon().Add(time.Duration(seed%60)*day).AddDate(0, 0, -10)
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
		last := ago(10 * day)
		c.Syncs["feed"] = projection.Sync{
			LastSucceededAt: last, FailuresInRow: r.IntN(5), Successes: []time.Time{last.Add(-time.Duration(r.Int64N(int64(5 * day)))), last},
		}
	}
	for range r.IntN(6) {
		c.attempts(ago(4*day), r.IntN(60), r.IntN(6))
	}
	if r.IntN(3) == 0 {
		c.Governance.Policies = 1
		c.Governance.Waiting = projection.Tally{{From: ago(20 * time.Hour).Truncate(time.Hour), Count: 1 + r.IntN(3)}}
	}
	c.deliver([]delivery.State{delivery.Scheduled, delivery.Dead, delivery.Held}[r.IntN(3)], ago(4*time.Hour), r.IntN(30))
	for n := range r.IntN(5) {
		c.Goals.Open, c.Goals.Total = c.Goals.Open+1, c.Goals.Total+1
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

// worse makes one fact of a company worse. Each returns false if the company has no such fact.
func worse() map[string]func(*company, *rand.Rand) bool {
	back := func(r *rand.Rand, t time.Time, most time.Duration) time.Time {
		return t.Add(-time.Duration(r.Int64N(int64(most))))
	}
	integrations := func(edit func(*rand.Rand, *projection.Integration) bool) func(*company, *rand.Rand) bool {
		return func(c *company, r *rand.Rand) (some bool) {
			for _, p := range []string{"feed", "webhook"} {
				if i, ok := c.Integrations[p]; ok && edit(r, &i) {
					c.Integrations[p], some = i, true
				}
			}
			return some
		}
	}
	syncs := func(edit func(*rand.Rand, *projection.Sync)) func(*company, *rand.Rand) bool {
		return func(c *company, r *rand.Rand) bool {
			s, ok := c.Syncs["feed"]
			edit(r, &s)
			if ok {
				c.Syncs["feed"] = s
			}
			return ok
		}
	}
	older := func(of func(*projection.Integration) *time.Time) func(*company, *rand.Rand) bool {
		return integrations(func(r *rand.Rand, i *projection.Integration) bool {
			at := of(i)
			if at.IsZero() {
				return false
			}
			*at = back(r, *at, 200*day)
			return true
		})
	}
	return map[string]func(*company, *rand.Rand) bool{
		"a failed attempt": func(c *company, r *rand.Rand) bool {
			c.attempts(back(r, noon(), 3*day), 0, 1+r.IntN(3))
			return true
		},
		"an older waiting delivery": func(c *company, r *rand.Rand) bool {
			c.deliver(delivery.Scheduled, back(r, noon(), 5*time.Hour), 1)
			return true
		},
		"a dead letter": func(c *company, r *rand.Rand) bool {
			c.deliver(delivery.Dead, back(r, noon(), 3*day), 1+r.IntN(20))
			return true
		},
		"a longer failure": integrations(func(r *rand.Rand, i *projection.Integration) bool {
			if i.FailingSince.IsZero() {
				i.FailingSince = noon()
			}
			i.FailingSince = back(r, i.FailingSince, 3*day)
			return true
		}),
		"an endpoint disabled by failing": integrations(func(_ *rand.Rand, i *projection.Integration) bool {
			if !i.Has(integration.EventDeliver) || !i.Enabled {
				return false
			}
			i.Enabled, i.DisabledReason, i.DisabledAt = false, integration.DisabledFailing, noon()
			return true
		}),
		"an older secret":            older(func(i *projection.Integration) *time.Time { return &i.SecretAt }),
		"older credentials":          older(func(i *projection.Integration) *time.Time { return &i.CredentialsAt }),
		"credentials end early":      older(func(i *projection.Integration) *time.Time { return &i.CredentialsEnd }),
		"a certification ends early": older(func(i *projection.Integration) *time.Time { return &i.CertifiedUntil }),
		"a certification has ended": integrations(func(_ *rand.Rand, i *projection.Integration) bool {
			if i.State != integration.Certified {
				return false
			}
			i.State, i.SandboxedCause, i.SandboxedAt, i.CertifiedAt, i.CertifiedUntil = integration.Sandbox, integration.SandboxedByExpiry, noon(), time.Time{}, time.Time{}
			return true
		}),
		"a port closes": integrations(func(_ *rand.Rand, i *projection.Integration) bool {
			if !i.Has(integration.SyncPull) || i.State != integration.Certified {
				return false
			}
			i.ClosedPorts = []integration.Port{integration.SyncPull}
			return true
		}),
		"an older sync":   syncs(func(r *rand.Rand, s *projection.Sync) { s.LastSucceededAt = back(r, s.LastSucceededAt, 5*day) }),
		"one more failed": syncs(func(r *rand.Rand, s *projection.Sync) { s.FailuresInRow += 1 + r.IntN(3) }),
		"an approval waits longer": func(c *company, r *rand.Rand) bool {
			if len(c.Governance.Waiting) == 0 {
				return false
			}
			from := back(r, c.Governance.Waiting[0].From, 3*time.Hour).Truncate(time.Hour)
			c.Governance.Waiting = projection.Tally{{From: from, Count: 1}}
			return noon().Sub(from) < day
		},
		"an approval expired": func(c *company, _ *rand.Rand) bool {
			c.Governance.Unanswered = projection.Tally{{From: noon().Truncate(day), Count: 1}}
			return c.Governance.Policies > 0
		},
	}
}

// TestHealth_Worse makes every fact worse, in many companies. It checks that no known check's score rises and no check that
// applies stops to apply, and that the score over the same known checks does not rise. It skips the score when the fact makes
// another check known, because the score then covers other checks.
func TestHealth_Worse(t *testing.T) {
	t.Parallel()
	for name, make := range worse() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const seeds = 150
			made := 0
			for seed := range uint64(seeds) {
				c := arbitrary(seed)
				before := assessment.HealthOf(c.Context, noon(), path)
				if !make(c, rand.New(rand.NewPCG(seed, 4))) {
					continue
				}
				made++
				wantNotBetter(t, seed, before, assessment.HealthOf(c.Context, noon(), path))
			}
			if made < seeds/10 {
				t.Errorf("%d of %d companies have such a fact, want %d or more", made, seeds, seeds/10)
			}
		})
	}
}

// wantNotBetter compares the health before and after a fact has become worse.
func wantNotBetter(t *testing.T, seed uint64, before, after assessment.HealthScore) {
	t.Helper()
	same := true
	for i, was := range before.Checks {
		is := after.Checks[i]
		same = same && (was.Score == nil) == (is.Score == nil)
		if was.Score != nil && is.Score != nil && *is.Score > *was.Score {
			t.Errorf("seed %d: %s went from %g to %g, want no more", seed, was.ID, *was.Score, *is.Score)
		}
		if was.Score != nil && is.Score == nil {
			t.Errorf("seed %d: %s went from %s to %s, want it known", seed, was.ID, was.Status, is.Status)
		}
	}
	if same && before.Score != nil && after.Score != nil && *after.Score > *before.Score {
		t.Errorf("seed %d: the score went from %g to %g, want no more", seed, *before.Score, *after.Score)
	}
	for _, score := range []float64{before.LowerBound, after.LowerBound, *orZero(before.Score), *orZero(after.Score)} {
		if score != min(max(score, 0), 100) {
			t.Errorf("seed %d: a score of %g, want 0 to 100", seed, score)
		}
	}
}

func orZero(score *float64) *float64 {
	if score == nil {
		return new(float64)
	}
	return score
}

// TestHealth_Deleted deletes a failing webhook, with another one left: what it failed still counts.
func TestHealth_Deleted(t *testing.T) {
	t.Parallel()
	c := newCompany().webhook(nil).integration("webhook-b", integration.EventDeliver, nil).attempts(noon().Add(-20*time.Minute), 10, 10)
	before := c.health(t, "webhook-deliveries")
	c.sequence++
	c.fold([]store.Change{{
		Sequence: store.Sequence(fmt.Sprint(c.sequence)), Company: "acme", Key: integration.Key("webhook"), Entity: integration.Entity, At: noon(),
		Old: &store.Image{Version: 1, Body: json.RawMessage(`{}`)},
	}})
	after := c.health(t, "webhook-deliveries")
	if after.Status != assessment.Fail {
		t.Errorf("after the deletion the check is %s, want fail", after.Status)
	}
	if diff := cmp.Diff(before.Reason, after.Reason); diff != "" {
		t.Errorf("the deletion changes what failed (-before +after):\n%s", diff)
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
