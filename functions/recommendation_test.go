package functions_test

import (
	"encoding/json"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/functions"
	"orgops/shared/base/id"
	"orgops/shared/domain/executive"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/syncrun"
	"orgops/shared/insight/assessment"
	"orgops/shared/insight/projection"
	"orgops/shared/provider/catalog"
	"orgops/shared/provider/policyengine"
	"orgops/shared/run/boot"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
	"orgops/shared/webhook/outbound"
)

// advised serves the whole API for a company whose context a test sets.
type advised struct {
	*webtest.Harness
	t   *testing.T
	now time.Time
}

func newAdvised(t *testing.T) *advised {
	t.Helper()
	s := &advised{Harness: webtest.New(t), t: t, now: time.Now().UTC()}
	client := outbound.New(outbound.Options{AllowLoopback: true})
	functions.Mount(s.API(), boot.New(boot.Parts{
		Store: s.Store, Vault: s.Vault, Client: client, Connectors: catalog.All(client, time.Now),
		Logger: slog.New(slog.DiscardHandler), Now: time.Now, Engine: policyengine.New(time.Now),
	}))
	return s
}

func (s *advised) configure(provider string, body any) {
	s.t.Helper()
	s.Do("POST", "/companies/"+s.A.ID+"/integrations/"+provider, s.A.Token, body).Want(201)
}

// connected returns the facts of a company with a certified webhook, a certified feed and a sandboxed GitHub repository,
// which it configures too.
func (s *advised) connected() projection.Context {
	s.t.Helper()
	s.configure("webhook", map[string]any{"url": "http://127.0.0.1:1/", "events": []string{"memory.*"}})
	s.configure("feed", map[string]any{"url": "http://127.0.0.1:1/feed"})
	p := projection.Empty(s.A.ID)
	for provider, port := range map[string]integration.Port{"webhook": integration.EventDeliver, "feed": integration.SyncPull} {
		ports := []integration.Port{port}
		p.Integrations[provider] = projection.Integration{
			Kind: provider, State: integration.Certified, Enabled: true, Ports: ports, CertifiedPorts: ports,
			CertifiedAt: s.now.Add(-time.Hour), CertifiedUntil: s.now.Add(80 * 24 * time.Hour), SecretAt: s.now,
		}
	}
	p.Syncs["feed"] = projection.Sync{LastSucceededAt: s.now}
	return p
}

// cause puts the cause of one rule into the facts of a connected company.
type cause struct {
	rule   string
	called bool // the recommendation has an operation
	make   func(s *advised, p *projection.Context)
}

func change(provider string, edit func(*projection.Integration, time.Time)) func(*advised, *projection.Context) {
	return func(s *advised, p *projection.Context) {
		i := p.Integrations[provider]
		edit(&i, s.now)
		p.Integrations[provider] = i
	}
}

