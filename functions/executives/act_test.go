package executives_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"orgops/shared/domain/executive"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/recommendation"
	"orgops/shared/domain/recovery"
	"orgops/shared/domain/syncrun"
	"orgops/shared/domain/timeline"
	"orgops/shared/domain/user"
	"orgops/shared/testkit/errtest"
)

// sources stores a feed, a webhook endpoint and a goal of company A.
func (s *service) sources() {
	s.t.Helper()
	c := s.company()
	feed := integration.Integration{Provider: "feed", Kind: "feed", State: integration.Sandbox, Enabled: true, Permissions: []integration.Port{integration.SyncPull}}
	hook := integration.Integration{Provider: "webhook", Kind: "webhook", State: integration.Sandbox, Enabled: true, Permissions: []integration.Port{integration.EventDeliver}}
	g := goal.Goal{ID: goal.IDOf("github", "", "1"), Provider: "github", ExternalID: "1", Title: "Ship", State: goal.Open}
	errtest.Must(s.t, c.Commit(s.t.Context(), c.Create(integration.Key("feed"), integration.Entity, feed),
		c.Create(integration.Key("webhook"), integration.Entity, hook), c.Create(goal.Key(g.ID), goal.Entity, g)))
}

// advised is the id of the recommendation that a company without a source has.
func advised() string {
	return recommendation.ID("connect-source", timeline.Reference{Type: "company"})
}

// effects tells what actions have changed.
type effects struct {
	Runs, Recoveries int
	FeedEnabled      bool
	Timeline         []timeline.Kind
	Recommendation   recommendation.State // as decided
}

func (s *service) effects() effects {
	s.t.Helper()
	i, _, err := integration.Load(s.t.Context(), s.company(), "feed")
	errtest.Must(s.t, err)
	e := effects{
		Runs: len(all[syncrun.Run](s, syncrun.Prefix)), Recoveries: len(all[recovery.Recovery](s, recovery.Prefix)),
		FeedEnabled: i.Enabled, Timeline: s.entries(),
	}
	for _, r := range all[recommendation.Stored](s, recommendation.Prefix) {
		e.Recommendation = r.State
	}
	return e
}

// acts lists every action with an input, the type of the effect's subject, and what it changes.
func acts() []act {
	const acted, note = timeline.ExecutiveActed, timeline.Note
	since := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
	return []act{
		{executive.MemorySync, map[string]any{"provider": "feed", "mode": "full"}, "sync", effects{1, 0, true, []timeline.Kind{acted}, ""}},
		{executive.RecommendationClaim, map[string]any{"recommendationId": advised()}, "recommendation", effects{0, 0, true, []timeline.Kind{acted}, recommendation.Claimed}},
		{executive.RecommendationDismiss, map[string]any{"recommendationId": advised(), "reason": "planned", "text": "We connect it in May."}, "recommendation",
			effects{0, 0, true, []timeline.Kind{acted}, recommendation.Dismissed}},
		{executive.IntegrationDisable, map[string]any{"provider": "feed"}, "integration", effects{0, 0, false, []timeline.Kind{acted}, ""}},
		{executive.TimelineNote, map[string]any{"title": "Moved", "subject": "office"}, "note", effects{0, 0, true, []timeline.Kind{acted, note}, ""}},
		{executive.GoalNote, map[string]any{"title": "Late", "goalId": goal.IDOf("github", "", "1")}, "goal", effects{0, 0, true, []timeline.Kind{acted, note}, ""}},
		{executive.DeliveriesRecover, map[string]any{"provider": "webhook", "since": since}, "recovery", effects{0, 1, true, []timeline.Kind{acted}, ""}},
	}
}

type act struct {
	action  executive.Action
	input   map[string]any
	subject string // type
	want    effects
}

