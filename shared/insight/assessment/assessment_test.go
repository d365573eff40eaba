package assessment_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/base/id"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/syncrun"
	"orgops/shared/domain/timeline"
	"orgops/shared/insight/assessment"
	"orgops/shared/insight/projection"
	"orgops/shared/storage/store"
)

const day = 24 * time.Hour

func noon() time.Time { return time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC) }

// company holds the facts that a test sets up. Its integrations are certified and enabled unless the test changes them.
type company struct {
	projection.Context
	sequence int
}

func newCompany() *company { return &company{Context: projection.Empty("acme")} }

func (c *company) webhook(change func(*projection.Integration)) *company {
	return c.integration("webhook", integration.EventDeliver, change)
}

func (c *company) feed(change func(*projection.Integration)) *company {
	return c.integration("feed", integration.SyncPull, change)
}

func (c *company) integration(provider string, port integration.Port, change func(*projection.Integration)) *company {
	i := projection.Integration{
		Kind: provider, State: integration.Certified, Enabled: true, Ports: []integration.Port{port}, CertifiedPorts: []integration.Port{port},
		CertifiedAt: noon().Add(-time.Hour), CertifiedUntil: noon().Add(89 * day), SecretAt: noon().Add(-day),
	}
	if change != nil {
		change(&i)
	}
	c.Integrations[provider] = i
	if !i.FailingSince.IsZero() {
		c.Results[provider] = projection.Result{Failures: []projection.Spell{{First: i.FailingSince, Last: i.FailingSince}}}
	}
	return c
}

// attempts folds deliveries of the webhook, each with one attempt, into the context.
func (c *company) attempts(at time.Time, delivered, failed int) *company {
	var changes []store.Change
	for n := range delivered + failed {
		d := delivery.Delivery{EventID: id.At(at, fmt.Sprint(c.sequence)), Endpoint: "webhook", State: delivery.Delivered, CreatedAt: at}
		if n >= delivered {
			d.State = delivery.Failed
		}
		d.Log(delivery.Attempt{State: d.State})
		changes = append(changes, c.change(delivery.Entity, delivery.Key(d.EventID, d.Endpoint), at, d))
	}
	return c.fold(changes)
}

func (c *company) deliver(state delivery.State, eventAt time.Time, n int) *company {
	var changes []store.Change
	for range n {
		d := delivery.Delivery{EventID: id.At(eventAt, fmt.Sprint(c.sequence)), Endpoint: "webhook", State: state, CreatedAt: eventAt}
		changes = append(changes, c.change(delivery.Entity, delivery.Key(d.EventID, d.Endpoint), eventAt, d))
	}
	return c.fold(changes)
}

func (c *company) change(entity, key string, at time.Time, body any) store.Change {
	raw, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	c.sequence++
	return store.Change{
		Sequence: store.Sequence(fmt.Sprint(c.sequence)), Company: "acme", Key: key, Entity: entity, At: at, New: &store.Image{Version: 1, Body: raw},
	}
}

func (c *company) fold(changes []store.Change) *company {
	p, _, err := projection.Fold(c.Context, changes)
	if err != nil {
		panic(err)
	}
	c.Context = p
	return c
}

// path starts the references: the company's path below a base path.
const path = "/live/companies/acme"

func (c *company) health(t testing.TB, check string) assessment.Check {
	t.Helper()
	return find(t, assessment.HealthOf(c.Context, noon(), path).Checks, check)
}

func find(t testing.TB, checks []assessment.Check, id string) assessment.Check {
	t.Helper()
	for _, c := range checks {
		if c.ID == id {
			return c
		}
	}
	t.Fatalf("no check %s", id)
	return assessment.Check{}
}

