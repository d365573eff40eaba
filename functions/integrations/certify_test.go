package integrations_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/base/fault"
	"orgops/shared/domain/integration"
	"orgops/shared/insight/projection"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/githubtest"
	"orgops/shared/testkit/webtest"
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
	s.wantReport(got, report{Passed: true, State: "certified", Ports: []string{"event.deliver", "inbound.receive"}})
	for _, c := range got.Checks {
		if c.ID != "seen-from-outside" {
			s.wantCheck(got, c.ID, "pass", "")
		}
	}
	if len(r.got) != 3 {
		t.Errorf("%d samples, want one valid, one with a bad signature and one old", len(r.got))
	}
	i := s.get("webhook")
	s.wantStanding(i, standing{State: "certified", Certified: true, Enabled: true})
	want := &certification{PassedAt: s.clock.Now(), ExpiresAt: s.clock.Now().Add(90 * 24 * time.Hour), Ports: got.Ports, Report: &report{
		Passed: true, Ports: got.Ports, ConfigDigest: got.ConfigDigest, Checks: got.Checks,
	}}
	if diff := cmp.Diff(want, i.Certification); diff != "" {
		t.Errorf("certification differs (-want +got):\n%s", diff)
	}
	var last report
	s.do("GET", "/webhook/certification", nil).Want(200).JSON(&last)
	if diff := cmp.Diff(got, last); diff != "" {
		t.Errorf("last report differs (-want +got):\n%s", diff)
	}
	found := 0
	for shard := range store.DueShards {
		page, err := s.Store.Query(t.Context(), store.Due(shard), store.DueBy(i.Certification.ExpiresAt))
		errtest.Must(t, err)
		found += len(page.Items)
	}
	if found != 1 {
		t.Errorf("%d timers at the certification's end, want 1", found)
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
			[]string{"accepts-signed", "refuses-bad-signature", "refuses-old-timestamp"}, "answered 500, where 4xx was due"},
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
			s.wantReport(got, report{State: "sandbox", Ports: []string{"inbound.receive"}})
			if diff := cmp.Diff(tt.failed, failed); diff != "" {
				t.Errorf("failed checks differ (-want +got):\n%s", diff)
			}
			if !strings.Contains(reasons, tt.reasons) {
				t.Errorf("reasons:\n%swant one with %q", reasons, tt.reasons)
			}
			s.wantStanding(s.get("webhook"), standing{State: "sandbox", Enabled: true})
			var last report
			s.do("GET", "/webhook/certification", nil).Want(200).JSON(&last)
			if diff := cmp.Diff(got, last); diff != "" {
				t.Errorf("last report differs (-want +got):\n%s", diff)
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
	s.wantReport(without, report{State: "sandbox"})
	s.wantCheck(without, "signing-secret", "not-applicable", "configure signingSecret")
	s.wantCheck(without, "credentials", "not-applicable", "needs the credential token")
	s.rotate("github", map[string]any{"signingSecret": "as typed at github"})
	with := s.certify("github")
	s.wantReport(with, report{Passed: true, State: "certified", Ports: []string{"inbound.receive"}})
	for _, id := range []string{"maps-signed", "refuses-unsigned", "refuses-tampered", "refuses-stranger"} {
		s.wantCheck(with, id, "pass", "")
	}
	for _, prefix := range []string{"MEMORY#", "DECISION#", "TIMELINE#", "RECEIPT#"} {
		s.wantNone(prefix)
	}
}

// TestCertify_GithubSource proves the token against a server that behaves as GitHub documents, and shows one page.
func TestCertify_GithubSource(t *testing.T) {
	t.Parallel()
	s := setup(t)
	provider := githubtest.New(t, time.Now)
	provider.Put("issues", githubtest.Issue(7, "Printer on fire", time.Now()))
	provider.Expire("2026-05-01 08:00:00 UTC")
	s.configured("github", map[string]any{"repository": githubtest.Repository, "baseUrl": provider.URL}, 201)
	token := func(value string) report {
		s.do("PUT", "/github/credentials", map[string]any{"credentials": map[string]string{"token": value}}).Want(204)
		return s.certify("github")
	}
	wrong := token("github_pat_wrong")
	s.wantReport(wrong, report{State: "sandbox"})
	s.wantCheck(wrong, "sandbox-page", "fail", "refuses the token")
	right := token(githubtest.Token)
	s.wantReport(right, report{Passed: true, State: "certified", Ports: []string{"sync.pull"}})
	s.wantCheck(right, "sandbox-page", "pass", "1 item")
	s.wantCheck(right, "credentials", "pass", "refused with wrong ones")
	s.wantExpiry("github", new(time.Date(2026, 5, 1, 8, 0, 0, 0, time.UTC)))
	s.do("PUT", "/github/credentials", map[string]any{"credentials": map[string]string{"token": "another"}}).Want(204)
	s.wantExpiry("github", nil)
	s.wantNone("MEMORY#")
}