// TestAct asks for every action, first in the sandbox, where nothing changes, and then certified.
func TestAct(t *testing.T) {
	t.Parallel()
	if got, want := len(acts()), len(executive.Actions()); got != want {
		t.Errorf("%d actions are tested, want all %d", got, want)
	}
	for _, tt := range acts() {
		t.Run(string(tt.action), func(t *testing.T) {
			t.Parallel()
			s := setup(t)
			s.sources()
			d := s.draft(tt.action)
			s.do("POST", "", d).Want(201)
			path := "/" + executive.IDOf(d.Name) + "/actions"
			var proposed, done, stored executive.ActionRecord
			s.asked(path, "a", tt.action, tt.input).Want(202).JSON(&proposed)
			wantRecord(t, proposed, executive.Proposed, policy.Permitted, tt.subject)
			if diff := cmp.Diff(effects{FeedEnabled: true, Timeline: []timeline.Kind{}}, s.effects()); diff != "" {
				t.Errorf("effects in the sandbox (-want +got):\n%s", diff)
			}
			s.do("POST", "/"+executive.IDOf(d.Name)+"/certification", nil).Want(200)
			resp := s.asked(path, "b", tt.action, tt.input).Want(202)
			resp.JSON(&done)
			wantRecord(t, done, executive.Done, policy.Permitted, tt.subject)
			if diff := cmp.Diff(tt.want, s.effects()); diff != "" {
				t.Errorf("effects differ (-want +got):\n%s", diff)
			}
			s.Do("GET", resp.Header.Get("Location"), s.A.Token, nil).Want(200).JSON(&stored)
			if diff := cmp.Diff(done, stored); diff != "" {
				t.Errorf("stored action differs (-done +stored):\n%s", diff)
			}
			if got := len(s.decisions()); got != 2 {
				t.Errorf("%d decisions, want 2", got)
			}
		})
	}
}

func wantRecord(t *testing.T, r executive.ActionRecord, state executive.Progress, verdict policy.Verdict, subject string) {
	t.Helper()
	if r.State != state {
		t.Errorf("state = %s, want %s", r.State, state)
	}
	if r.Decision.Verdict != verdict {
		t.Errorf("verdict = %s, want %s", r.Decision.Verdict, verdict)
	}
	if got, want := r.Decision.DryRun, state == executive.Proposed; got != want {
		t.Errorf("dry run = %t, want %t", got, want)
	}
	got := ""
	if r.Effect != nil {
		got = r.Effect.Subject.Type
	}
	if got != subject {
		t.Errorf("subject of the effect = %q, want %q", got, subject)
	}
}

// The policies refuse what an executive does not declare. The refusal is recorded, and a repeat gets the same answer.
func TestAct_Denied(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.sources()
	path := s.certified(s.draft(executive.TimelineNote))
	first := s.asked(path, "a", executive.IntegrationDisable, map[string]any{"provider": "feed"}).WantProblem(403, "denied-by-policy")
	again := s.asked(path, "a", executive.IntegrationDisable, map[string]any{"provider": "feed"}).WantProblem(403, "denied-by-policy")
	if diff := cmp.Diff(first, again, cmpopts.IgnoreFields(first, "Instance")); diff != "" {
		t.Errorf("the repeat's problem differs (-first +again):\n%s", diff)
	}
	decisions := s.decisions()
	if len(decisions) != 1 {
		t.Fatalf("decisions = %+v, want one", decisions)
	}
	if first.Decision != decisions[0].ID {
		t.Errorf("decision of the problem = %q, want %q", first.Decision, decisions[0].ID)
	}
	want := effects{FeedEnabled: true, Timeline: []timeline.Kind{timeline.PolicyDenied}}
	if diff := cmp.Diff(want, s.effects()); diff != "" {
		t.Errorf("effects differ (-want +got):\n%s", diff)
	}
	var page struct{ Items []executive.ActionRecord }
	s.do("GET", path+"?state=denied", nil).Want(200).JSON(&page)
	if len(page.Items) != 1 {
		t.Fatalf("denied actions = %+v, want one", page.Items)
	}
	wantRecord(t, page.Items[0], executive.Denied, policy.Denied, "")
	// In the sandbox the refusal is only shown.
	d := s.draft(executive.TimelineNote)
	d.Name = "Scribe"
	s.do("POST", "", d).Want(201)
	var proposed executive.ActionRecord
	s.asked("/"+executive.IDOf(d.Name)+"/actions", "a", executive.IntegrationDisable, map[string]any{"provider": "feed"}).Want(202).JSON(&proposed)
	wantRecord(t, proposed, executive.Proposed, policy.Denied, "")
}