func TestHealth_Checks(t *testing.T) {
	t.Parallel()
	webhook := func() *company { return newCompany().webhook(nil) }
	secret := func(age time.Duration) *company {
		return newCompany().webhook(func(i *projection.Integration) { i.SecretAt = noon().Add(-age) })
	}
	credentials := func(age time.Duration) *company {
		return newCompany().feed(func(i *projection.Integration) { i.CredentialsAt = noon().Add(-age) })
	}
	until := func(left time.Duration) *company {
		return newCompany().webhook(func(i *projection.Integration) { i.CertifiedUntil = noon().Add(left) })
	}
	sync := func(s projection.Sync) *company {
		c := newCompany().feed(func(i *projection.Integration) { i.CertifiedAt = noon().Add(-30 * day) })
		c.Syncs["feed"] = s
		return c
	}
	synced := func(ago time.Duration) *company { return sync(projection.Sync{LastSucceededAt: noon().Add(-ago)}) }
	off := func(reason string) *company {
		return newCompany().webhook(func(i *projection.Integration) { i.Enabled, i.DisabledReason, i.DisabledAt = false, reason, noon() })
	}
	failing := func(d time.Duration) *company {
		return newCompany().webhook(func(i *projection.Integration) { i.FailingSince = noon().Add(-d) })
	}
	tests := []struct {
		check, name string
		company     *company
		want        assessment.Status
		remedy      string
	}{
		{"webhook-deliveries", "no webhook", newCompany(), assessment.NotApplicable, ""},
		{"webhook-deliveries", "no attempts", webhook(), assessment.Unknown, ""},
		{"webhook-deliveries", "19 attempts", webhook().attempts(noon(), 0, 19), assessment.Unknown, ""},
		{"webhook-deliveries", "20 good attempts", webhook().attempts(noon(), 20, 0), assessment.Pass, ""},
		{"webhook-deliveries", "1 % of all", webhook().attempts(noon().Add(-5*time.Hour), 99, 1), assessment.Warn, "list-integration-deliveries"},
		{"webhook-deliveries", "less than 1 %", webhook().attempts(noon().Add(-5*time.Hour), 100, 1), assessment.Pass, ""},
		{"webhook-deliveries", "6 % for half an hour", webhook().attempts(noon().Add(-20*time.Minute), 94, 6), assessment.Fail, "list-integration-deliveries"},
		{"webhook-deliveries", "5 % for half an hour", webhook().attempts(noon().Add(-20*time.Minute), 95, 5), assessment.Warn, "list-integration-deliveries"},
		{"webhook-deliveries", "a burst that is over", webhook().attempts(noon().Add(-7*time.Hour), 500, 500).attempts(noon(), 30, 0), assessment.Pass, ""},
		{"webhook-deliveries", "one failure among many successes", webhook().attempts(noon(), 5000, 0).attempts(noon().Add(-30*time.Minute), 0, 1), assessment.Pass, ""},
		{"webhook-deliveries", "a bad hour after good days", webhook().attempts(noon().Add(-2*day), 5000, 0).attempts(noon().Add(-2*time.Minute), 17, 3), assessment.Fail, "list-integration-deliveries"},
		{"webhook-deliveries", "long ago", webhook().attempts(noon().Add(-5*day), 0, 500), assessment.Unknown, ""},

		{"delivery-delay", "nothing waits", webhook(), assessment.Pass, ""},
		{"delivery-delay", "10 minutes", webhook().deliver(delivery.Scheduled, noon().Add(-10*time.Minute), 1), assessment.Pass, ""},
		{"delivery-delay", "15 minutes", webhook().deliver(delivery.Scheduled, noon().Add(-15*time.Minute), 1), assessment.Warn, "list-integration-deliveries"},
		{"delivery-delay", "2 hours", webhook().deliver(delivery.Scheduled, noon().Add(-2*time.Hour), 1), assessment.Warn, "list-integration-deliveries"},
		{"delivery-delay", "2 hours and 5 minutes", webhook().deliver(delivery.Scheduled, noon().Add(-2*time.Hour-5*time.Minute), 1), assessment.Fail, "list-integration-deliveries"},
		{"delivery-delay", "in this minute", webhook().deliver(delivery.Scheduled, noon().Add(30*time.Second), 1), assessment.Pass, ""},

		{"dead-letters", "none", webhook(), assessment.Pass, ""},
		{"dead-letters", "1", webhook().deliver(delivery.Dead, noon(), 1), assessment.Warn, "recover-integration"},
		{"dead-letters", "19", webhook().deliver(delivery.Dead, noon(), 19), assessment.Warn, "recover-integration"},
		{"dead-letters", "20", webhook().deliver(delivery.Dead, noon(), 20), assessment.Fail, "recover-integration"},

		{"endpoints-disabled", "enabled", webhook(), assessment.Pass, ""},
		{"endpoints-disabled", "disabled manually", off(integration.DisabledManually), assessment.Pass, ""},
		{"endpoints-disabled", "gone", off(integration.DisabledGone), assessment.Fail, "enable-integration"},
		{"endpoints-disabled", "failing", off(integration.DisabledFailing), assessment.Fail, "enable-integration"},
		{"endpoints-disabled", "failing 23 hours", failing(23 * time.Hour), assessment.Pass, ""},
		{"endpoints-disabled", "failing a day", failing(day), assessment.Warn, "list-integration-deliveries"},

		{"secret-age", "none", newCompany(), assessment.NotApplicable, ""},
		{"secret-age", "89 days", secret(89 * day), assessment.Pass, ""},
		{"secret-age", "90 days", secret(90 * day), assessment.Warn, "rotate-integration-secret"},
		{"secret-age", "180 days", secret(180 * day), assessment.Fail, "rotate-integration-secret"},

		{"credential-age", "none", webhook(), assessment.NotApplicable, ""},
		{"credential-age", "179 days", credentials(179 * day), assessment.Pass, ""},
		{"credential-age", "180 days", credentials(180 * day), assessment.Warn, "put-integration-credentials"},
		{"credential-age", "365 days", credentials(365 * day), assessment.Fail, "put-integration-credentials"},

		{"certification-expiry", "none", newCompany(), assessment.NotApplicable, ""},
		{"certification-expiry", "15 days", until(15 * day), assessment.Pass, ""},
		{"certification-expiry", "14 days", until(14 * day), assessment.Warn, "certify-integration"},
		{"certification-expiry", "expired", until(0), assessment.Fail, "certify-integration"},

		{"sync-freshness", "nothing to sync", webhook(), assessment.NotApplicable, ""},
		{"sync-freshness", "sandboxed", newCompany().feed(func(i *projection.Integration) { i.State = integration.Sandbox }), assessment.NotApplicable, ""},
		{"sync-freshness", "just certified", newCompany().feed(nil), assessment.Pass, ""},
		{"sync-freshness", "23 hours", synced(23 * time.Hour), assessment.Pass, ""},
		{"sync-freshness", "a day", synced(day), assessment.Warn, "sync-memory"},
		{"sync-freshness", "a week", synced(7 * day), assessment.Fail, "sync-memory"},

		{"sync-failures", "none has ended", sync(projection.Sync{State: syncrun.Running}), assessment.Unknown, ""},
		{"sync-failures", "succeeded", synced(0), assessment.Pass, ""},
		{"sync-failures", "1", sync(projection.Sync{FailuresInRow: 1}), assessment.Warn, "sync-memory"},
		{"sync-failures", "3", sync(projection.Sync{FailuresInRow: 3}), assessment.Fail, "sync-memory"},
	}
	for _, tt := range tests {
		t.Run(tt.check+"/"+tt.name, func(t *testing.T) {
			t.Parallel()
			c := tt.company.health(t, tt.check)
			remedy := ""
			if c.Remedy != nil {
				remedy = c.Remedy.Operation
			}
			if c.Status != tt.want {
				t.Errorf("status = %s (%s), want %s", c.Status, c.Reason, tt.want)
			}
			if remedy != tt.remedy {
				t.Errorf("remedy = %q, want %q", remedy, tt.remedy)
			}
			if known := tt.want != assessment.Unknown && tt.want != assessment.NotApplicable; (c.Score != nil) != known {
				t.Errorf("check has a score: %t, want %t for status %s", c.Score != nil, known, tt.want)
			}
			if c.Reason == "" {
				t.Error("check has no reason")
			}
		})
	}
}

