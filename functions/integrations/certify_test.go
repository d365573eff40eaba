package integrations_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"orgops/shared/domain/integration"
	"orgops/shared/insight/projection"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/webhook/standardwebhooks"
)

func (s *service) certify(provider string) report {
	s.t.Helper()
	var r report
	s.do("POST", "/"+provider+"/certification", nil).Want(200).JSON(&r)
	return r
}

func TestCertify(t *testing.T) {
	t.Parallel()
	s := setup(t)
	r := receive(t, s.verifying(given))
	s.configure("webhook", r.URL)
	s.do("GET", "/webhook/certification", nil).WantProblem(404, "not-found")
	got := s.certify("webhook")
	if !got.Passed || got.State != "certified" || !slices.Equal(got.Ports, []string{"event.deliver", "inbound.receive"}) || got.Recover != nil {
		t.Fatalf("%+v", got)
	}
	for _, c := range got.Checks {
		if c.Status != "pass" || c.Reason == "" {
			t.Errorf("%+v", c)
		}
	}
	if len(r.got) != 3 {
		t.Errorf("%d samples, want one valid, one with a bad signature and one old", len(r.got))
	}
	i := s.get("webhook")
	if i.State != "certified" || !i.Certification.PassedAt.Equal(s.clock.Now()) || !i.Certification.ExpiresAt.Equal(s.clock.Now().Add(90*24*time.Hour)) ||
		i.Certification.Report == nil || !i.Certification.Report.Passed || i.Sandboxed != "" {
		t.Errorf("%+v", i)
	}
	var last report
	if s.do("GET", "/webhook/certification", nil).Want(200).JSON(&last); last.State != "certified" || len(last.Checks) != len(got.Checks) || last.ConfigDigest != got.ConfigDigest {
		t.Errorf("the last report is %+v", last)
	}
	found := 0
	for shard := range store.DueShards {
		page, err := s.Store.Query(t.Context(), store.Due(i.Certification.ExpiresAt, shard), store.Query{})
		errtest.Must(t, err)
		found += len(page.Items)
	}
	if found != 1 {
		t.Errorf("%d timers at the certification's end", found)
	}
}

// TestCertify_Fails keeps a failing connector in the sandbox. The report tells what the checks saw and what to do.
func TestCertify_Fails(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		answer  func(*service) func(http.Header, []byte) int // nil: no listener
		failed  []string
		reasons string
	}{
		{"accepts every request", func(*service) func(http.Header, []byte) int { return always(204) },
			[]string{"refuses-bad-signature", "refuses-old-timestamp"}, "compute the HMAC-SHA256 of id.timestamp.body"},
		{"ignores the timestamp", func(s *service) func(http.Header, []byte) int {
			return func(header http.Header, body []byte) int {
				at := s.clock.Now()
				if header.Get("webhook-timestamp") < fmt.Sprint(at.Add(-time.Minute).Unix()) {
					at = at.Add(-time.Hour)
				}
				if _, err := standardwebhooks.Verify([]string{given}, header, body, at); err != nil {
					return 401
				}
				return 200
			}
		}, []string{"refuses-old-timestamp"}, "compare webhook-timestamp with the clock"},
		{"refuses every request", func(*service) func(http.Header, []byte) int { return always(403) },
			[]string{"accepts-signed"}, "answered 403"},
		{"has another secret", func(s *service) func(http.Header, []byte) int { return s.verifying(another) },
			[]string{"accepts-signed"}, "verifies with this signing secret"},
		{"fails", func(*service) func(http.Header, []byte) int { return always(500) },
			[]string{"accepts-signed", "refuses-bad-signature", "refuses-old-timestamp"}, "answered 500, but 4xx was expected"},
		{"redirects", func(*service) func(http.Header, []byte) int { return always(308) },
			[]string{"accepts-signed", "refuses-bad-signature", "refuses-old-timestamp"}, "answered 308"},
		{"is down", nil, []string{"accepts-signed", "refuses-bad-signature", "refuses-old-timestamp"}, "no answer: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := setup(t)
			url := "http://127.0.0.1:1/"
			if tt.answer != nil {
				url = receive(t, tt.answer(s)).URL
			}
			s.configure("webhook", url)
			got := s.certify("webhook")
			var failed []string
			reasons := ""
			for _, c := range got.Checks {
				if c.Status == "fail" {
					failed = append(failed, c.ID)
					reasons += c.Reason + "\n"
				}
			}
			if got.Passed || got.State != "sandbox" || !slices.Equal(failed, tt.failed) || !strings.Contains(reasons, tt.reasons) {
				t.Errorf("%s, failed %v:\n%s", got.State, failed, reasons)
			}
			if slices.Contains(got.Ports, "event.deliver") {
				t.Errorf("ports %v", got.Ports)
			}
			if i := s.get("webhook"); i.State != "sandbox" || i.Certification != nil {
				t.Errorf("%+v", i)
			}
			var last report
			if s.do("GET", "/webhook/certification", nil).Want(200).JSON(&last); last.Passed || len(last.Checks) != len(got.Checks) {
				t.Errorf("the last report is %+v", last)
			}
		})
	}
}

