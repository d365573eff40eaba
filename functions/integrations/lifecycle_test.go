package integrations_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/arrival"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/syncrun"
	"orgops/shared/domain/timeline"
	"orgops/shared/insight/projection"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
)

func TestList(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.configure("webhook", "https://example.com/")
	s.configured("github", map[string]any{"repository": "octo/app", "signingSecret": "as typed at github"}, 201)
	s.do("PUT", "/github/credentials", map[string]any{"credentials": map[string]string{"token": "ghp_s3cr3t"}}).Want(204)
	answer := s.do("GET", "", nil).Want(200)
	var list struct{ Items []shown }
	answer.JSON(&list)
	var got []string
	for _, i := range list.Items {
		got = append(got, i.Provider+": "+i.Health.Status)
		if i.Credentials != nil {
			got = append(got, i.Credentials.Names...)
		}
	}
	if diff := cmp.Diff([]string{"github: unknown", "token", "webhook: unknown"}, got); diff != "" {
		t.Errorf("providers, their health and credentials differ (-want +got):\n%s", diff)
	}
	if want := `"successRate24h":null`; !strings.Contains(string(answer.Body), want) {
		t.Errorf("answer %s, want one with %s", answer.Body, want)
	}
	s.keepsOut(answer.Body, given, "as typed at github", "ghp_s3cr3t")
	if strings.Contains(string(answer.Body), "signingSecret") {
		t.Errorf("answer %s, want one without a field for secrets", answer.Body)
	}
	var other struct{ Items []shown }
	s.Do("GET", "/companies/"+s.B.ID+"/integrations", s.B.Token, nil).Want(200).JSON(&other)
	if len(other.Items) != 0 {
		t.Errorf("another company lists %+v, want nothing", other.Items)
	}
}

func TestGet(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for provider, want := range map[string]string{"webhook": `"webhook" is not configured`, "unknown": "known are feed, github"} {
		if p := s.do("GET", "/"+provider, nil).WantProblem(404, "not-found"); !strings.Contains(p.Detail, want) {
			t.Errorf("%s: detail %q, want one with %q", provider, p.Detail, want)
		}
	}
	s.configure("webhook", "https://example.com/")
	answer := s.do("GET", "/webhook", nil).Want(200)
	s.keepsOut(answer.Body, given)
	etag := answer.Header.Get("ETag")
	again := s.do("GET", "/webhook", nil, "If-None-Match", etag).Want(304)
	if len(again.Body) != 0 {
		t.Errorf("304 with the body %q, want none", again.Body)
	}
	if got := again.Header.Get("ETag"); got != etag {
		t.Errorf("304 with the ETag %s, want %s", got, etag)
	}
	s.do("POST", "/webhook/disable", nil).Want(200)
	if changed := s.do("GET", "/webhook", nil, "If-None-Match", etag).Want(200); changed.Header.Get("ETag") == etag {
		t.Errorf("another version has the ETag %s too, want another one", etag)
	}
}

// TestGet_ETagFollowsContextAndTime changes the ETag with everything that the answer shows: the item, the context and the
// time.
func TestGet_ETagFollowsContextAndTime(t *testing.T) {
	t.Parallel()
	s := setup(t)
	r := receive(t, s.verifying(given))
	s.configure("webhook", r.URL)
	s.do("POST", "/webhook/certification", nil).Want(200)
	seen := map[string]string{}
	look := func(when string) shown {
		answer := s.do("GET", "/webhook", nil).Want(200)
		etag := answer.Header.Get("ETag")
		if before, ok := seen[etag]; ok && before != string(answer.Body) {
			t.Errorf("%s: the ETag %s is that of another answer, want a new one", when, etag)
		}
		seen[etag] = string(answer.Body)
		var i shown
		answer.JSON(&i)
		return i
	}
	look("certified")
	facts := projection.Empty(s.A.ID)
	facts.ContextVersion = 9
	facts.Integrations["webhook"] = projection.Integration{LastSuccessAt: s.clock.Now(), LastFailureAt: s.clock.Now().Add(-time.Hour)}
	s.learn(facts)
	if i := look("after a success"); i.Health.Status != "pass" {
		t.Errorf(`health %q, want "pass"`, i.Health.Status)
	}
	s.clock.Advance(integration.CertifiedFor - time.Millisecond)
	s.wantStanding(look("just before it expires"), standing{State: "certified", Certified: true, Enabled: true})
	s.clock.Advance(time.Millisecond)
	s.wantStanding(look("expired"), standing{State: "sandbox", Sandboxed: "expired", Enabled: true})
}