// TestList_SameAsOne lists each integration as it is shown alone: with the expiry of its certification and of its credentials.
func TestList_SameAsOne(t *testing.T) {
	t.Parallel()
	s := setup(t)
	server := githubtest.New(t, s.clock.Now)
	s.configured("github", map[string]any{"repository": githubtest.Repository, "baseUrl": server.URL}, 201)
	ends := s.clock.Now().Add(40 * 24 * time.Hour)
	s.do("PUT", "/github/credentials", map[string]any{"credentials": map[string]string{"token": githubtest.Token}, "expiresAt": ends}).Want(204)
	s.certify("github")
	var list struct{ Items []map[string]any }
	var one map[string]any
	s.do("GET", "", nil).Want(200).JSON(&list)
	s.do("GET", "/github", nil).Want(200).JSON(&one)
	if diff := cmp.Diff([]map[string]any{one}, list.Items); diff != "" {
		t.Errorf("the list differs (-alone +listed):\n%s", diff)
	}
	certification, _ := one["certification"].(map[string]any)
	credentials, _ := one["credentials"].(map[string]any)
	got := []any{certification["expiresAt"], credentials["expiresAt"]}
	want := []any{s.clock.Now().Add(90 * 24 * time.Hour).Format(time.RFC3339Nano), ends.Format(time.RFC3339Nano)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("expiry of certification and credentials (-want +got):\n%s", diff)
	}
}

// TestCredentials_ExpiresAt keeps the expiry that a founder states, until the provider says another one or the credentials are
// replaced. A certification of a provider that says nothing leaves it as it is.
func TestCredentials_ExpiresAt(t *testing.T) {
	t.Parallel()
	s := setup(t)
	server := githubtest.New(t, s.clock.Now)
	s.configured("github", map[string]any{"repository": githubtest.Repository, "baseUrl": server.URL}, 201)
	stated := s.clock.Now().Add(40 * 24 * time.Hour)
	store := func(until any) *webtest.Response {
		body := map[string]any{"credentials": map[string]string{"token": githubtest.Token}}
		if until != nil {
			body["expiresAt"] = until
		}
		return s.do("PUT", "/github/credentials", body)
	}
	store(stated).Want(204)
	s.wantExpiry("github", &stated)
	s.certify("github")
	s.wantExpiry("github", &stated)
	server.Expire("2026-05-01 08:00:00 UTC")
	s.certify("github")
	s.wantExpiry("github", new(time.Date(2026, 5, 1, 8, 0, 0, 0, time.UTC)))
	p := store(s.clock.Now()).WantProblem(422, "invalid")
	if diff := cmp.Diff([]fault.FieldError{{Pointer: "/expiresAt", Detail: "must be in the future"}}, p.Errors); diff != "" {
		t.Errorf("problems of an expiry that has passed (-want +got):\n%s", diff)
	}
	store(nil).Want(204)
	s.wantExpiry("github", nil)
}

