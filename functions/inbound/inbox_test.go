package inbound_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/inbox"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
)

// sandboxed returns github and webhook to the sandbox, and empties the count of commits.
func (s *service) sandboxed() {
	s.t.Helper()
	s.certified()
	for _, provider := range []string{"webhook", "github"} {
		s.edit(provider, func(i *integration.Integration) { i.State, i.Certification = integration.Sandbox, nil })
	}
	s.commits.take()
}

func (s *service) inbox(provider string) []inbox.ReceivedSummary {
	s.t.Helper()
	var page struct{ Items []inbox.ReceivedSummary }
	s.integrations("GET", "/"+provider+"/inbox", nil).Want(200).JSON(&page)
	return page.Items
}

func (s *service) received(provider, id string) inbox.Received {
	s.t.Helper()
	var d inbox.Received
	s.integrations("GET", "/"+provider+"/inbox/"+id, nil).Want(200).JSON(&d)
	return d
}

// TestInbox keeps what the sandbox receives, accepted or refused, without signatures, and nothing of a certified
// integration. A preview tries a kept arrival again.
func TestInbox(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.sandboxed()
	s.send("github", githubSecret, "g1", `{"repository":{"full_name":"octo/app"}}`, "X-GitHub-Event", "issues").Want(422)
	s.clock.Advance(time.Second)
	issue := `{"action":"opened","repository":{"full_name":"octo/app"},"issue":{"number":7,"title":"Bug"}}`
	s.sent(s.send("github", githubSecret, "g2", issue, "X-GitHub-Event", "issues", "Authorization", "Bearer a-token", "X-Gitlab-Token", "s3cr3t"), 202)
	s.wantReceipt(s.sent(s.send("github", githubSecret, "g2", issue, "X-GitHub-Event", "issues"), 202), "sandboxed", "memory.upsert permitted created")
	s.wantCommits(2)
	listed := s.inbox("github")
	var got []string
	for _, one := range listed {
		got = append(got, fmt.Sprintf("%d actions, %d permitted, %d bytes, %q", one.Actions, one.Permitted, one.Size, one.Problem))
	}
	want := []string{`1 actions, 1 permitted, 92 bytes, ""`, `0 actions, 0 permitted, 39 bytes, "the request does not meet its schema; see errors"`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("inbox differs (-want +got):\n%s", diff)
	}
	d := s.received("github", listed[0].ID)
	if d.Body != issue {
		t.Errorf("body = %s, want %s", d.Body, issue)
	}
	for name, value := range d.Headers {
		for _, secret := range []string{"signature", "sha256=", "s3cr3t", "a-token"} {
			if strings.Contains(name+": "+value, secret) {
				t.Errorf("the inbox shows the header %s: %s, want it left out", name, value)
			}
		}
	}
	if got := d.Headers["x-github-event"]; got != "issues" {
		t.Errorf("x-github-event = %q, want issues", got)
	}
	if got := s.received("github", listed[1].ID).Result.Problem.Errors[0].Pointer; got != "/issue" {
		t.Errorf("place of the problem = %q, want /issue", got)
	}
	var tried inbox.MappingResult
	s.integrations("POST", "/github/mapping/preview", map[string]any{"inboxId": listed[0].ID}).Want(200).JSON(&tried)
	if got := string(tried.Actions[0].Fields); !strings.Contains(got, `"title":"Bug"`) {
		t.Errorf("fields of the preview = %s, want the title Bug", got)
	}
	tried.Actions[0].Fields = nil // in a preview alone
	if diff := cmp.Diff(d.Result, tried); diff != "" {
		t.Errorf("preview of the arrival differs from its result (-want +got):\n%s", diff)
	}
	s.integrations("POST", "/github/certification", nil).Want(200)
	s.sent(s.send("github", githubSecret, "g2", issue, "X-GitHub-Event", "issues"), 202)
	if got := len(s.inbox("github")); got != 2 {
		t.Errorf("%d arrivals in the inbox after the certification, want 2", got)
	}
	s.integrations("GET", "/github/inbox/"+d.ID+"0", nil).WantProblem(404, "not-found")
}