// TestList_Received shows that an integration works from which items have come, although nothing was sent to it.
func TestList_Received(t *testing.T) {
	t.Parallel()
	s := setup(t)
	configured := s.clock.Now()
	s.configured("github", map[string]any{"repository": "octo/app", "signingSecret": "as typed at github"}, 201)
	facts := projection.Empty(s.A.ID)
	facts.Memory.Providers["github"] = projection.ProviderMemory{Count: 1, LastChangedAt: configured.Add(time.Minute)}
	facts.Syncs["github"] = projection.Sync{FailuresInRow: 2}
	s.learn(facts)
	type health struct {
		Status      string
		LastItemAt  time.Time
		FailedSyncs int
	}
	var got struct{ Health health }
	s.do("GET", "/github", nil).Want(200).JSON(&got)
	want := health{Status: "pass", LastItemAt: configured.Add(time.Minute).UTC(), FailedSyncs: 2}
	if diff := cmp.Diff(want, got.Health); diff != "" {
		t.Errorf("health differs (-want +got):\n%s", diff)
	}
}

func (s *service) learn(facts projection.Context) {
	s.t.Helper()
	errtest.Must(s.t, s.company().Commit(s.t.Context(), projection.Save(s.company(), 0, facts)))
}

// TestDelete_sourced deletes an integration that measures a goal. The goal keeps its value and says that its source is gone. A goal that has
// another source by now stays as it is.
func TestDelete_sourced(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.configured("http", map[string]any{"url": "https://example.com/", "itemsPath": "", "idPath": "/id", "titlePath": "/t", "target": "memory"}, 201)
	i, version, err := integration.Load(t.Context(), s.company(), "http")
	errtest.Must(t, err)
	var ops []store.Op
	due := s.clock.Now().Add(time.Hour)
	for name, provider := range map[string]string{"goal-1": "http", "goal-2": "http-other"} {
		source := goal.Source{Provider: provider, Stream: "list", Pointer: "/n", Aggregate: goal.Sum}
		g, _ := goal.Apply(goal.Goal{}, goal.Own, goal.Draft{ExternalID: name, Title: "MRR", State: goal.Open, DueAt: &due, Measure: &goal.Measure{
			Current: "41200", Start: "1", Target: "50000", Unit: "EUR", Direction: goal.Up, Source: &source}}, s.clock.Now())
		i.Goals = append(i.Goals, g.ID)
		ops = append(ops, s.company().Create(goal.Key(g.ID), goal.Entity, g))
	}
	i.Goals = append(i.Goals, "gone")
	errtest.Must(t, s.company().Commit(t.Context(), append(ops, s.company().Replace(integration.Key("http"), integration.Entity, version, i))...))
	s.do("DELETE", "/http", nil).Want(204)
	var ended, other goal.Goal
	for name, g := range map[string]*goal.Goal{"goal-1": &ended, "goal-2": &other} {
		_, err := s.company().Get(t.Context(), goal.Key(name), g)
		errtest.Must(t, err)
	}
	if ended.Measure.Current != "41200" {
		t.Errorf("the goal is at %s, want its last value 41200", ended.Measure.Current)
	}
	if at := ended.Measure.Source.EndedAt; at == nil {
		t.Error("the goal's source has not ended, want that it has")
	}
	reasons := strings.Join(ended.Alignment.Reasons, "; ")
	if want := "its source http was deleted, so its value stays; give it another source, or none"; !strings.Contains(reasons, want) {
		t.Errorf("reasons %q, want %q", reasons, want)
	}
	if _, still := other.Source(); !still {
		t.Error("the other goal's source has ended, want that it has not")
	}
}

func TestDelete(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.do("DELETE", "/webhook", nil).WantProblem(404, "not-found")
	s.configure("webhook", "https://example.com/")
	s.do("PUT", "/webhook/credentials", map[string]any{"credentials": map[string]string{"token": "t"}}).Want(204)
	s.deliver("webhook", delivered(s.clock.Now()))
	errtest.Must(t, s.company().Commit(t.Context(), s.company().Create(syncrun.SlotKey("webhook"), syncrun.SlotEntity, syncrun.Slot{})))
	if answer := s.do("DELETE", "/webhook", nil).Want(204); len(answer.Body) != 0 {
		t.Errorf("204 with the body %s, want none", answer.Body)
	}
	for _, key := range []string{integration.Key("webhook"), integration.CredentialKey("webhook"), syncrun.SlotKey("webhook")} {
		if _, err := s.company().Get(t.Context(), key, nil); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("read of %s: error %v, want %v", key, err, store.ErrNotFound)
		}
	}
	s.do("GET", "/webhook", nil).WantProblem(404, "not-found")
	var log struct{ Items []attempt }
	if s.do("GET", "/webhook/deliveries", nil).Want(200).JSON(&log); len(log.Items) != 1 {
		t.Errorf("the attempt log is %+v, want one delivery", log)
	}
	i := s.configured("webhook", map[string]any{"url": "https://example.com/", "events": []string{"goal.*"}}, 201)
	if i.SigningSecret == "" {
		t.Error("configured again without a signing secret, want a generated one")
	}
	if i.SigningSecret == given {
		t.Errorf("configured again with the former signing secret %q, want another one", given)
	}
	if i.Credentials != nil {
		t.Errorf("configured again with the credentials %+v, want none", i.Credentials)
	}
}

