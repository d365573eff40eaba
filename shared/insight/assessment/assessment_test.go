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
	"orgops/shared/domain/recommendation"
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

// TestRecommendations_CredentialsReplaced ends the advice to replace credentials as soon as others are stored, of which it is not
// known when they expire, or which expire later.
func TestRecommendations_CredentialsReplaced(t *testing.T) {
	t.Parallel()
	c := newCompany()
	stored := integration.Integration{Provider: "github", Kind: "github", State: integration.Sandbox, Enabled: true, CreatedAt: noon()}
	advised := func(until *time.Time) bool {
		stored.Credentials = &integration.CredentialNames{Names: []string{"token"}, UpdatedAt: noon(), ExpiresAt: until}
		c.fold([]store.Change{c.change(integration.Entity, integration.Key("github"), noon(), stored)})
		return slices.ContainsFunc(assessment.Recommendations(c.Context, noon(), path), func(r assessment.Recommendation) bool {
			return r.Rule == "replace-credentials"
		})
	}
	soon, later := noon().Add(10*day), noon().Add(90*day)
	got := []bool{advised(nil), advised(&soon), advised(&later), advised(&soon), advised(nil)}
	if diff := cmp.Diff([]bool{false, true, false, true, false}, got); diff != "" {
		t.Errorf("advised to replace the credentials (-want +got):\n%s", diff)
	}
}

