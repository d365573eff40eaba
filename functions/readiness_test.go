package functions_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/insight/assessment"
	"orgops/shared/insight/projection"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
)

// climbed returns the facts of a company that has reached level 4: everything is connected, certified, governed and fresh.
func (s *advised) climbed() projection.Context {
	s.t.Helper()
	p := s.connected()
	p.Company.Founders, p.Governance.Policies = 2, 1
	p.Memory.Providers["webhook"] = projection.ProviderMemory{Count: 1, LastChangedAt: s.now}
	d := &p.Deliveries
	d.Recent = projection.Window{Start: s.now.Truncate(5 * time.Minute), Seconds: 300, Delivered: []int64{50}, Failed: []int64{0}}
	d.Hourly = projection.Window{Start: s.now.Truncate(time.Hour), Seconds: 3600, Delivered: []int64{50}, Failed: []int64{0}}
	return p
}

// blocks lists, for each check of the ladder in order, facts that make it block, and the level that is left.
func blocks() []struct {
	check string
	level int
	make  func(s *advised, p *projection.Context)
} {
	sandboxed := func(provider string) func(*advised, *projection.Context) {
		return change(provider, func(i *projection.Integration, now time.Time) { i.State, i.SandboxedAt = integration.Sandbox, now })
	}
	return []struct {
		check string
		level int
		make  func(s *advised, p *projection.Context)
	}{
		{"source-connected", 0, func(_ *advised, p *projection.Context) { delete(p.Integrations, "feed") }},
		{"webhook-connected", 0, func(_ *advised, p *projection.Context) { delete(p.Integrations, "webhook") }},
		{"source-certified", 1, sandboxed("feed")},
		{"webhook-certified", 1, sandboxed("webhook")},
		{"credentials-working", 1, func(s *advised, p *projection.Context) {
			change("feed", func(i *projection.Integration, now time.Time) { i.CredentialsAt = now })(s, p)
			p.Syncs["feed"] = projection.Sync{FailuresInRow: 1, FailingSince: s.now}
		}},
		{"policies-stored", 2, func(_ *advised, p *projection.Context) { p.Governance.Policies = 0 }},
		{"second-founder", 2, func(_ *advised, p *projection.Context) { p.Company.Founders = 1 }},
		{"approvals-answered", 2, func(s *advised, p *projection.Context) {
			p.Governance.Waiting = projection.Tally{{From: s.now.Add(-21 * time.Hour), Count: 1}}
		}},
		{"secrets-fresh", 2, change("webhook", func(i *projection.Integration, now time.Time) { i.SecretAt = now.AddDate(0, 0, -91) })},
		{"memory-fresh", 3, func(s *advised, p *projection.Context) {
			p.Memory.Providers["webhook"] = projection.ProviderMemory{Count: 1, LastChangedAt: s.now.AddDate(0, 0, -2)}
		}},
		{"goals-aligned", 3, func(s *advised, p *projection.Context) {
			g := goal.Goal{ID: goal.IDOf("github", "", "1"), Provider: "github", Title: "Ship", State: goal.Open}
			c := store.For(s.Store, s.A.ID)
			errtest.Must(s.t, c.Commit(s.t.Context(), c.Create(goal.Key(g.ID), goal.Entity, g)))
			p.Goals = projection.Goals{GoalCounts: projection.GoalCounts{Open: 1, Drifting: 1}, Listed: []projection.Goal{{ID: g.ID, Title: g.Title, Status: goal.Drifting, Since: s.now}}}
		}},
		{"health-good", 3, func(_ *advised, p *projection.Context) {
			p.Deliveries.Recent.Failed, p.Deliveries.Hourly.Failed = []int64{50}, []int64{50}
		}},
	}
}

// answers returns the bodies of the operations that need what only a person knows.
func (s *advised) answers(r assessment.Remedy) any {
	switch r.Operation + " " + r.Href {
	case "configure-integration /companies/" + s.A.ID + "/integrations/github":
		return map[string]any{"repository": "octo/app"}
	case "configure-integration /companies/" + s.A.ID + "/integrations/webhook":
		return map[string]any{"url": "http://127.0.0.1:1/", "events": []string{"memory.*"}}
	}
	switch r.Operation {
	case "invite-user":
		return map[string]any{"email": "grace@example.com", "role": "founder"}
	case "put-policies":
		return map[string]any{"policies": []any{map[string]any{"id": "no-closed-goals", "mode": "enforce", "text": "forbid (principal, action, resource) when { false };"}}}
	case "explain-goal":
		return map[string]any{"text": "The supplier delivers in May."}
	}
	return nil
}

// TestReadiness_Remedies takes a company from level 4 down by each check of the ladder, follows the operation that the check
// names, and wants it to succeed.
func TestReadiness_Remedies(t *testing.T) {
	t.Parallel()
	var walked, want []string
	for _, b := range blocks() {
		walked = append(walked, b.check)
		t.Run(b.check, func(t *testing.T) {
			t.Parallel()
			s := newAdvised(t)
			p := s.climbed()
			b.make(s, &p)
			r := s.readiness(p)
			if r.Level != b.level {
				t.Errorf("level %d, want %d", r.Level, b.level)
			}
			if !slices.Contains(r.Blocking, b.check) {
				t.Fatalf("%v block the next level, want %s among them", r.Blocking, b.check)
			}
			remedy := checkOf(r, b.check).Remedy
			if remedy == nil {
				t.Fatalf("%s names no operation", b.check)
			}
			var version []string
			if remedy.Operation == "put-policies" {
				version = []string{"If-Match", s.Do("GET", remedy.Href, s.A.Token, nil).Want(200).Header.Get("ETag")}
			}
			answer := s.Do(remedy.Method, remedy.Href, s.A.Token, s.answers(*remedy), version...)
			if answer.Status/100 != 2 {
				t.Errorf("%s %s: got %d, want 2xx: %s", remedy.Method, remedy.Href, answer.Status, answer.Body)
			}
		})
	}
	s := newAdvised(t)
	top := s.readiness(s.climbed())
	if top.Level != 4 {
		t.Errorf("level %d of a company that lacks nothing, want 4: %v", top.Level, top.Blocking)
	}
	for _, level := range top.Levels {
		for _, c := range level.Checks {
			want = append(want, c.ID)
		}
	}
	if diff := cmp.Diff(want, walked); diff != "" {
		t.Errorf("the checks that block differ (-want +got):\n%s", diff)
	}
}

func (s *advised) readiness(p projection.Context) (r assessment.Readiness) {
	s.t.Helper()
	c := store.For(s.Store, s.A.ID)
	errtest.Must(s.t, c.Commit(s.t.Context(), projection.Save(c, 0, p)))
	errtest.Must(s.t, json.Unmarshal(s.Do("GET", "/companies/"+s.A.ID+"/mission-control/readiness", s.A.Token, nil).Want(200).Body, &r))
	return r
}

func checkOf(r assessment.Readiness, name string) assessment.ScoredCheck {
	for _, level := range r.Levels {
		for _, c := range level.Checks {
			if c.ID == name {
				return c
			}
		}
	}
	panic(fmt.Sprintf("there is no check %s", name))
}