func TestAct_Invalid(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.sources()
	path := s.certified(s.draft(executive.Actions()...))
	tests := []struct {
		body    string
		status  int
		kind    string
		pointer string
	}{
		{`{"action":"memory.sync","input":{}}`, 422, "invalid", "/input/provider"},
		{`{"action":"memory.sync","input":{"provider":"feed","title":"x"}}`, 422, "invalid", "/input/title"},
		{`{"action":"timeline.note","input":{"title":"  "}}`, 422, "invalid", "/input/title"},
		{`{"action":"timeline.note","input":{"title":"a","secret":"b"}}`, 422, "invalid", "/input/secret"},
		{`{"action":"goal.note","input":{"title":"a","goalId":"none"}}`, 404, "not-found", ""},
		{`{"action":"goal.note","input":{"title":"a","goalId":"#"}}`, 404, "not-found", ""},
		{`{"action":"erase","input":{}}`, 422, "invalid", "/action"},
		{`{"action":"recommendation.claim","input":{"recommendationId":"none"}}`, 404, "not-found", ""},
		{`{"action":"recommendation.claim","input":{"recommendationId":"` + advised() + `","text":"x"}}`, 422, "invalid", "/input/text"},
		{`{"action":"recommendation.dismiss","input":{"recommendationId":"` + advised() + `","text":"We connect it in May."}}`, 422, "invalid", "/input/reason"},
		{`{"action":"recommendation.dismiss","input":{"recommendationId":"` + advised() + `","reason":"other","text":"No."}}`, 422, "invalid", "/input/text"},
		{`{"action":"memory.sync","input":{"provider":"nothing"}}`, 404, "not-found", ""},
		{`{"action":"memory.sync","input":{"provider":"webhook"}}`, 409, "conflict", ""},
		{`{"action":"integration.disable","input":{"provider":"github"}}`, 404, "not-found", ""},
		{`{"action":"deliveries.recover","input":{"provider":"feed","since":"2026-01-01T00:00:00Z"}}`, 409, "conflict", ""},
		{`{"action":"deliveries.recover","input":{"provider":"webhook","since":"2999-01-01T00:00:00Z"}}`, 422, "invalid", "/input/since"},
	}
	for _, tt := range tests {
		problem := s.do("POST", path, tt.body, "Idempotency-Key", "k").WantProblem(tt.status, tt.kind)
		got := ""
		if len(problem.Errors) > 0 {
			got = problem.Errors[0].Pointer
		}
		if got != tt.pointer {
			t.Errorf("%s: pointer = %q, want %q", tt.body, got, tt.pointer)
		}
	}
	if got := len(all[executive.ActionRecord](s, executive.RecordPrefix(executive.IDOf("Chief of Staff")))); got != 0 {
		t.Errorf("%d actions are recorded, want none", got)
	}
	s.do("POST", "/unknown/actions", map[string]any{"action": "timeline.note", "input": map[string]any{"title": "a"}}, "Idempotency-Key", "k").
		WantProblem(404, "not-found")
	s.do("GET", path+"/unknown", nil).WantProblem(404, "not-found")
}