func causes() []cause {
	const month = 30 * 24 * time.Hour
	waiting := func(e projection.Endpoint) func(*advised, *projection.Context) {
		return func(_ *advised, p *projection.Context) {
			if e.Hourly.Seconds == 0 {
				e.Hourly = p.Deliveries.Hourly
			}
			p.Deliveries.Endpoints["webhook"] = e
		}
	}
	since := func() projection.Tally { // from before the time that deliveries are kept
		return projection.Tally{{From: time.Now().UTC().Add(-month - time.Hour), Count: 3}}
	}
	failing := change("webhook", func(i *projection.Integration, now time.Time) { i.FailingSince = now.Add(-4*24*time.Hour - time.Hour) })
	goals := func(g projection.Goal) func(*advised, *projection.Context) {
		return func(s *advised, p *projection.Context) {
			g.ID, g.Title, g.Since = id.New(), "Ship", s.now.Add(-time.Hour)
			p.Goals = projection.Goals{GoalCounts: projection.GoalCounts{Open: 1}, Listed: []projection.Goal{g}}
		}
	}
	failed := func(s *advised, p *projection.Context) {
		p.Syncs["feed"] = projection.Sync{State: syncrun.Failed, FailuresInRow: 3, FailingSince: s.now.Add(-time.Hour), Error: "it answered 500"}
	}
	return []cause{
		{"connect-source", false, func(_ *advised, p *projection.Context) { delete(p.Integrations, "feed") }},
		{"connect-webhook", false, func(_ *advised, p *projection.Context) { delete(p.Integrations, "webhook") }},
		{"certify-integration", true, change("webhook", func(i *projection.Integration, now time.Time) {
			i.State, i.SandboxedAt = integration.Sandbox, now.Add(-time.Hour)
		})},
		{"renew-certification", true, change("feed", func(i *projection.Integration, now time.Time) { i.CertifiedUntil = now.Add(time.Hour) })},
		{"enable-endpoint", true, change("webhook", func(i *projection.Integration, now time.Time) {
			i.Enabled, i.DisabledReason, i.DisabledAt = false, integration.DisabledFailing, now.Add(-time.Hour)
		})},
		{"test-endpoint", true, failing},
		{"mend-endpoint", true, failing},
		{"reduce-failures", true, waiting(projection.Endpoint{Hourly: projection.Window{
			Start: time.Now().UTC().Truncate(time.Hour).Add(-time.Hour), Seconds: 3600, Delivered: []int64{20}, Failed: []int64{10},
		}})},
		{"drain-backlog", true, func(s *advised, p *projection.Context) {
			waiting(projection.Endpoint{Pending: 2})(s, p)
			p.Deliveries.Pending = projection.Tally{{From: s.now.Add(-5 * time.Hour), Count: 2}}
		}},
		{"recover-held", true, waiting(projection.Endpoint{Held: since()})},
		{"replay-dead-letters", true, waiting(projection.Endpoint{Dead: since()})},
		{"rotate-secret", true, change("webhook", func(i *projection.Integration, now time.Time) { i.SecretAt = now.Add(-4 * month) })},
		{"replace-credentials", true, change("feed", func(i *projection.Integration, now time.Time) { i.CredentialsEnd = now.Add(time.Hour) })},
		{"refresh-credentials", false, change("feed", func(i *projection.Integration, now time.Time) { i.CredentialsAt = now.Add(-7 * month) })},
		{"mend-sync", true, failed},
		{"mend-sync", false, func(s *advised, p *projection.Context) { // while another run is under way
			failed(s, p)
			s.underWay(p)
		}},
		{"first-sync", true, func(s *advised, p *projection.Context) {
			change("feed", func(i *projection.Integration, now time.Time) { i.CertifiedAt = now.Add(-2 * time.Hour) })(s, p)
			delete(p.Syncs, "feed")
		}},
		{"sync-source", true, func(s *advised, p *projection.Context) {
			change("feed", func(i *projection.Integration, now time.Time) { i.CertifiedAt = now.Add(-2 * month) })(s, p)
			p.Syncs["feed"] = projection.Sync{LastSucceededAt: s.now.Add(-month)}
		}},
		{"resume-schedule", true, func(s *advised, p *projection.Context) {
			change("feed", func(i *projection.Integration, now time.Time) {
				i.SyncSeconds, i.SyncPausedAt = 3600, now.Add(-time.Hour)
			})(s, p)
		}},
		{"confirm-sync", true, func(s *advised, p *projection.Context) {
			s.underWay(p)
			sync := p.Syncs["feed"]
			sync.State, sync.RunningSince = syncrun.Awaiting, s.now.Add(-time.Hour)
			p.Syncs["feed"] = sync
		}},
		{"cancel-sync", true, func(s *advised, p *projection.Context) {
			s.underWay(p)
			sync := p.Syncs["feed"]
			sync.State, sync.RunningSince = syncrun.Running, s.now.Add(-7*time.Hour)
			p.Syncs["feed"] = sync
		}},
		{"check-silence", true, func(s *advised, p *projection.Context) {
			change("webhook", func(i *projection.Integration, _ time.Time) {
				i.Ports = []integration.Port{integration.EventDeliver, integration.InboundReceive}
				i.CertifiedPorts = i.Ports
			})(s, p)
			p.Memory.Providers["webhook"] = projection.ProviderMemory{Count: 1, LastChangedAt: s.now.Add(-month)}
		}},
		{"check-effect", true, func(s *advised, p *projection.Context) {
			change("webhook", func(i *projection.Integration, _ time.Time) {
				i.Ports = []integration.Port{integration.EventDeliver, integration.InboundReceive}
				i.CertifiedPorts = i.Ports
			})(s, p)
			p.Results["webhook"] = projection.Result{Idle: projection.Idle{At: s.now, Count: 3, Why: "no rule of the mapping matches"}}
		}},
		{"review-goal", false, goals(projection.Goal{Status: goal.Misaligned, DueAt: time.Now(), Reason: "it is overdue"})},
		{"close-goal", false, goals(projection.Goal{Status: goal.Aligned, Progress: 1})},
		{"date-goals", false, goals(projection.Goal{Status: goal.Aligned})},
		{"answer-approval", true, func(s *advised, p *projection.Context) {
			p.Governance.Waiting = projection.Tally{{From: s.now.Add(-5 * time.Hour), Count: 2}}
		}},
		{"store-policies", true, func(*advised, *projection.Context) {}},
		{"enforce-policies", true, func(s *advised, p *projection.Context) {
			p.Governance.Policies, p.Governance.Shadow, p.Governance.ShadowAt = 1, 1, s.now.Add(-month)
		}},
		{"raise-quota", true, func(s *advised, p *projection.Context) {
			d := executive.Draft{Name: "Chief of Staff", Role: "Keeps order", Owner: s.A.UserID, Actions: []executive.Action{}, QuotaPerDay: 10}
			s.Do("POST", "/companies/"+s.A.ID+"/executives", s.A.Token, d).Want(201)
			p.Executives[executive.IDOf(d.Name)] = projection.Excess{Name: d.Name, QuotaPerDay: d.QuotaPerDay, ExceededAt: s.now.Add(-time.Hour)}
		}},
		{"add-founder", false, func(_ *advised, p *projection.Context) { p.Company.Founders = 1 }},
		{"await-operator", true, func(s *advised, p *projection.Context) {
			p.Company.Awaited = []projection.Awaited{{UserID: id.New(), At: s.now.Add(-13 * time.Hour)}}
		}},
		{"resume-integration", true, change("webhook", func(i *projection.Integration, now time.Time) {
			i.Enabled, i.DisabledReason, i.DisabledAt = false, integration.DisabledManually, now.Add(-month)
		})},
	}
}