// TestCertify_Github reports a port without its prerequisites as not applicable, with the reason, and keeps it closed.
func TestCertify_Github(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.configured("github", map[string]any{"repository": "octo/app"}, 201)
	without := s.certify("github")
	if status, reason := without.check("signing-secret"); without.Passed || without.State != "sandbox" || status != "not-applicable" || !strings.Contains(reason, "configure signingSecret") {
		t.Errorf("without a secret: %+v", without)
	}
	if len(without.Ports) != 0 {
		t.Errorf("ports %v", without.Ports)
	}
	s.rotate("github", map[string]any{"signingSecret": "as typed at github"})
	with := s.certify("github")
	if !with.Passed || !slices.Equal(with.Ports, []string{"inbound.receive"}) {
		t.Errorf("with a secret: %+v", with)
	}
	for _, id := range []string{"maps-signed", "refuses-unsigned", "refuses-tampered", "refuses-stranger"} {
		if status, _ := with.check(id); status != "pass" {
			t.Errorf("%s: %q", id, status)
		}
	}
	for _, entity := range []string{"MEMORY#", "DECISION#", "TIMELINE#", "RECEIPT#"} {
		if page, err := s.company().Query(t.Context(), store.Query{Prefix: entity}); err != nil || len(page.Items) != 0 {
			t.Errorf("after a certification the store holds %v, %v", page.Items, err)
		}
	}
}

const atom = `<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom"><title>News</title><id>urn:x</id><updated>2026-01-01T00:00:00Z</updated>
<entry><id>urn:x:1</id><title>First</title><updated>2026-01-01T00:00:00Z</updated></entry></feed>`

func TestCertify_Feed(t *testing.T) {
	t.Parallel()
	s := setup(t)
	status, body := 200, atom
	feed := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "60")
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}))
	t.Cleanup(feed.Close)
	s.configured("feed", map[string]any{"url": feed.URL}, 201)
	good := s.certify("feed")
	if !good.Passed || !slices.Equal(good.Ports, []string{"sync.pull"}) {
		t.Fatalf("%+v", good)
	}
	if status, reason := good.check("credentials"); status != "not-applicable" || reason == "" {
		t.Errorf("credentials: %s, %q", status, reason)
	}
	if status, reason := good.check("sandbox-page"); status != "pass" || reason != "1 items" {
		t.Errorf("the page: %s, %q", status, reason)
	}
	tests := []struct {
		name   string
		status int
		body   string
		reason string
	}{
		{"not found", 404, "", "answers 404"},
		{"asks to wait", 429, "", "asks to wait until"},
		{"not a feed", 200, "<html></html>", ""},
		{"redirect", 302, "", "redirects are not followed"},
	}
	for _, tt := range tests {
		status, body = tt.status, tt.body
		got := s.certify("feed")
		if is, reason := got.check("sandbox-page"); got.Passed || is != "fail" || !strings.Contains(reason, tt.reason) || reason == "" {
			t.Errorf("%s: %+v", tt.name, got)
		}
	}
	status, body = 200, atom
	s.do("PUT", "/feed/credentials", map[string]any{"credentials": map[string]string{"token": "t"}}).Want(204)
	got := s.certify("feed")
	if is, reason := got.check("credentials"); got.Passed || is != "fail" || !strings.Contains(reason, "wrong credentials also worked") {
		t.Errorf("with unused credentials: %+v", got)
	}
}