// wantExpiry checks when the list of integrations says that the credentials of one expire.
func (s *service) wantExpiry(provider string, want *time.Time) {
	s.t.Helper()
	var list struct {
		Items []struct {
			Provider    string
			Credentials struct{ ExpiresAt *time.Time }
		}
	}
	s.do("GET", "", nil).Want(200).JSON(&list)
	for _, i := range list.Items {
		if i.Provider != provider {
			continue
		}
		if diff := cmp.Diff(want, i.Credentials.ExpiresAt); diff != "" {
			s.t.Errorf("expiry of the credentials of %s differs (-want +got):\n%s", provider, diff)
		}
		return
	}
	s.t.Errorf("%s is not listed", provider)
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
	s.wantReport(good, report{Passed: true, State: "certified", Ports: []string{"sync.pull"}})
	s.wantCheck(good, "credentials", "not-applicable", "")
	s.wantCheck(good, "sandbox-page", "pass", "1 item")
	tests := []struct {
		name   string
		status int
		body   string
		reason string
	}{
		{"not found", 404, "", "answers 404"},
		{"asks to wait", 429, "", "asks to wait until"},
		{"not a feed", 200, "<html></html>", ""},
		{"redirect", 302, "", "it redirects, and does not say where to"},
	}
	for _, tt := range tests {
		status, body = tt.status, tt.body
		got := s.certify("feed")
		if got.Passed {
			t.Errorf("%s: the certification passed, want it failed: %+v", tt.name, got)
		}
		s.wantCheck(got, "sandbox-page", "fail", tt.reason)
	}
	status, body = 200, atom
	op, err := integration.SaveSecrets(t.Context(), s.company(), s.services.Vault, integration.Integration{Provider: "feed"}, 0, integration.Secrets{Values: map[string]string{"token": "t"}})
	errtest.Must(t, err)
	errtest.Must(t, s.company().Commit(t.Context(), op)) // as a release that took them for every provider
	got := s.certify("feed")
	if got.Passed {
		t.Errorf("with unused credentials the certification passed, want it failed: %+v", got)
	}
	s.wantCheck(got, "credentials", "fail", "wrong credentials as well")
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
	s.wantReport(s.certify("webhook"), report{State: "certified", Ports: []string{"inbound.receive"}})
	i := s.get("webhook")
	s.wantStanding(i, standing{State: "certified", Certified: true, Enabled: true})
	if got := i.Certification.PassedAt; !got.Equal(passed) {
		t.Errorf("passed at %v, want still %v", got, passed)
	}
	s.wantReport(*i.Certification.Report, report{Passed: true, Ports: []string{"event.deliver", "inbound.receive"}})
	var last report
	if s.do("GET", "/webhook/certification", nil).Want(200).JSON(&last); last.Passed {
		t.Error("the last report passed, want the failed one")
	}
	status = 0
	s.certify("webhook")
	if got := s.get("webhook").Certification.PassedAt; !got.Equal(s.clock.Now()) {
		t.Errorf("certified again at %v, want %v", got, s.clock.Now())
	}
}

func TestCertify_Expires(t *testing.T) {
	t.Parallel()
	s := setup(t)
	r := receive(t, s.verifying(given))
	s.configure("webhook", r.URL)
	s.certify("webhook")
	certified := standing{State: "certified", Certified: true, Enabled: true}
	expired := standing{State: "sandbox", Sandboxed: "expired", Enabled: true}
	now := func(want standing) {
		t.Helper()
		s.wantStanding(s.get("webhook"), want)
		i, _, err := integration.Load(t.Context(), s.company(), "webhook")
		errtest.Must(t, err)
		if got := i.Allows(integration.EventDeliver, s.clock.Now()); got != want.Certified {
			t.Errorf("the integration may deliver events: %t, want %t", got, want.Certified)
		}
	}
	s.clock.Advance(90*24*time.Hour - time.Nanosecond)
	now(certified)
	s.clock.Advance(time.Nanosecond)
	now(expired)
	var last report
	s.do("GET", "/webhook/certification", nil).Want(200).JSON(&last)
	if last.State != "sandbox" {
		t.Errorf(`state in the last report = %q, want "sandbox"`, last.State)
	}
	if got := s.certify("webhook").State; got != "certified" {
		t.Errorf(`state after another certification = %q, want "certified"`, got)
	}
	now(certified)
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
	i := s.get("webhook")
	s.wantStanding(i, standing{State: "sandbox", Enabled: true})
	if want := "https://example.com/"; i.URL != want {
		t.Errorf("url %q, want %q", i.URL, want)
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
		t.Errorf("still in the sandbox the report offers %+v, want nothing", got.Recover)
	}
	status = 0
	got := s.certify("webhook")
	if diff := cmp.Diff(&offer{Held: 3, Method: "POST", Href: s.at("/webhook/recover")}, got.Recover); diff != "" {
		t.Fatalf("offer differs (-want +got):\n%s", diff)
	}
	s.Do(got.Recover.Method, got.Recover.Href, s.A.Token, map[string]any{"since": s.clock.Now().Add(-time.Hour)}).Want(202)
}

func TestCertify_NotConfigured(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.do("POST", "/webhook/certification", nil).WantProblem(404, "not-found")
	s.do("GET", "/webhook/certification", nil).WantProblem(404, "not-found")
	s.do("POST", "/unknown/certification", nil).WantProblem(404, "not-found")
}