func TestHealth_Score(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name       string
		company    *company
		score      string
		status     assessment.Status
		lowerBound float64
	}{
		{"nothing configured", newCompany(), "none", assessment.Unknown, 0},
		{"deliveries unknown", newCompany().webhook(nil), "100", assessment.Pass, 49},
		{"all well", newCompany().webhook(nil).attempts(noon(), 50, 0), "100", assessment.Pass, 100},
		{"critical", newCompany().webhook(nil).attempts(noon(), 50, 50), "49", assessment.Fail, 49},
		{"high", newCompany().webhook(func(i *projection.Integration) { i.Enabled, i.DisabledReason = false, "gone" }).attempts(noon(), 50, 0), "81.3", assessment.Warn, 81.3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := assessment.HealthOf(tt.company.Context, noon(), path)
			score := "none"
			if h.Score != nil {
				score = fmt.Sprint(*h.Score)
			}
			got, want := [...]any{score, h.Status, h.LowerBound}, [...]any{tt.score, tt.status, tt.lowerBound}
			if got != want {
				t.Errorf("score, status and lower bound = %v, want %v (coverage %g)", got, want, h.Coverage)
			}
		})
	}
}

func TestReadiness(t *testing.T) {
	t.Parallel()
	source := func(c *company) *company {
		return c.integration("github", integration.InboundReceive, nil)
	}
	complete := func() *company {
		c := source(newCompany().webhook(nil)).attempts(noon(), 50, 0)
		c.Company.Founders, c.Memory.LastChangedAt = 2, noon()
		return c
	}
	sandbox := complete()
	i := sandbox.Integrations["github"]
	i.State = integration.Sandbox
	sandbox.Integrations["github"] = i
	expired := complete().webhook(func(i *projection.Integration) { i.CertifiedUntil = noon() })
	tests := []struct {
		name     string
		company  *company
		level    int
		blocking string
	}{
		{"nothing configured", newCompany(), 0, "source-connected webhook-connected"},
		{"a webhook alone", newCompany().webhook(nil), 0, "source-connected"},
		{"a source alone", source(newCompany()), 0, "webhook-connected"},
		{"in the sandbox", sandbox, 1, "source-certified"},
		{"certification ended", expired, 1, "webhook-certified"},
		{"all recorded checks pass", complete(), 2, "policies-stored approvals-answered"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := assessment.ReadinessOf(tt.company.Context, noon(), path)
			if r.Level != tt.level {
				t.Errorf("level = %d, want %d", r.Level, tt.level)
			}
			if got := strings.Join(r.Blocking, " "); got != tt.blocking {
				t.Errorf("blocking = %q, want %q", got, tt.blocking)
			}
		})
	}
	upper := assessment.ReadinessOf(complete().Context, noon(), path)
	for check, want := range map[string]assessment.Status{"second-founder": assessment.Pass, "secrets-fresh": assessment.Pass, "policies-stored": assessment.Unknown, "approvals-answered": assessment.Unknown} {
		if got := find(t, upper.Levels[2].Checks, check).Status; got != want {
			t.Errorf("%s: %s, want %s", check, got, want)
		}
	}
	if !upper.Levels[3].Passed {
		t.Errorf("level 4 has not passed: %+v", upper.Levels[3])
	}
}