// TestCertify_FailedRerun keeps a certification and its report after a failed run.
func TestCertify_FailedRerun(t *testing.T) {
	t.Parallel()
	s := setup(t)
	status := 0
	r := receive(t, func(header http.Header, body []byte) int {
		if status != 0 {
			return status
		}
		return s.verifying(given)(header, body)
	})
	s.configure("webhook", r.URL)
	s.certify("webhook")
	passed := s.clock.Now()
	s.clock.Advance(time.Hour)
	status = 500
	if again := s.certify("webhook"); again.Passed || again.State != "certified" {
		t.Errorf("%+v", again)
	}
	i := s.get("webhook")
	if i.State != "certified" || !i.Certification.PassedAt.Equal(passed) || !i.Certification.Report.Passed {
		t.Errorf("%+v", i.Certification)
	}
	var last report
	if s.do("GET", "/webhook/certification", nil).Want(200).JSON(&last); last.Passed {
		t.Error("the last report is not the failed one")
	}
	status = 0
	s.certify("webhook")
	if i := s.get("webhook"); !i.Certification.PassedAt.Equal(s.clock.Now()) {
		t.Errorf("certified again: %+v", i.Certification)
	}
}

func TestCertify_Expires(t *testing.T) {
	t.Parallel()
	s := setup(t)
	r := receive(t, s.verifying(given))
	s.configure("webhook", r.URL)
	s.certify("webhook")
	allowed := func() bool {
		i, _, err := integration.Load(t.Context(), s.company(), "webhook")
		errtest.Must(t, err)
		return i.Allows(integration.EventDeliver, s.clock.Now())
	}
	s.clock.Advance(90*24*time.Hour - time.Nanosecond)
	if i := s.get("webhook"); i.State != "certified" || !allowed() {
		t.Errorf("at the last moment: %+v", i)
	}
	s.clock.Advance(time.Nanosecond)
	var last report
	s.do("GET", "/webhook/certification", nil).Want(200).JSON(&last)
	if i := s.get("webhook"); i.State != "sandbox" || i.Sandboxed != "expired" || allowed() || last.State != "sandbox" {
		t.Errorf("after 90 days: %+v", i)
	}
	if s.certify("webhook").State != "certified" || !allowed() {
		t.Error("an expired integration cannot be certified again")
	}
}

// TestCertify_ChangedMeanwhile does not certify a configuration that changes during its certification.
func TestCertify_ChangedMeanwhile(t *testing.T) {
	t.Parallel()
	s := setup(t)
	var once sync.Once
	r := receive(t, func(header http.Header, body []byte) int {
		once.Do(func() {
			s.do("POST", "/webhook", map[string]any{"url": "https://example.com/", "events": []string{"memory.*"}})
		})
		return s.verifying(given)(header, body)
	})
	s.configure("webhook", r.URL)
	s.do("POST", "/webhook/certification", nil).WantProblem(409, "conflict")
	if i := s.get("webhook"); i.State != "sandbox" || i.URL != "https://example.com/" {
		t.Errorf("%+v", i)
	}
}

// TestCertify_OffersRecovery offers to send the deliveries held in the sandbox, once the integration is certified.
func TestCertify_OffersRecovery(t *testing.T) {
	t.Parallel()
	s := setup(t)
	status := 500
	r := receive(t, func(header http.Header, body []byte) int {
		if status != 0 {
			return status
		}
		return s.verifying(given)(header, body)
	})
	s.configure("webhook", r.URL)
	facts := projection.Empty(s.A.ID)
	facts.Deliveries.Endpoints["webhook"] = projection.Endpoint{Hourly: projection.Window{Seconds: 3600}, Held: projection.Tally{{From: s.clock.Now().Truncate(24 * time.Hour), Count: 3}}}
	s.learn(facts)
	if got := s.certify("webhook"); got.Recover != nil {
		t.Errorf("still in the sandbox: %+v", got.Recover)
	}
	status = 0
	got := s.certify("webhook")
	if got.Recover == nil || got.Recover.Held != 3 || got.Recover.Method != "POST" || got.Recover.Href != s.at("/webhook/recover") {
		t.Fatalf("%+v", got)
	}
	s.Do(got.Recover.Method, got.Recover.Href, s.A.Token, map[string]any{"since": s.clock.Now().Add(-time.Hour)}).Want(202)
}

func TestCertify_NotConfigured(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.do("POST", "/webhook/certification", nil).WantProblem(404, "not-found")
	s.do("GET", "/webhook/certification", nil).WantProblem(404, "not-found")
	s.do("POST", "/gitlab/certification", nil).WantProblem(404, "not-found")
}
