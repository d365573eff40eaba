package integrations_test

import (
	"errors"
	"strings"
	"testing"
	"time"

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
	if len(list.Items) != 2 || list.Items[0].Provider != "github" || list.Items[1].Provider != "webhook" {
		t.Fatalf("listed: %s", answer.Body)
	}
	if names := list.Items[0].Credentials.Names; len(names) != 1 || names[0] != "token" || list.Items[1].Credentials != nil {
		t.Errorf("credentials: %s", answer.Body)
	}
	if list.Items[0].Health.Status != "unknown" || !strings.Contains(string(answer.Body), `"successRate24h":null`) {
		t.Errorf("health of an unused integration: %s", answer.Body)
	}
	s.keepsOut(answer.Body, given, "as typed at github", "ghp_s3cr3t")
	if strings.Contains(string(answer.Body), "signingSecret") {
		t.Errorf("the answer has a field for secrets: %s", answer.Body)
	}
	var other struct{ Items []shown }
	s.Do("GET", "/companies/"+s.B.ID+"/integrations", s.B.Token, nil).Want(200).JSON(&other)
	if len(other.Items) != 0 {
		t.Errorf("another company lists %+v", other.Items)
	}
}

func TestGet(t *testing.T) {
	t.Parallel()
	s := setup(t)
	if p := s.do("GET", "/webhook", nil).WantProblem(404, "not-found"); !strings.Contains(p.Detail, `"webhook" is not configured`) {
		t.Errorf("not configured: %q", p.Detail)
	}
	if p := s.do("GET", "/gitlab", nil).WantProblem(404, "not-found"); !strings.Contains(p.Detail, "known are feed, github") {
		t.Errorf("unknown: %q", p.Detail)
	}
	s.configure("webhook", "https://example.com/")
	answer := s.do("GET", "/webhook", nil).Want(200)
	s.keepsOut(answer.Body, given)
	etag := answer.Header.Get("ETag")
	if again := s.do("GET", "/webhook", nil, "If-None-Match", etag).Want(304); len(again.Body) != 0 || again.Header.Get("ETag") != etag {
		t.Errorf("304 with %q, ETag %s", again.Body, again.Header.Get("ETag"))
	}
	s.do("POST", "/webhook/disable", nil).Want(200)
	if changed := s.do("GET", "/webhook", nil, "If-None-Match", etag).Want(200); changed.Header.Get("ETag") == etag {
		t.Error("another version has the same ETag")
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
			t.Errorf("%s: two answers have the same ETag", when)
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
		t.Errorf("health %+v", i.Health)
	}
	s.clock.Advance(integration.CertifiedFor - time.Millisecond)
	if i := look("just before it expires"); i.State != "certified" {
		t.Errorf("state %s", i.State)
	}
	s.clock.Advance(time.Millisecond)
	if i := look("expired"); i.State != "sandbox" || i.Sandboxed != "expired" || i.Certification != nil {
		t.Errorf("expired: %+v", i)
	}
}

func (s *service) learn(facts projection.Context) {
	s.t.Helper()
	errtest.Must(s.t, s.company().Commit(s.t.Context(), projection.Save(s.company(), 0, facts)))
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
		t.Errorf("204 with %s", answer.Body)
	}
	for _, key := range []string{integration.Key("webhook"), integration.CredentialKey("webhook"), syncrun.SlotKey("webhook")} {
		if _, err := s.company().Get(t.Context(), key, nil); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s is still there: %v", key, err)
		}
	}
	s.do("GET", "/webhook", nil).WantProblem(404, "not-found")
	var log struct{ Items []attempt }
	if s.do("GET", "/webhook/deliveries", nil).Want(200).JSON(&log); len(log.Items) != 1 {
		t.Errorf("the attempt log: %+v", log)
	}
	if i := s.configured("webhook", map[string]any{"url": "https://example.com/", "events": []string{"goal.*"}}, 201); i.SigningSecret == "" || i.SigningSecret == given || i.Credentials != nil {
		t.Errorf("configured again: %+v", i)
	}
}

func TestEnableDisable(t *testing.T) {
	t.Parallel()
	s := setup(t)
	for _, what := range []string{"enable", "disable"} {
		s.do("POST", "/webhook/"+what, nil).WantProblem(404, "not-found")
	}
	s.configure("webhook", "https://example.com/")
	tests := []struct {
		what    string
		enabled bool
		version int64
	}{{"enable", true, 1}, {"disable", false, 2}, {"disable", false, 2}, {"enable", true, 3}}
	for _, tt := range tests {
		answer := s.do("POST", "/webhook/"+tt.what, nil).Want(200)
		var i shown
		answer.JSON(&i)
		if i.Enabled != tt.enabled || i.Version != tt.version || (i.Disabled != nil) == tt.enabled {
			t.Errorf("%s: %s", tt.what, answer.Body)
		}
		if i.Disabled != nil && i.Disabled.Reason != "manual" {
			t.Errorf("disabled because of %q", i.Disabled.Reason)
		}
		if etag := s.do("GET", "/webhook", nil).Want(200).Header.Get("ETag"); answer.Header.Get("ETag") != etag {
			t.Errorf("%s: ETag %s, then %s", tt.what, answer.Header.Get("ETag"), etag)
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
	if i := s.get("webhook"); i.State != "certified" || i.Enabled {
		t.Errorf("%+v", i)
	}
	item, _, err := integration.Load(t.Context(), s.company(), "webhook")
	errtest.Must(t, err)
	if item.Allows(integration.EventDeliver, s.clock.Now()) {
		t.Error("a disabled integration may use a port")
	}
	if entries, err := s.company().Query(t.Context(), store.Query{Prefix: timeline.Prefix}); err != nil || len(entries.Items) != 0 {
		t.Errorf("want no timeline entries, which the projector writes: %v, %v", entries.Items, err)
	}
}

// TestHealth derives the health from the context: the last results, and the share of the day's attempts that succeeded.
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
		facts.Integrations[provider] = known
	}
	facts.Deliveries.Endpoints["webhook"] = projection.Endpoint{Hourly: projection.Window{
		Start: now.Add(-48 * time.Hour).Truncate(time.Hour), Seconds: 3600, Delivered: append(make([]int64, 48), 3), Failed: append(append([]int64{9}, make([]int64, 47)...), 1),
	}}
	s.learn(facts)
	var list struct {
		Items []struct {
			Provider string
			Health   struct {
				Status                       string
				LastSuccessAt, LastFailureAt *time.Time
				SuccessRate24h               *float64
			}
		}
	}
	s.do("GET", "", nil).Want(200).JSON(&list)
	for n, want := range []string{"pass", "fail", "unknown"} {
		h := list.Items[n].Health
		if h.Status != want || (h.LastSuccessAt == nil) != (want == "unknown") || (h.SuccessRate24h == nil) != (n > 0) {
			t.Errorf("%s: %+v", list.Items[n].Provider, h)
		}
	}
	if rate := list.Items[0].Health.SuccessRate24h; rate == nil || *rate != 0.75 {
		t.Errorf("rate %v", rate)
	}
}