func TestRecommendations(t *testing.T) {
	t.Parallel()
	both := func(change func(*projection.Integration)) *company {
		return newCompany().integration("github", integration.InboundReceive, nil).webhook(change)
	}
	drifting := both(nil)
	drifting.Goals = projection.Goals{Open: 2, Listed: []projection.Goal{
		{ID: "g1", Title: "Ship", Status: goal.Misaligned, Since: noon().Add(-day)}, {ID: "g2", Status: goal.Aligned},
	}}
	pressing := both(func(i *projection.Integration) { i.CertifiedUntil = noon() })
	pressing.Goals = drifting.Goals
	for provider, ago := range map[string]time.Duration{"webhook-a": time.Hour, "webhook-b": 2 * time.Hour, "webhook-c": time.Hour} {
		i := pressing.Integrations["webhook"]
		i.CertifiedUntil, i.State, i.SandboxedAt = time.Time{}, integration.Sandbox, noon().Add(-ago)
		pressing.Integrations[provider] = i
	}
	stale := both(nil).feed(func(i *projection.Integration) { i.CertifiedAt = noon().Add(-2 * day) })
	failed := both(nil).feed(nil)
	failed.Syncs["feed"] = projection.Sync{FailuresInRow: 3, FailingSince: noon().Add(-time.Hour), Error: "404"}
	tests := []struct {
		name    string
		company *company
		want    string // rule, subject, priority, operation and age
	}{
		{"all well", both(nil), ""},
		{"nothing configured", newCompany(), "connect-source acme P2  0s, connect-webhook acme P2  0s"},
		{"sandbox", both(func(i *projection.Integration) { i.State, i.SandboxedAt = integration.Sandbox, noon().Add(-time.Hour) }),
			"certify-integration webhook P2 certify-integration 1h0m0s"},
		{"certification ends soon", both(func(i *projection.Integration) { i.CertifiedUntil = noon().Add(13 * day) }), "renew-certification webhook P2 certify-integration 24h0m0s"},
		{"certification ended", both(func(i *projection.Integration) { i.CertifiedUntil = noon() }), "renew-certification webhook P1 certify-integration 336h0m0s"},
		{"disabled", both(func(i *projection.Integration) { i.Enabled, i.DisabledReason, i.DisabledAt = false, "failing", noon() }),
			"enable-endpoint webhook P1 enable-integration 0s"},
		{"disabled manually", both(func(i *projection.Integration) { i.Enabled, i.DisabledReason = false, "manual" }), ""},
		{"fails 59 minutes", both(func(i *projection.Integration) { i.FailingSince = noon().Add(-59 * time.Minute) }), ""},
		{"fails an hour", both(func(i *projection.Integration) { i.FailingSince = noon().Add(-time.Hour) }), "mend-endpoint webhook P2 list-integration-deliveries 1h0m0s"},
		{"fails 3 days", both(func(i *projection.Integration) { i.FailingSince = noon().Add(-3 * day) }), "mend-endpoint webhook P1 list-integration-deliveries 72h0m0s"},
		{"held", both(nil).deliver(delivery.Held, noon().Add(-day), 3), "recover-held webhook P2 recover-integration 1h0m0s"},
		{"dead", both(nil).deliver(delivery.Dead, noon(), 3), "replay-dead-letters webhook P2 recover-integration 12h0m0s"},
		{"old secret", both(func(i *projection.Integration) { i.SecretAt = noon().Add(-91 * day) }), "rotate-secret webhook P3 rotate-integration-secret 24h0m0s"},
		{"goal", drifting, "review-goal g1 P2  24h0m0s"},
		{"by priority, rule, time and subject", pressing, "renew-certification webhook P1 certify-integration 336h0m0s, " +
			"certify-integration webhook-b P2 certify-integration 2h0m0s, certify-integration webhook-a P2 certify-integration 1h0m0s, " +
			"certify-integration webhook-c P2 certify-integration 1h0m0s, review-goal g1 P2  24h0m0s"},
		{"stale source", stale, "sync-source feed P3 sync-memory 24h0m0s"},
		{"failing source", failed, "mend-sync feed P1 sync-memory 1h0m0s"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			ids := map[string]bool{}
			for _, r := range assessment.Recommendations(tt.company.Context, noon(), path) {
				operation := ""
				if r.Operation != nil {
					operation = r.Operation.Operation
				}
				got = append(got, fmt.Sprint(r.Rule, " ", r.Subject.ID, " ", r.Priority, " ", operation, " ", noon().Sub(r.FirstSeenAt)))
				ids[r.ID] = true
				if r.State != assessment.Active {
					t.Errorf("%s: state = %s, want active", r.Rule, r.State)
				}
				if !r.LastSeenAt.Equal(noon()) {
					t.Errorf("%s: last seen at %v, want %v", r.Rule, r.LastSeenAt, noon())
				}
				if len(r.Evidence) == 0 {
					t.Errorf("%s has no evidence", r.Rule)
				}
				if r.Rationale == "" {
					t.Errorf("%s has no rationale", r.Rule)
				}
			}
			if got := strings.Join(got, ", "); got != tt.want {
				t.Errorf("recommendations = %q, want %q", got, tt.want)
			}
			if len(ids) != len(got) {
				t.Errorf("%d recommendations have %d different ids", len(got), len(ids))
			}
		})
	}
}