func TestEnableDisable(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for _, what := range []string{"enable", "disable"} {
		s.do("POST", "/webhook/"+what, nil).WantProblem(404, "not-found")
	}
	s.configure("webhook", "https://example.com/")
	enabled, disabled := standing{State: "sandbox", Enabled: true}, standing{State: "sandbox", Disabled: "manual"}
	tests := []struct {
		what    string
		want    standing
		version int64
	}{{"enable", enabled, 1}, {"disable", disabled, 2}, {"disable", disabled, 2}, {"enable", enabled, 3}}
	for _, tt := range tests {
		answer := s.do("POST", "/webhook/"+tt.what, nil).Want(200)
		var i shown
		answer.JSON(&i)
		s.wantStanding(i, tt.want)
		if i.Version != tt.version {
			t.Errorf("%s: version %d, want %d", tt.what, i.Version, tt.version)
		}
		if got, want := answer.Header.Get("ETag"), s.do("GET", "/webhook", nil).Want(200).Header.Get("ETag"); got != want {
			t.Errorf("%s: ETag %s, want %s as in the answer to GET", tt.what, got, want)
		}
		s.keepsOut(answer.Body, given)
	}
}

// TestDisable_Certified keeps the certification of a disabled endpoint, because what it proved has not changed.
func TestDisable_Certified(t *testing.T) {
	t.Parallel()
	s := setup(t)
	r := receive(t, s.verifying(given))
	s.configure("webhook", r.URL)
	s.do("POST", "/webhook/certification", nil).Want(200)
	s.do("POST", "/webhook/disable", nil).Want(200)
	s.wantStanding(s.get("webhook"), standing{State: "certified", Certified: true, Disabled: "manual"})
	item, _, err := integration.Load(t.Context(), s.company(), "webhook")
	errtest.Must(t, err)
	if item.Allows(integration.EventDeliver, s.clock.Now()) {
		t.Error("a disabled integration may use a port, want none")
	}
	s.wantNone(timeline.Prefix) // the projector writes the entries
}

// TestHealth derives the health from the context: the last results, and the share of the day's attempts that succeeded.
// TestHealth_Inbound shows the rate of the verified deliveries, and what did not verify next to it: a stranger makes no healthy
// integration look dead. The list, the integration alone and its entity tag follow each change.
func TestHealth_Inbound(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.configured("github", map[string]any{"repository": "octo/app", "signingSecret": "as typed at github"}, 201)
	s.configured("feed", map[string]any{"url": "https://example.com/feed"}, 201)
	s.clock.Advance(2 * time.Hour)
	now := s.clock.Now()
	type refusal struct {
		Reason   string
		Count24h int64
		LastAt   time.Time
	}
	type received struct {
		SuccessRate24h                         *float64
		Accepted24h, Refused24h, Unverified24h int64
		LastAcceptedAt, LastRefusedAt          *time.Time
		Refusals, Unverified                   []refusal
	}
	type one struct {
		Provider string
		Health   struct {
			Status  string
			Inbound *received
		}
	}
	tags := map[string]bool{}
	want := func(status string, want received) {
		t.Helper()
		var alone one
		answer := s.do("GET", "/github", nil).Want(200)
		answer.JSON(&alone)
		if diff := cmp.Diff(&want, alone.Health.Inbound); diff != "" {
			t.Errorf("inbound health (-want +got):\n%s", diff)
		}
		if alone.Health.Status != status {
			t.Errorf("status %s, want %s", alone.Health.Status, status)
		}
		if tag := answer.Header.Get("ETag"); tags[tag] {
			t.Errorf("the entity tag is that of an earlier answer, %s", tag)
		} else {
			tags[tag] = true
		}
		var list struct{ Items []one }
		s.do("GET", "", nil).Want(200).JSON(&list)
		if diff := cmp.Diff(alone, list.Items[1]); diff != "" {
			t.Errorf("in the list (-alone +listed):\n%s", diff)
		}
		if feed := list.Items[0].Health.Inbound; feed != nil {
			t.Errorf("inbound health of feed %+v, want none", feed)
		}
	}
	none := []refusal{}
	want("unknown", received{Refusals: none, Unverified: none})

	record := func(class arrival.Class, reason string, at time.Time, n int64) {
		t.Helper()
		var r arrival.Refusals
		r.Add(class, reason, at, n)
		errtest.Must(t, arrival.Record(t.Context(), s.company(), arrival.Owner{Provider: "github", Incarnation: s.incarnation("github")}, r, now))
	}
	record(arrival.Unverified, "the signature does not match", now, 1000)
	stranger := []refusal{{"the signature does not match", 1000, now}}
	want("unknown", received{Refusals: none, Unverified24h: 1000, Unverified: stranger})

	facts := projection.Empty(s.A.ID)
	facts.Integrations["github"] = projection.Integration{ChangedAt: now.Add(-90 * time.Minute)}
	facts.ContextVersion = 1
	facts.Results["github"] = projection.Result{Taken: projection.Taken{}.Add(now.Add(-time.Hour), 8)}
	s.learn(facts)
	accepted := received{
		SuccessRate24h: new(1.0), Accepted24h: 8, LastAcceptedAt: new(now.Add(-time.Hour)), Refusals: none, Unverified24h: 1000, Unverified: stranger,
	}
	want("pass", accepted)

	record(arrival.Verified, "the mapping refused it", now.Add(-time.Minute), 1)
	record(arrival.Verified, "the policies denied every action", now, 1)
	accepted.SuccessRate24h, accepted.Refused24h, accepted.LastRefusedAt = new(0.8), 2, &now
	accepted.Refusals = []refusal{{"the mapping refused it", 1, now.Add(-time.Minute)}, {"the policies denied every action", 1, now}}
	want("fail", accepted)

	s.clock.Advance(30 * time.Hour)
	last := accepted
	last.SuccessRate24h, last.Accepted24h, last.Refused24h, last.Unverified24h = nil, 0, 0, 0
	last.Refusals = []refusal{{"the mapping refused it", 0, now.Add(-time.Minute)}, {"the policies denied every action", 0, now}}
	last.Unverified = []refusal{{"the signature does not match", 0, now}}
	want("fail", last)
}