func TestAct_Key(t *testing.T) {
	t.Parallel()
	s := setup(t)
	path := s.certified(s.draft(executive.TimelineNote))
	note := map[string]any{"action": "timeline.note", "input": map[string]any{"title": "Moved"}}
	s.do("POST", path, note).WantProblem(422, "invalid")
	s.do("POST", path, note, "Idempotency-Key", "two words").WantProblem(400, "malformed")
	var first, again executive.ActionRecord
	s.do("POST", path, note, "Idempotency-Key", `"k"`).Want(202).JSON(&first)
	s.do("POST", path, note, "Idempotency-Key", "k").Want(202).JSON(&again)
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("the repeat's answer differs (-first +again):\n%s", diff)
	}
	s.asked(path, "k", executive.TimelineNote, map[string]any{"title": "Other"}).WantProblem(422, "invalid")
	if diff := cmp.Diff([]timeline.Kind{timeline.ExecutiveActed, timeline.Note}, s.entries()); diff != "" {
		t.Errorf("timeline differs (-want +got):\n%s", diff)
	}
}

// TestAct_KeyOf keeps the keys of each principal and of each incarnation of an executive apart. A deleted executive has none.
func TestAct_KeyOf(t *testing.T) {
	t.Parallel()
	s := setup(t)
	draft := s.draft(executive.TimelineNote)
	path := s.certified(draft)
	ask := func() (r executive.ActionRecord) {
		s.asked(path, "k", executive.TimelineNote, map[string]any{"title": "Good morning"}).Want(202).JSON(&r)
		return r
	}
	first := ask()
	var other executive.ActionRecord
	s.Do("POST", s.at(path), s.UserToken(s.A.ID, "another-founder", user.Founder), map[string]any{"action": "timeline.note", "input": map[string]any{"title": "Good morning"}}, "Idempotency-Key", "k").
		Want(202).JSON(&other)
	s.do("DELETE", "/"+executive.IDOf(draft.Name), nil).Want(204)
	s.asked(path, "k", executive.TimelineNote, map[string]any{"title": "Good morning"}).WantProblem(404, "not-found")
	s.clock.Advance(time.Minute)
	s.certified(draft)
	again := ask()
	for _, r := range []executive.ActionRecord{other, again} {
		if got := [2]any{r.ID == first.ID, r.State}; got != [2]any{false, executive.Done} {
			t.Errorf("action %s is %s, want another one than %s, done", r.ID, r.State, first.ID)
		}
	}
	if got := ask().ID; got != again.ID {
		t.Errorf("a repeat got the action %s, want %s", got, again.ID)
	}
}

func TestAct_Quota(t *testing.T) {
	t.Parallel()
	s := setup(t)
	d := s.draft(executive.TimelineNote)
	d.QuotaPerDay = 2
	path := s.certified(d)
	for _, key := range []string{"a", "b"} {
		s.asked(path, key, executive.TimelineNote, map[string]any{"title": key}).Want(202)
	}
	resp := s.asked(path, "c", executive.TimelineNote, map[string]any{"title": "c"})
	resp.WantProblem(http.StatusTooManyRequests, "quota-exceeded")
	if resp.Header.Get("Retry-After") == "" {
		t.Error("there is no Retry-After, want one until midnight")
	}
	s.asked(path, "d", executive.TimelineNote, map[string]any{"title": "d"}).WantProblem(http.StatusTooManyRequests, "quota-exceeded")
	acted := timeline.ExecutiveActed // the third tells of the quota, once
	if diff := cmp.Diff([]timeline.Kind{acted, acted, acted, timeline.Note, timeline.Note}, s.entries()); diff != "" {
		t.Errorf("timeline differs (-want +got):\n%s", diff)
	}
	s.asked(path, "b", executive.TimelineNote, map[string]any{"title": "b"}).Want(202) // a repeat costs nothing
	s.clock.Advance(24 * time.Hour)
	s.asked(path, "c", executive.TimelineNote, map[string]any{"title": "c"}).Want(202)
}