// attempts folds deliveries of the webhook, each with one attempt, into the context.
func (c *company) attempts(at time.Time, delivered, failed int) *company {
	var changes []store.Change
	for n := range delivered + failed {
		d := delivery.Delivery{Head: delivery.Head{EventID: id.At(at, fmt.Sprint(c.sequence)), Endpoint: "webhook", State: delivery.Delivered, CreatedAt: at}}
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
		d := delivery.Delivery{Head: delivery.Head{EventID: id.At(eventAt, fmt.Sprint(c.sequence)), Endpoint: "webhook", State: state, CreatedAt: eventAt}}
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
	p, _, failed := projection.Fold(c.Context, changes)
	if err := failed.Err(); err != nil {
		panic(err)
	}
	c.Context = p
	return c
}

// path starts the references: the company's path below a base path.
const path = "/live/companies/acme"

func (c *company) health(t testing.TB, check string) assessment.ScoredCheck {
	t.Helper()
	return find(t, assessment.HealthOf(c.Context, noon(), path).Checks, check)
}

func find(t testing.TB, checks []assessment.ScoredCheck, id string) assessment.ScoredCheck {
	t.Helper()
	for _, c := range checks {
		if c.ID == id {
			return c
		}
	}
	t.Fatalf("no check %s", id)
	return assessment.ScoredCheck{}
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
	ending := func(left time.Duration) *company {
		return newCompany().feed(func(i *projection.Integration) { i.CredentialsAt, i.CredentialsEnd = noon(), noon().Add(left) })
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
	approvals := func(ago time.Duration) *company {
		c := newCompany()
		c.Governance.Waiting = projection.Tally{{From: noon().Add(-ago), Count: 1}}
		return c
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
		{"webhook-deliveries", "the webhook was deleted", newCompany().attempts(noon(), 10, 10), assessment.Fail, ""},
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

		{"unanswered-approvals", "no policies", newCompany(), assessment.NotApplicable, ""},
		{"unanswered-approvals", "none", governed(newCompany(), 0), assessment.Pass, ""},
		{"unanswered-approvals", "waiting 3 hours", approvals(3 * time.Hour), assessment.Pass, ""},
		{"unanswered-approvals", "waiting 4 hours", approvals(4 * time.Hour), assessment.Warn, "list-approvals"},
		{"unanswered-approvals", "waiting 20 hours", approvals(20 * time.Hour), assessment.Fail, "list-approvals"},
		{"unanswered-approvals", "expired", governed(newCompany(), 1), assessment.Fail, "list-approvals"},

		{"webhook-effect", "none received", newCompany(), assessment.NotApplicable, ""},
		{"webhook-effect", "2 without effect", received(0, 2, 0), assessment.Pass, ""},
		{"webhook-effect", "3 without effect", received(0, 3, 0), assessment.Warn, "get-integration"},
		{"webhook-effect", "one of many with effect", received(1, 300, 0), assessment.Pass, ""},
		{"webhook-effect", "without effect before a change", received(0, 3, time.Hour), assessment.NotApplicable, ""},
		{"secret-age", "none", newCompany(), assessment.NotApplicable, ""},
		{"secret-age", "89 days", secret(89 * day), assessment.Pass, ""},
		{"secret-age", "90 days", secret(90 * day), assessment.Warn, "rotate-integration-secret"},
		{"secret-age", "180 days", secret(180 * day), assessment.Fail, "rotate-integration-secret"},
		{"secret-age", "of one that only receives", newCompany().integration("github", integration.InboundReceive, func(i *projection.Integration) { i.SecretAt = noon().Add(-90 * day) }), assessment.Warn, "get-integration"},

		{"credential-expiry", "no known end", credentials(400 * day), assessment.NotApplicable, ""},
		{"credential-expiry", "more than 14 days", ending(14*day + time.Minute), assessment.Pass, ""},
		{"credential-expiry", "14 days", ending(14 * day), assessment.Warn, "put-integration-credentials"},
		{"credential-expiry", "a minute", ending(time.Minute), assessment.Warn, "put-integration-credentials"},
		{"credential-expiry", "expired", ending(0), assessment.Fail, "put-integration-credentials"},
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

// received gives a company a connector that received webhooks, some time before it was last changed.
func received(effective, ineffective int64, before time.Duration) *company {
	c := newCompany().integration("github", integration.InboundReceive, func(i *projection.Integration) { i.ChangedAt = noon().Add(-time.Hour) })
	at := noon().Add(-time.Minute - before)
	r := projection.Result{Idle: projection.Idle{At: at, Count: ineffective, Why: "no rule of the mapping matches"}}
	if effective > 0 {
		r.Taken = r.Taken.Add(at, effective)
	}
	c.Results["github"] = r
	return c
}

// governed gives a company policies, and approvals that expired yesterday.
func governed(c *company, expired int) *company {
	c.Governance = projection.Governance{Policies: 1, PoliciesAt: noon()}
	if expired > 0 {
		c.Governance.Unanswered = projection.Tally{{From: noon().Add(-day), Count: expired}}
	}
	return c
}

func TestReadiness(t *testing.T) {
	t.Parallel()
	source := func(c *company) *company {
		return c.integration("github", integration.InboundReceive, nil)
	}
	complete := func() *company {
		c := source(newCompany().webhook(nil)).attempts(noon(), 50, 0)
		c.Company.Founders = 2
		c.Memory.Providers["github"] = projection.ProviderMemory{Count: 1, LastChangedAt: noon()}
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
		{"no policies", complete(), 2, "policies-stored"},
		{"everything passes", governed(complete(), 0), 4, ""},
		{"an approval expired", governed(complete(), 1), 2, "approvals-answered"},
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
	off := complete()
	off.Goals = projection.Goals{GoalCounts: projection.GoalCounts{Open: 1, Drifting: 1}, Listed: []projection.Goal{{ID: "g", Status: goal.Drifting}}}
	for _, tt := range []struct {
		name  string
		until time.Time
		want  assessment.Status
	}{
		{"not explained", time.Time{}, assessment.Fail},
		{"explained until now", noon(), assessment.Fail},
		{"explained until tomorrow", noon().Add(day), assessment.Pass},
	} {
		off.Goals.Explained = map[string]time.Time{"g": tt.until}
		c := find(t, assessment.ReadinessOf(off.Context, noon(), path).Levels[3].Checks, "goals-aligned")
		if c.Status != tt.want {
			t.Errorf("a drifting goal, %s: %s, want %s", tt.name, c.Status, tt.want)
		}
		if got, want := c.Remedy != nil, tt.want == assessment.Fail; got != want {
			t.Errorf("a drifting goal, %s: has a remedy: %t, want %t", tt.name, got, want)
		}
	}
	upper := assessment.ReadinessOf(complete().Context, noon(), path)
	for check, want := range map[string]assessment.Status{"second-founder": assessment.Pass, "secrets-fresh": assessment.Pass, "policies-stored": assessment.Fail, "approvals-answered": assessment.Pass} {
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
		return governed(newCompany(), 0).integration("github", integration.InboundReceive, nil).webhook(change)
	}
	drifting := both(nil)
	drifting.Goals = projection.Goals{GoalCounts: projection.GoalCounts{Open: 2}, Listed: []projection.Goal{
		{ID: "g1", Title: "Ship", Status: goal.Misaligned, Since: noon().Add(-day), DueAt: noon().Add(-day)}, {ID: "g2", Status: goal.Aligned, DueAt: noon().Add(day)},
	}}
	pressing := both(func(i *projection.Integration) { i.CertifiedUntil = noon() })
	pressing.Goals = drifting.Goals
	for provider, ago := range map[string]time.Duration{"webhook-a": time.Hour, "webhook-b": 2 * time.Hour, "webhook-c": time.Hour} {
		i := pressing.Integrations["webhook"]
		i.CertifiedUntil, i.State, i.SandboxedAt = time.Time{}, integration.Sandbox, noon().Add(-ago)
		pressing.Integrations[provider] = i
	}
	stale := both(nil).feed(func(i *projection.Integration) { i.CertifiedAt = noon().Add(-2 * day) })
	outdated := both(nil).feed(func(i *projection.Integration) { i.CertifiedAt = noon().Add(-9 * day) })
	outdated.Syncs["feed"] = projection.Sync{LastSucceededAt: noon().Add(-2 * day)}
	stuck := both(nil).feed(nil)
	stuck.Syncs["feed"] = projection.Sync{Run: "r", State: syncrun.Running, RunningSince: noon().Add(-7 * time.Hour), LastSucceededAt: noon().Add(-8 * time.Hour)}
	idle := both(nil)
	idle.Results["github"] = received(0, 3, 0).Results["github"]
	changed := idle.Integrations["github"]
	changed.ChangedAt = noon().Add(-time.Hour)
	idle.Integrations["github"] = changed
	silent := both(nil)
	silent.Memory.Providers["github"] = projection.ProviderMemory{Count: 3, LastChangedAt: noon().Add(-8 * day)}
	alone := both(nil)
	alone.Company = projection.Company{Founders: 1, CreatedAt: noon().Add(-day)}
	done := both(nil)
	done.Goals = projection.Goals{GoalCounts: projection.GoalCounts{Open: 1, Aligned: 1}, Listed: []projection.Goal{{ID: "g", Title: "Ship", Status: goal.Aligned, Progress: 1, Since: noon()}}}
	undated := both(nil)
	undated.Goals = projection.Goals{GoalCounts: projection.GoalCounts{Open: 1, Aligned: 1}, Listed: []projection.Goal{{ID: "g", Title: "Ship", Status: goal.Aligned, Since: noon().Add(-day)}}}
	waiting := both(nil)
	waiting.Governance.Waiting = projection.Tally{{From: noon().Add(-5 * time.Hour), Count: 1}}
	failed := both(nil).feed(nil)
	failed.Syncs["feed"] = projection.Sync{FailuresInRow: 3, FailingSince: noon().Add(-time.Hour), Error: "404"}
	closed := both(nil).feed(func(i *projection.Integration) {
		i.ClosedPorts, i.SyncPausedAt = []integration.Port{integration.SyncPull}, noon().Add(-day)
	})
	closed.Syncs["feed"] = projection.Sync{FailuresInRow: 3, FailingSince: noon().Add(-5 * day), Error: "404"}
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
		{"old secret of a provider", governed(newCompany(), 0).webhook(nil).integration("github", integration.InboundReceive, func(i *projection.Integration) { i.SecretAt = noon().Add(-91 * day) }), "rotate-secret github P3 get-integration 24h0m0s"},
		{"goal", drifting, "review-goal g1 P2  24h0m0s"},
		{"by priority, rule, time and subject", pressing, "renew-certification webhook P1 certify-integration 336h0m0s, " +
			"certify-integration webhook-b P2 certify-integration 2h0m0s, certify-integration webhook-a P2 certify-integration 1h0m0s, " +
			"certify-integration webhook-c P2 certify-integration 1h0m0s, review-goal g1 P2  24h0m0s"},
		{"source never synced", stale, "first-sync feed P2 sync-memory 47h0m0s"},
		{"stale source", outdated, "sync-source feed P3 sync-memory 24h0m0s"},
		{"stuck sync", stuck, "cancel-sync feed P3 cancel-sync 1h0m0s"},
		{"webhooks without effect", idle, "check-effect github P2 get-integration 1h0m0s"},
		{"silent source", silent, "check-silence github P4 list-memories 24h0m0s"},
		{"no policies", newCompany().integration("github", integration.InboundReceive, nil).webhook(nil), "store-policies acme P4 get-policies 0s"},
		{"approval waits", waiting, "answer-approval acme P2 list-approvals 5h0m0s"},
		{"one founder", alone, "add-founder acme P3  24h0m0s"},
		{"done goal", done, "close-goal g P4  0s"},
		{"goal without a date", undated, "date-goals acme P4  24h0m0s"},
		{"disabled manually a week ago", both(func(i *projection.Integration) {
			i.Enabled, i.DisabledReason, i.DisabledAt = false, "manual", noon().Add(-7*day)
		}),
			"resume-integration webhook P4 enable-integration 0s"},
		{"fails 4 days", both(func(i *projection.Integration) { i.FailingSince = noon().Add(-4 * day) }),
			"test-endpoint webhook P1 test-integration 0s, mend-endpoint webhook P1 list-integration-deliveries 96h0m0s"},
		{"fails often", both(nil).attempts(noon().Add(-time.Hour), 36, 4), "reduce-failures webhook P3 list-integration-deliveries 1h0m0s"},
		{"fails mostly", both(nil).attempts(noon().Add(-time.Hour), 10, 10), "reduce-failures webhook P2 list-integration-deliveries 1h0m0s"},
		{"backlog", both(nil).deliver(delivery.Scheduled, noon().Add(-3*time.Hour), 2), "drain-backlog webhook P2 list-integration-deliveries 55m0s"},
		{"old credentials", both(func(i *projection.Integration) { i.CredentialsAt = noon().Add(-181 * day) }), "refresh-credentials webhook P3  24h0m0s"},
		{"credentials of 15 days", both(func(i *projection.Integration) { i.CredentialsEnd = noon().Add(15 * day) }), ""},
		{"credentials of 13 days", both(func(i *projection.Integration) { i.CredentialsEnd = noon().Add(13 * day) }), "replace-credentials webhook P2 get-integration 24h0m0s"},
		{"credentials of 3 days", both(func(i *projection.Integration) { i.CredentialsEnd = noon().Add(3 * day) }), "replace-credentials webhook P1 get-integration 264h0m0s"},
		{"expired credentials", both(func(i *projection.Integration) { i.CredentialsEnd = noon().Add(-day) }), "replace-credentials webhook P1 get-integration 360h0m0s"},
		{"a connection of 13 days", both(func(i *projection.Integration) { i.Connected, i.CredentialsEnd = true, noon().Add(13*day) }), "replace-credentials webhook P2 get-integration 24h0m0s"},
		{"a connection that has ended", both(func(i *projection.Integration) { i.Connected, i.CredentialsEnd = true, noon().Add(-time.Hour) }), "replace-credentials webhook P1 get-integration 1h0m0s"},
		{"an old connection", both(func(i *projection.Integration) { i.Connected, i.CredentialsAt = true, noon().Add(-181*day) }), ""},
		{"failing source", failed, "mend-sync feed P1 sync-memory 1h0m0s"},
		{"source with a closed port", closed, "mend-sync feed P1 certify-integration 120h0m0s, resume-schedule feed P2 certify-integration 24h0m0s"},
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
				if r.State != recommendation.Active {
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

// TestRecommendations_Secret tells who makes the new secret: the service for an endpoint, the provider for a source.
func TestRecommendations_Secret(t *testing.T) {
	t.Parallel()
	old := func(i *projection.Integration) { i.SecretAt = noon().Add(-91 * day) }
	c := governed(newCompany(), 0).webhook(old).integration("github", integration.InboundReceive, old)
	got := map[string]string{}
	for _, r := range assessment.Recommendations(c.Context, noon(), path) {
		got[r.Subject.ID] = r.Rationale
	}
	want := map[string]string{
		"github":  "The secret is 91 days old. Make a new one at the provider and store it; the old one is also accepted for 24 more hours.",
		"webhook": "The secret is 91 days old. A new secret is shown once; the old one also signs for 24 more hours.",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rationales differ (-want +got):\n%s", diff)
	}
}

// TestRecommendationsWith applies each stored decision for as long as it holds.
func TestRecommendationsWith(t *testing.T) {
	t.Parallel()
	facts := newCompany().Context
	one := assessment.Recommendations(facts, noon(), path)[0] // of P2
	ago := noon().Add(-day)
	tests := []struct {
		name     string
		stored   recommendation.Standing
		want     recommendation.State
		reopened int
	}{
		{"dismissed", recommendation.Standing{State: recommendation.Dismissed, Priority: recommendation.P2, Until: noon().Add(day)}, recommendation.Dismissed, 0},
		{"dismissed until now", recommendation.Standing{State: recommendation.Dismissed, Priority: recommendation.P2, Until: noon()}, recommendation.Active, 0},
		{"dismissed when it was less urgent", recommendation.Standing{State: recommendation.Dismissed, Priority: recommendation.P3, Until: noon().Add(day)}, recommendation.Active, 0},
		{"dismissed when it was more urgent", recommendation.Standing{State: recommendation.Dismissed, Priority: recommendation.P1, Until: noon().Add(day)}, recommendation.Dismissed, 0},
		{"claimed", recommendation.Standing{State: recommendation.Claimed, Priority: recommendation.P2, At: ago}, recommendation.Claimed, 0},
		{"claimed 14 days ago", recommendation.Standing{State: recommendation.Claimed, Priority: recommendation.P2, At: noon().Add(-14 * day)}, recommendation.Failed, 0},
		{"claimed when it was less urgent", recommendation.Standing{State: recommendation.Claimed, Priority: recommendation.P3, At: ago}, recommendation.Failed, 0},
		{"succeeded before", recommendation.Standing{State: recommendation.Succeeded, Priority: recommendation.P2, At: ago, Reopened: 1}, recommendation.Active, 2},
		{"opened again", recommendation.Standing{State: recommendation.Active, Priority: recommendation.P2, At: ago, Reopened: 1}, recommendation.Active, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			stored := one.Stored()
			stored.Standing = tt.stored
			got := assessment.RecommendationsWith(facts, noon(), path, []recommendation.Stored{stored})[0]
			if got.State != tt.want {
				t.Errorf("state = %s, want %s", got.State, tt.want)
			}
			if got.Reopened != tt.reopened {
				t.Errorf("reopened = %d, want %d", got.Reopened, tt.reopened)
			}
		})
	}
	elsewhere := recommendation.Stored{ID: "ended", Rule: "enable-endpoint", Standing: recommendation.Standing{State: recommendation.Claimed}}
	all := assessment.RecommendationsWith(facts, noon(), path, []recommendation.Stored{elsewhere})
	i := slices.IndexFunc(all, func(r assessment.Recommendation) bool { return r.ID == "ended" })
	if i < 0 {
		t.Fatalf("no recommendation whose condition has ended in %+v", all)
	}
	if got := all[i].State; got != recommendation.Succeeded {
		t.Errorf("state after the condition has ended = %s, want succeeded", got)
	}
}

// TestRecommendations_Scores checks that no decision about a recommendation moves a score or a level.
func TestRecommendations_Scores(t *testing.T) {
	t.Parallel()
	for seed := range uint64(seeds) {
		p := arbitrary(seed).Context
		health, readiness := assessment.HealthOf(p, noon(), path), assessment.ReadinessOf(p, noon(), path)
		p.Recommendations = map[string]recommendation.Standing{}
		for _, r := range assessment.Recommendations(p, noon(), path) {
			p.Recommendations[r.ID] = recommendation.Standing{State: recommendation.Dismissed, Priority: r.Priority, Until: noon().Add(day)}
		}
		if diff := cmp.Diff(health, assessment.HealthOf(p, noon(), path)); diff != "" {
			t.Errorf("seed %d: dismissing everything changed health (-want +got):\n%s", seed, diff)
		}
		if diff := cmp.Diff(readiness, assessment.ReadinessOf(p, noon(), path)); diff != "" {
			t.Errorf("seed %d: dismissing everything changed readiness (-want +got):\n%s", seed, diff)
		}
	}
}

func TestBrief(t *testing.T) {
	t.Parallel()
	c := newCompany().webhook(nil).attempts(noon(), 50, 50)
	c.UpdatedAt = noon().Add(20 * time.Second)
	var entries []timeline.Entry
	for n := range 25 {
		at := noon().Add(time.Duration(15-n) * time.Second)
		about := timeline.Reference{Type: "note", ID: fmt.Sprint(n)}
		entries = append(entries, timeline.Entry{ID: id.At(at), At: at, Kind: timeline.Note, Title: fmt.Sprint("note ", n), Subject: about})
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
	if got, want := strings.Join(sections, ", "), "attention 2, changes 9, goals 0, integrations 2, recommendations 2"; got != want {
		t.Errorf("sections = %q, want %q", got, want)
	}
	if want := "Health is 49 of 100, capped at 49 because a critical check fails: Webhook deliveries. " +
		"Since 1 March, 25 things changed; 2 things need attention, first: Webhook deliveries."; b.Headline != want {
		t.Errorf("headline %q, want %q", b.Headline, want)
	}
	if !b.Period.Until.Equal(c.UpdatedAt) {
		t.Errorf("until %v, want %v, the time of the last change", b.Period.Until, c.UpdatedAt)
	}
}

// TestBrief_Sources names of 200 sources one of each kind, that of the oldest sync, the oldest kind first.
func TestBrief_Sources(t *testing.T) {
	t.Parallel()
	c := newCompany()
	for n := range 200 {
		kind := []string{"feed", "github"}[n%2]
		name := fmt.Sprintf("%s-%03d", kind, n)
		c.Integrations[name] = projection.Integration{Kind: kind, Enabled: true, Ports: []integration.Port{integration.SyncPull}}
		c.Syncs[name] = projection.Sync{LastSucceededAt: noon().Add(-time.Duration(n) * time.Hour)}
	}
	c.Integrations["linear"] = projection.Integration{Kind: "linear", Enabled: true, Ports: []integration.Port{integration.SyncPull}}
	c.Syncs["linear"] = projection.Sync{LastSucceededAt: noon().Add(-time.Hour)}
	var got []string
	for _, section := range assessment.BriefOf(c.Context, noon(), noon().Add(-day), nil, path).Sections {
		for _, item := range section.Items {
			if section.ID == "integrations" {
				got = append(got, item.Text)
			}
		}
	}
	want := []string{
		"201 integrations: 201 in the sandbox.",
		"100 integrations of the kind github are synced; the one of longest ago: github-199 was last synced 8 days ago.",
		"100 integrations of the kind feed are synced; the one of longest ago: feed-198 was last synced 8 days ago.",
		"linear was last synced 60 minutes ago.",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sentences differ (-want +got):\n%s", diff)
	}
}

// TestHealth_Sources shows of 200 integrations the 20 that are worst, the worst first, and counts the others.
func TestHealth_Sources(t *testing.T) {
	t.Parallel()
	c := newCompany()
	for n := range 200 {
		name := fmt.Sprintf("feed-%03d", n)
		c.Integrations[name] = projection.Integration{
			Kind: "feed", Enabled: true, State: integration.Certified, CertifiedUntil: noon().Add(time.Duration(90+n) * day), Ports: []integration.Port{integration.SyncPull},
			CertifiedPorts: []integration.Port{integration.SyncPull},
		}
		c.Syncs[name] = projection.Sync{LastSucceededAt: noon().Add(-time.Duration(n) * time.Hour)}
	}
	for check, want := range map[string][]string{
		"sync-freshness":       {"since feed-199 was synced 199 hours", "since feed-198 was synced 198 hours"},
		"certification-expiry": {"certification of feed-000 90 days left", "certification of feed-001 91 days left"},
	} {
		var got []string
		for _, e := range c.health(t, check).Evidence {
			got = append(got, fmt.Sprintf("%s %g %s", e.Name, e.Value, e.Unit))
		}
		if len(got) != 21 {
			t.Fatalf("%s: %d facts, want 21: %q", check, len(got), got)
		}
		if diff := cmp.Diff(append(want, "integrations with a better value 180 integrations"), append(got[:2:2], got[20])); diff != "" {
			t.Errorf("%s: facts differ (-want +got):\n%s", check, diff)
		}
	}
}

// TestAttention counts everything that needs a person, the worst first, and shows it alike in the brief, its headline and the
// dashboard.
func TestAttention(t *testing.T) {
	t.Parallel()
	c := newCompany().webhook(nil).attempts(noon(), 30, 0)
	c.Integrations["github"] = projection.Integration{
		Kind: "github", State: integration.Certified, Enabled: true, CertifiedAt: noon().Add(-day), CertifiedUntil: noon().Add(80 * day), CreatedAt: noon().Add(-day),
		Ports: []integration.Port{integration.InboundReceive, integration.MemoryUpsert}, CertifiedPorts: []integration.Port{integration.InboundReceive, integration.MemoryUpsert},
	}
	needs := func() []string {
		var titles []string
		for _, w := range assessment.DashboardOf(c.Context, noon(), path).Widgets {
			if w.ID == "attention" {
				for _, n := range w.Data.(assessment.Listing[assessment.Need]).Items {
					titles = append(titles, string(n.Severity)+" "+n.Title)
				}
			}
		}
		b := assessment.BriefOf(c.Context, noon(), noon().Add(-day), nil, path)
		if got := len(b.Sections[0].Items); got != len(titles) {
			t.Errorf("the brief lists %d things, the dashboard %q", got, titles)
		}
		if want := "needs attention"; len(titles) == 0 && !strings.HasSuffix(b.Headline, "; nothing "+want+".") {
			t.Errorf("headline %q, want nothing that %s", b.Headline, want)
		}
		if len(titles) > 0 && !strings.HasSuffix(b.Headline, ": "+strings.SplitN(titles[0], " ", 2)[1]+".") {
			t.Errorf("headline %q, want the worst first, %s", b.Headline, titles[0])
		}
		return titles
	}
	expect := func(what string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, needs()); diff != "" {
			t.Errorf("%s: attention differs (-want +got):\n%s", what, diff)
		}
	}
	expect("a company at rest")
	c.Governance.Waiting = projection.Tally{{From: noon().Add(-time.Hour), Count: 1}}
	expect("an approval that waits", "low Answer the approvals that wait")
	c.Goals = projection.Goals{GoalCounts: projection.GoalCounts{Open: 1, Misaligned: 1}, Listed: []projection.Goal{{ID: "g", Title: "Ship", Status: goal.Misaligned, Reason: "25 % done", Since: noon()}}}
	expect("a misaligned goal", `medium Review "Ship"`, "low Answer the approvals that wait")
	c.Goals.Explained = map[string]time.Time{"g": noon().Add(day)}
	expect("an explained goal", "low Answer the approvals that wait")
	w := c.Integrations["webhook"]
	w.FailingSince = noon().Add(-5 * time.Minute)
	c.Integrations["webhook"] = w
	expect("an endpoint that begins to fail", "medium webhook fails", "low Answer the approvals that wait")
	w.FailingSince = noon().Add(-2 * day)
	c.Integrations["webhook"] = w
	expect("an endpoint that fails for days, told once", "medium Look at why webhook fails", "low Answer the approvals that wait")
}

// TestHealth_Cap says that a score is capped, and why.
func TestHealth_Cap(t *testing.T) {
	t.Parallel()
	h := assessment.HealthOf(newCompany().webhook(nil).attempts(noon(), 50, 50).Context, noon(), path)
	if h.Cap == nil {
		t.Fatalf("cap is missing from %+v, want that of a failed critical check", h)
	}
	lost := 0.0
	for _, c := range h.Checks {
		lost += c.PointsLost
	}
	if got := 100 - h.Cap.Mean - lost; got > 0.5 || got < -0.5 {
		t.Errorf("mean %g and points lost %g do not add up to 100", h.Cap.Mean, lost)
	}
	if got, want := fmt.Sprint(*h.Score, h.Cap.At, h.Cap.Because), "49 49 [Webhook deliveries]"; got != want {
		t.Errorf("score, cap and cause = %s, want %s", got, want)
	}
	if h := assessment.HealthOf(newCompany().webhook(nil).attempts(noon(), 50, 0).Context, noon(), path); h.Cap != nil {
		t.Errorf("cap = %+v without a failed check, want none", h.Cap)
	}
}

// TestRecommendations_Younger dates no recommendation before its subject: the failures are those of an earlier integration.
func TestRecommendations_Younger(t *testing.T) {
	t.Parallel()
	c := newCompany()
	created := noon().Add(-time.Hour)
	c.Integrations["feed"] = projection.Integration{Kind: "feed", State: integration.Sandbox, Enabled: true, SandboxedAt: created, CreatedAt: created, Ports: []integration.Port{integration.SyncPull}}
	c.Syncs["feed"] = projection.Sync{FailuresInRow: 2, FailingSince: noon().Add(-30 * day), State: "failed"}
	for _, r := range assessment.Recommendations(c.Context, noon(), path) {
		if r.Subject.ID == "feed" && r.FirstSeenAt.Before(created) {
			t.Errorf("%s is seen since %v, want not before %v", r.Rule, r.FirstSeenAt, created)
		}
	}
}

// TestRecommendations_Former shows nothing of what was decided about an integration that was deleted on another integration, which has its name now.
func TestRecommendations_Former(t *testing.T) {
	t.Parallel()
	c := newCompany()
	created := noon().Add(-time.Hour)
	c.Integrations["feed"] = projection.Integration{Kind: "feed", State: integration.Sandbox, Enabled: true, SandboxedAt: created, CreatedAt: created, Ports: []integration.Port{integration.SyncPull}}
	name := recommendation.ID("certify-integration", timeline.Reference{Type: "integration", ID: "feed"})
	shown := func(at time.Time) assessment.Recommendation {
		t.Helper()
		stored := recommendation.Stored{ID: name}.Dismiss("u", "planned", "We do it in May.", noon().Add(30*day), at)
		stored.Version = 3
		all := assessment.RecommendationsWith(c.Context, noon(), path, []recommendation.Stored{stored})
		n := slices.IndexFunc(all, func(r assessment.Recommendation) bool { return r.ID == name })
		if n < 0 {
			t.Fatalf("no recommendation to certify among %+v", all)
		}
		return all[n]
	}
	if r := shown(created.Add(time.Minute)); r.State != recommendation.Dismissed {
		t.Errorf("after a dismissal the state is %s", r.State)
	}
	r := shown(created.Add(-time.Minute))
	if r.State != recommendation.Active {
		t.Errorf("after a dismissal of the former one the state is %s, want active", r.State)
	}
	if r.Dismissal != nil {
		t.Errorf("the dismissal of the former one is shown: %+v", r.Dismissal)
	}
	if r.Version != 3 {
		t.Errorf("version = %d, want that of the stored item, 3", r.Version)
	}
}

// TestBrief_Changes tells what happened to an entity in one sentence.
func TestBrief_Changes(t *testing.T) {
	t.Parallel()
	github, ship := timeline.Reference{Type: "integration", ID: "github"}, timeline.Reference{Type: "goal", ID: "g"}
	entry := func(ago time.Duration, kind timeline.Kind, about timeline.Reference, title string) timeline.Entry {
		return timeline.Entry{ID: id.At(noon().Add(-ago)), At: noon().Add(-ago), Kind: kind, Subject: about, Actor: github, Title: title}
	}
	entries := []timeline.Entry{
		entry(time.Hour, timeline.MemorySynced, timeline.Reference{Type: "sync", ID: "2"}, "github synced: 1 new, 0 changed, 0 gone"),
		entry(2*time.Hour, timeline.GoalUpdated, ship, `"Ship" went from 20 % to 30 %`),
		entry(3*time.Hour, timeline.MemorySynced, timeline.Reference{Type: "sync", ID: "1"}, "github synced: 9 new, 0 changed, 0 gone"),
		entry(4*time.Hour, timeline.GoalUpdated, ship, `"Ship" went from 10 % to 20 %`),
		entry(5*time.Hour, timeline.IntegrationCertified, github, "github was certified until 2026-05-31"),
		entry(6*time.Hour, timeline.IntegrationConfigured, github, "github was configured"),
		entry(30*time.Hour, timeline.Note, timeline.Reference{Type: "note", ID: "n"}, "moved office"),
	}
	tests := []struct {
		name  string
		since time.Duration
		want  []string
	}{
		{"a day", day, []string{"github: configured, certified and synced 2 times.", `"Ship" went from 20 % to 30 %, the last of 2 changes.`}},
		{"a week", 7 * day, []string{
			"github: configured, certified and synced 2 times (2 March).", `"Ship" went from 20 % to 30 %, the last of 2 changes (2 March).`,
			"Moved office (1 March).",
		}},
		{"an hour ago", 0, []string{}},
	}
	for _, tt := range tests {
		got := []string{}
		for _, s := range assessment.BriefOf(newCompany().Context, noon(), noon().Add(-tt.since), entries, path).Sections[1].Items {
			got = append(got, s.Text)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: changes differ (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestBrief_Markdown(t *testing.T) {
	t.Parallel()
	c := newCompany()
	c.Goals = projection.Goals{GoalCounts: projection.GoalCounts{Open: 1, Drifting: 1}, Listed: []projection.Goal{{ID: "g", Title: "<b>*Ship*", Status: goal.Drifting, Reason: "25 % done"}}}
	text := assessment.BriefOf(c.Context, noon(), noon().Add(-day), nil, path).Markdown()
	for _, want := range []string{
		"# There is no health score yet. Since 1 March, nothing changed; 2 things need attention, first: Connect a first source.\n", "\n## Goals\n\n- 1 open goal",
		"- \"\\<b\\>\\*Ship\\*\" is drifting: 25 % done. [Show](<" + path + "/goals/g>)\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the Markdown lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "## What changed") {
		t.Errorf("the Markdown has a section without sentences:\n%s", text)
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