func TestHealth(t *testing.T) {
	t.Parallel()
	s := setup(t)
	now := s.clock.Now()
	facts := projection.Empty(s.A.ID)
	for provider, known := range map[string]projection.Integration{
		"webhook": {LastSuccessAt: now, LastFailureAt: now.Add(-time.Hour)}, "webhook-b": {LastSuccessAt: now.Add(-time.Hour), LastFailureAt: now, FailingSince: now},
		"webhook-c": {},
	} {
		s.configure(provider, "https://example.com/")
		known.ChangedAt = now.Add(-time.Hour)
		facts.Integrations[provider] = known
	}
	s.configured("github", map[string]any{"repository": "octo/app", "signingSecret": "as typed at github"}, 201)
	facts.Integrations["github"] = projection.Integration{ChangedAt: now.Add(-time.Hour)}
	facts.Syncs["github"] = projection.Sync{Outcomes: []int64{1, -2, 3, 4}}
	facts.Results["github"] = projection.Result{Received: projection.Delay{Of: now, MS: 4200}}
	facts.Results["webhook"] = projection.Result{Sent: projection.Delay{Of: now.Add(-time.Minute), MS: 120}}
	facts.Results["webhook-b"] = projection.Result{Sent: projection.Delay{Of: now.Add(-2 * time.Hour), MS: 7200e3}} // it waited for a certification
	facts.Deliveries.Endpoints["webhook"] = projection.Endpoint{Hourly: projection.Window{
		Start: now.Add(-48 * time.Hour).Truncate(time.Hour), Seconds: 3600, Delivered: append(make([]int64, 48), 3), Failed: append(append([]int64{9}, make([]int64, 47)...), 1),
	}}
	s.learn(facts)
	type health struct {
		Status                       string
		LastSuccessAt, LastFailureAt *time.Time
		SuccessRate24h               *float64
		SyncSuccessRate              *float64
		ItemDelaySeconds             *float64
		DeliveryDelaySeconds         *float64
	}
	type item struct {
		Provider string
		Health   health
	}
	var got struct{ Items []item }
	s.do("GET", "", nil).Want(200).JSON(&got)
	want := []item{
		{"github", health{Status: "pass", SyncSuccessRate: new(0.75), ItemDelaySeconds: new(4.2)}},
		{"webhook", health{Status: "pass", LastSuccessAt: &now, LastFailureAt: new(now.Add(-time.Hour)), SuccessRate24h: new(0.75), DeliveryDelaySeconds: new(0.12)}},
		{"webhook-b", health{Status: "fail", LastSuccessAt: new(now.Add(-time.Hour)), LastFailureAt: &now}},
		{"webhook-c", health{Status: "unknown"}},
	}
	if diff := cmp.Diff(want, got.Items); diff != "" {
		t.Errorf("health differs (-want +got):\n%s", diff)
	}
}