// TestInbox_Latest keeps the latest 20 of 7 days, also when arrivals arrive at the same time.
func TestInbox_Latest(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.sandboxed()
	send := func(n int) {
		s.send("webhook", secret, fmt.Sprint("d", n), strings.Replace(upsert, `"42"`, fmt.Sprintf(`"%d"`, n), 1)).Want(202)
	}
	for n := range 15 {
		send(n)
		s.clock.Advance(time.Minute)
	}
	var together sync.WaitGroup
	for n := range 8 {
		together.Go(func() { send(100 + n) })
	}
	together.Wait()
	listed := s.inbox("webhook")
	if len(listed) != 20 {
		t.Fatalf("%d arrivals in the inbox, want 20", len(listed))
	}
	s.wantItems("INBOX#webhook#", 20)
	if got := s.received("webhook", listed[19].ID).Body; !strings.Contains(got, `"3"`) {
		t.Errorf("the oldest arrival is %s, want the fourth", got)
	}
	s.clock.Advance(7*24*time.Hour - 2*time.Minute)
	if got := len(s.inbox("webhook")); got != 9 {
		t.Errorf("%d arrivals in the inbox after 7 days, want the latest 9", got)
	}
}

// TestInbox_Large keeps the beginning of a large body, however much of it JSON escapes, and does not try it again.
func TestInbox_Large(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.sandboxed()
	body := strings.Replace(upsert, "Printer", strings.Repeat("<", 200<<10), 1)
	s.send("webhook", secret, "d1", body, "X-Long", strings.Repeat("x", 9<<10), "A-Short", "x").Want(202)
	listed := s.inbox("webhook")
	d := s.received("webhook", listed[0].ID)
	got := []any{d.Truncated, len(d.Body), d.Size, len(d.Headers["x-long"]), d.Headers["a-short"]}
	if diff := cmp.Diff([]any{true, 40 << 10, len(body), 0, "x"}, got); diff != "" {
		t.Errorf("arrival differs (-want +got):\n%s", diff)
	}
	s.integrations("POST", "/webhook/mapping/preview", map[string]any{"inboxId": d.ID}).WantProblem(422, "invalid")
}

// TestReceive_Mapping takes the company's mapping as soon as it is stored, a changed one after that, and the default again
// when it is removed.
func TestReceive_Mapping(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.certified()
	ticket := func(kind string) json.RawMessage {
		return json.RawMessage(`{"rules":[{"when":".headers[\"x-desk\"] == \"ticket\"","each":".payload.tickets","action":"memory.upsert",
			"with":{"externalId":".item.id","kind":"\"` + kind + `\"","title":".item.subject"}}],
			"otherwise":{"pointer":"/tickets","detail":"is missing"}}`)
	}
	body := `{"tickets":[{"id":"1","subject":"Fire"},{"id":"2","subject":"Water"}]}`
	s.integrations("PUT", "/webhook/mapping", ticket("ticket")).Want(200)
	created := "memory.upsert permitted created"
	s.wantReceipt(s.sent(s.send("webhook", secret, "d1", body, "X-Desk", "ticket"), 202), created, created)
	p := s.send("webhook", secret, "d2", upsert).WantProblem(422, "invalid")
	if got := p.Errors[0].Pointer; got != "/tickets" {
		t.Errorf("pointer = %s, want /tickets", got)
	}
	s.integrations("PUT", "/webhook/mapping", ticket("request")).Want(200)
	s.sent(s.send("webhook", secret, "d3", body, "X-Desk", "ticket"), 202)
	for _, m := range items[memory.Memory](s, memory.Prefix) {
		if m.Kind != "request" {
			t.Errorf("kind of %s = %s, want request, by the changed mapping", m.ExternalID, m.Kind)
		}
	}
	s.integrations("DELETE", "/webhook/mapping", nil).Want(204)
	s.wantReceipt(s.sent(s.send("webhook", secret, "d4", upsert), 202), created)
}

// TestCertification_Seen warns until an arrival from outside has been accepted, and certifies all the same.
func TestCertification_Seen(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.certified()
	seen := func() string {
		var report struct {
			Passed bool
			Checks []struct{ ID, Status string }
		}
		s.integrations("POST", "/webhook/certification", nil).Want(200).JSON(&report)
		if !report.Passed {
			t.Error("the certification did not pass, want a warning at most")
		}
		for _, c := range report.Checks {
			if c.ID == "seen-from-outside" {
				return c.Status
			}
		}
		return "no such check"
	}
	got := []string{seen()}
	s.send("webhook", secret, "d1", upsert).Want(202)
	got = append(got, seen())
	s.clock.Advance(time.Minute)
	for _, provider := range []string{"/webhook", "/github"} {
		s.integrations("DELETE", provider, nil).Want(204)
	}
	s.certified() // another integration of the same provider
	if diff := cmp.Diff([]string{"warn", "pass", "warn"}, append(got, seen())); diff != "" {
		t.Errorf("statuses differ (-want +got):\n%s", diff)
	}
}