// underWay requests a sync of the feed and notes it in the facts, as the projector does.
func (s *advised) underWay(p *projection.Context) {
	s.t.Helper()
	s.Do("POST", "/companies/"+s.A.ID+"/memory/sync/feed", s.A.Token, nil).Want(202)
	var page struct{ Items []struct{ ID string } }
	errtest.Must(s.t, json.Unmarshal(s.Do("GET", "/companies/"+s.A.ID+"/memory/syncs", s.A.Token, nil).Want(200).Body, &page))
	sync := p.Syncs["feed"]
	sync.Run, sync.State = page.Items[0].ID, syncrun.Requested
	p.Syncs["feed"] = sync
}

// TestRecommendation_Operation makes the cause of every rule, calls the operation of its recommendation as it is given, and
// wants it to succeed. A recommendation that needs what only a person knows, or that cannot be followed now, has none.
func TestRecommendation_Operation(t *testing.T) {
	t.Parallel()
	var walked []string
	for _, c := range causes() {
		if !slices.Contains(walked, c.rule) {
			walked = append(walked, c.rule)
		}
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			s := newAdvised(t)
			p := s.connected()
			c.make(s, &p)
			company := store.For(s.Store, s.A.ID)
			errtest.Must(t, company.Commit(t.Context(), projection.Save(company, 0, p)))
			r := s.recommended(c.rule)
			if got := r.Operation != nil; got != c.called {
				t.Fatalf("has an operation: %t, want %t: %+v", got, c.called, r.Operation)
			}
			if r.Operation == nil {
				return
			}
			var body any
			if r.Operation.Body != nil {
				body = r.Operation.Body
			}
			answer := s.Do(r.Operation.Method, r.Operation.Href, s.A.Token, body)
			if answer.Status/100 != 2 {
				t.Errorf("%s %s with %v: got %d, want 2xx: %s", r.Operation.Method, r.Operation.Href, body, answer.Status, answer.Body)
			}
		})
	}
	if diff := cmp.Diff(assessment.Rules(), walked); diff != "" {
		t.Errorf("the rules that have a cause differ (-want +got):\n%s", diff)
	}
}

// recommended returns the recommendation of a rule.
func (s *advised) recommended(rule string) assessment.Recommendation {
	s.t.Helper()
	var page struct{ Items []assessment.Recommendation }
	body := s.Do("GET", "/companies/"+s.A.ID+"/intelligence/recommendations?limit=100", s.A.Token, nil).Want(200).Body
	errtest.Must(s.t, json.Unmarshal(body, &page))
	n := slices.IndexFunc(page.Items, func(r assessment.Recommendation) bool { return r.Rule == rule })
	if n < 0 {
		s.t.Fatalf("no recommendation of %s in %s", rule, body)
	}
	return page.Items[n]
}