func TestMerge(t *testing.T) {
	t.Parallel()
	computed := assessment.Recommendations(newCompany().Context, noon(), path)
	before := slices.Clone(computed)
	merged := assessment.Merge(computed, []assessment.Stored{
		{ID: computed[0].ID, State: assessment.Dismissed, Version: 4}, {ID: computed[1].ID, State: assessment.Succeeded, Reopened: 1, Version: 2}, {ID: "ended"},
	})
	want := slices.Clone(computed)
	want[0].State, want[0].Version = assessment.Dismissed, 4
	want[1].State, want[1].Reopened, want[1].Version = assessment.Active, 2, 2
	if diff := cmp.Diff(want, merged); diff != "" {
		t.Errorf("merged recommendations differ (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, computed); diff != "" {
		t.Errorf("Merge changed its argument (-before +after):\n%s", diff)
	}
}

func TestBrief(t *testing.T) {
	t.Parallel()
	c := newCompany().webhook(nil).attempts(noon(), 50, 50)
	c.UpdatedAt = noon().Add(20 * time.Second)
	var entries []timeline.Entry
	for n := range 25 {
		at := noon().Add(time.Duration(15-n) * time.Second)
		entries = append(entries, timeline.Entry{ID: id.At(at), At: at, Kind: timeline.Note, Title: fmt.Sprint("note ", n)})
	}
	b := assessment.BriefOf(c.Context, noon(), noon().Add(-day), entries, path)
	var sections []string
	for _, s := range b.Sections {
		sections = append(sections, fmt.Sprint(s.ID, " ", len(s.Items)))
		for _, item := range s.Items {
			if evidence := strings.Join(item.Evidence, " "); !strings.HasPrefix(evidence, path+"/") {
				t.Errorf("evidence = %q, want a reference below %s: %+v", evidence, path, item)
			}
			if item.Severity == "" {
				t.Errorf("sentence has no severity: %+v", item)
			}
		}
	}
	if got, want := strings.Join(sections, ", "), "attention 1, changes 21, goals 0, integrations 2, recommendations 1"; got != want {
		t.Errorf("sections = %q, want %q", got, want)
	}
	if want := "Health is 49 of 100. Since 1 March 12:00 UTC, more than 20 things changed; one thing needs attention."; b.Headline != want {
		t.Errorf("headline %q, want %q", b.Headline, want)
	}
	if !b.Period.Until.Equal(c.UpdatedAt) {
		t.Errorf("until %v, want %v, the time of the last change", b.Period.Until, c.UpdatedAt)
	}
}

func TestNeedsHistory(t *testing.T) {
	t.Parallel()
	p := newCompany().Context
	if assessment.NeedsHistory(p, noon().Add(-day)) {
		t.Error("NeedsHistory = true for an empty timeline, want false")
	}
	for n := range projection.MaxTimeline {
		p.Timeline = append(p.Timeline, timeline.Entry{At: noon().Add(time.Duration(-n) * time.Hour)})
	}
	if !assessment.NeedsHistory(p, noon().Add(-day)) {
		t.Error("NeedsHistory = false a day ago, want true before the oldest listed entry, nine hours ago")
	}
	if assessment.NeedsHistory(p, noon().Add(-2*time.Hour)) {
		t.Error("NeedsHistory = true two hours ago, want false after the oldest listed entry, nine hours ago")
	}
}
