package inbound_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/base/id"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/timeline"
	"orgops/shared/provider/connector"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/metrictest"
)

// TestReceive commits the permitted actions together with their decisions and the receipt.
func TestReceive(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.certified()
	got := s.sent(s.send("webhook", secret, "d1", upsert), 202)
	if diff := cmp.Diff([]string{"memory.upsert permitted created"}, got.outcomes()); diff != "" || got.Duplicate || got.Sandboxed {
		t.Errorf("%+v\n%s", got, diff)
	}
	all := s.commits.take()
	if len(all) != 1 || len(all[0]) != 3 {
		t.Fatalf("%d commits: %v", len(all), all)
	}
	entities := map[string]store.Op{}
	for _, op := range all[0] {
		entities[op.Entity] = op
	}
	if !entities["receipt"].Quiet || !entities["decision"].Quiet || entities["memory"].Quiet {
		t.Error("want the memory in the feed, and nothing else")
	}
	if until := s.clock.Now().Add(7 * 24 * time.Hour); !entities["receipt"].Expires.Equal(until) {
		t.Errorf("the receipt is kept until %v", entities["receipt"].Expires)
	}
	memories, decisions := items[memory.Memory](s, memory.Prefix), items[policy.Decision](s, policy.Prefix)
	if len(memories) != 1 || memories[0].Title != "Printer on fire" || memories[0].ID != got.Results[0].Subject {
		t.Errorf("memories %+v", memories)
	}
	want := policy.Decision{
		ID: got.Results[0].DecisionID, Verdict: policy.Permitted, Principal: timeline.Reference{Type: "integration", ID: "webhook"},
		Action: "memory.upsert", Resource: timeline.Reference{Type: "memory", ID: memories[0].ID}, At: s.clock.Now(),
		Policies: []string{"permit-connector-actions"}, Reasons: []string{"memory.upsert is within the permissions of webhook"},
	}
	if diff := cmp.Diff([]policy.Decision{want}, decisions); diff != "" {
		t.Error(diff)
	}
	again := s.sent(s.send("webhook", secret, "d2", strings.ReplaceAll(upsert, "fire", "ice")), 202)
	if diff := cmp.Diff([]string{"memory.upsert permitted updated"}, again.outcomes()); diff != "" {
		t.Error(diff)
	}
	same := s.sent(s.send("webhook", secret, "d3", strings.ReplaceAll(upsert, "fire", "ice")), 202)
	if diff := cmp.Diff([]string{"memory.upsert permitted unchanged"}, same.outcomes()); diff != "" {
		t.Error(diff)
	}
}

func TestReceive_Kinds(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.certified()
	note := s.sent(s.send("webhook", secret, "d1", `{"type":"timeline.note","data":{"title":"Moved","subject":"office","details":{"to":"Bern"}}}`), 202)
	if diff := cmp.Diff([]string{"timeline.note permitted created"}, note.outcomes()); diff != "" {
		t.Error(diff)
	}
	entries := items[timeline.Entry](s, timeline.Prefix)
	if len(entries) != 1 || entries[0].Kind != timeline.Note || entries[0].Title != "Moved" || entries[0].Subject.ID != "office" || string(entries[0].Details) != `{"to":"Bern"}` {
		t.Errorf("entries %+v", entries)
	}
	due := s.clock.Now().Add(100 * 24 * time.Hour)
	body := fmt.Sprintf(`{"type":"goal.update","data":{"externalId":"q3","title":"Ship","progress":0.4,"state":"open","dueAt":%q}}`, due.Format(time.RFC3339))
	s.sent(s.send("webhook", secret, "d2", body), 202)
	goals := items[goal.Goal](s, goal.Prefix)
	if len(goals) != 1 || goals[0].Progress != 0.4 || goals[0].Alignment.Status != goal.Aligned {
		t.Errorf("goals %+v", goals)
	}
	issue := `{"action":"opened","repository":{"full_name":"octo/app"},"issue":{"number":7,"title":"Bug","milestone":{"number":1,"title":"v1","state":"open","open_issues":1,"closed_issues":1}}}`
	github := s.sent(s.send("github", githubSecret, "g1", issue, "X-GitHub-Event", "issues"), 202)
	if diff := cmp.Diff([]string{"memory.upsert permitted created", "goal.update permitted created"}, github.outcomes()); diff != "" {
		t.Error(diff)
	}
	issue = "payload=" + url.QueryEscape(strings.ReplaceAll(issue, "Bug", "Big"))
	form := s.sent(s.send("github", githubSecret, "g3", issue, "X-GitHub-Event", "issues", "Content-Type", "application/x-www-form-urlencoded"), 202)
	if diff := cmp.Diff([]string{"memory.upsert permitted updated", "goal.update permitted unchanged"}, form.outcomes()); diff != "" {
		t.Error(diff)
	}
	nothing := s.send("github", githubSecret, "g2", `{"zen":"x"}`, "X-GitHub-Event", "ping").Want(202)
	if !strings.Contains(string(nothing.Body), `"results":[]`) {
		t.Errorf("an event that maps to no action: %s", nothing.Body)
	}
}

// TestReceive_Repeats recognises a repeat by the delivery's id and body together, because some schemes do not sign the id.
func TestReceive_Repeats(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.certified()
	first := s.sent(s.send("webhook", secret, "d1", upsert), 202)
	s.commits.take()
	answer := s.send("webhook", secret, "d1", upsert)
	if again := s.sent(answer, 200); !again.Duplicate || len(again.Results) != 0 || len(s.commits.take()) != 0 || !strings.Contains(string(answer.Body), `"results":[]`) {
		t.Errorf("repeated: %s", answer.Body)
	}
	s.clock.Advance(time.Minute) // every attempt has a new signature
	if again := s.sent(s.send("webhook", secret, "d1", upsert), 200); !again.Duplicate {
		t.Errorf("with a new signature: %+v", again)
	}
	other := s.sent(s.send("webhook", secret, "d1", strings.ReplaceAll(upsert, "fire", "ice")), 202)
	if other.Duplicate || other.Results[0].Subject != first.Results[0].Subject {
		t.Errorf("the same id with another body: %+v", other)
	}
	if next := s.sent(s.send("webhook", secret, "d2", upsert), 202); next.Duplicate {
		t.Errorf("another id with the same body: %+v", next)
	}
	s.send("github", githubSecret, "d1", upsert, "X-GitHub-Event", "ping").Want(202) // ids are scoped to a provider
	if got := items[struct{}](s, "RECEIPT#"); len(got) != 4 {
		t.Errorf("%d receipts", len(got))
	}
	s.send("webhook", "whsec_"+strings.Repeat("A", 32), "d3", upsert).Want(401)
	s.send("github", githubSecret, "d9", "nonsense", "X-GitHub-Event", "issues").Want(400)
	s.post("/inbound/!/webhook", upsert).Want(401)
	s.metrics.Flush("")
	want := map[string]float64{"InboundAccepted": 4, "InboundRepeated": 2, "InboundRefused": 3}
	if diff := cmp.Diff(want, metrictest.Sums(t, s.measured.String())); diff != "" {
		t.Errorf("measured (-want +got):\n%s", diff)
	}
}

func TestReceive_RepeatAfterAWeek(t *testing.T) {
	t.Parallel()
	tests := []struct {
		ago    time.Duration
		status int
	}{{7*24*time.Hour - time.Hour, 200}, {7*24*time.Hour + time.Minute, 202}} // the store expires items by the machine's clock
	for _, tt := range tests {
		s := setup(t)
		s.clock.Advance(-tt.ago)
		s.certified()
		s.send("webhook", secret, "d1", upsert).Want(202)
		s.clock.Advance(tt.ago)
		s.send("webhook", secret, "d1", upsert).Want(tt.status)
	}
}

// TestReceive_Sandboxed records only the verdicts in the sandbox: no effect and no receipt, so that the same delivery can
// be sent again after certification.
func TestReceive_Sandboxed(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.certified()
	s.edit("webhook", func(i *integration.Integration) { i.State, i.Certification = integration.Sandbox, nil })
	for range 2 {
		got := s.sent(s.send("webhook", secret, "d1", upsert), 202)
		if diff := cmp.Diff([]string{"memory.upsert permitted created"}, got.outcomes()); diff != "" || !got.Sandboxed || got.Duplicate {
			t.Errorf("%+v\n%s", got, diff)
		}
	}
	for _, prefix := range []string{memory.Prefix, "RECEIPT#", timeline.Prefix} {
		if got := items[json.RawMessage](s, prefix); len(got) != 0 {
			t.Errorf("%s: %s", prefix, got)
		}
	}
	decisions := items[policy.Decision](s, policy.Prefix)
	if len(decisions) != 2 || !decisions[0].DryRun || decisions[0].Verdict != policy.Permitted {
		t.Errorf("decisions %+v", decisions)
	}
	s.integrations("POST", "/webhook/certification", nil).Want(200)
	if got := s.sent(s.send("webhook", secret, "d1", upsert), 202); got.Sandboxed || len(items[memory.Memory](s, memory.Prefix)) != 1 {
		t.Errorf("certified: %+v", got)
	}
}

// TestReceive_OtherPort stays in the sandbox for a port that the certification did not prove.
func TestReceive_OtherPort(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.certified()
	s.edit("webhook", func(i *integration.Integration) { i.Certification.Ports = []integration.Port{integration.EventDeliver} })
	if got := s.sent(s.send("webhook", secret, "d1", upsert), 202); !got.Sandboxed || len(items[memory.Memory](s, memory.Prefix)) != 0 {
		t.Errorf("%+v", got)
	}
	if d := items[policy.Decision](s, policy.Prefix); len(d) != 1 || !d[0].DryRun {
		t.Errorf("decisions %+v", d)
	}
}

func TestReceive_Expired(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.certified()
	s.clock.Advance(integration.CertifiedFor)
	if got := s.sent(s.send("webhook", secret, "d1", upsert), 202); !got.Sandboxed {
		t.Errorf("%+v", got)
	}
}

// TestReceive_Denied records a denied action, adds it to the timeline, and carries out the permitted actions of the same
// delivery.
func TestReceive_Denied(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.certified()
	s.edit("github", func(i *integration.Integration) {
		i.Permissions = []integration.Port{integration.InboundReceive, integration.GoalUpdate}
	})
	issue := `{"action":"opened","repository":{"full_name":"octo/app"},"issue":{"number":7,"title":"Bug","milestone":{"number":1,"title":"v1","state":"open"}}}`
	got := s.sent(s.send("github", githubSecret, "g1", issue, "X-GitHub-Event", "issues"), 202)
	if diff := cmp.Diff([]string{"memory.upsert denied refused", "goal.update permitted created"}, got.outcomes()); diff != "" {
		t.Error(diff)
	}
	if len(items[memory.Memory](s, memory.Prefix)) != 0 || len(items[goal.Goal](s, goal.Prefix)) != 1 {
		t.Error("the verdicts were not respected")
	}
	entries := items[timeline.Entry](s, timeline.Prefix)
	if len(entries) != 1 || entries[0].Kind != timeline.PolicyDenied || entries[0].Subject != (timeline.Reference{Type: "decision", ID: got.Results[0].DecisionID}) ||
		entries[0].Title != "github was not allowed to memory.upsert" {
		t.Errorf("entries %+v", entries)
	}
	if len(items[policy.Decision](s, policy.Prefix)) != 2 {
		t.Error("a decision is missing")
	}
}

// TestReceive_EngineFails permits nothing without a verdict.
func TestReceive_EngineFails(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.certified()
	s.engine.err = errors.New("s3cr3t cause")
	answer := s.send("webhook", secret, "d1", upsert)
	got := s.sent(answer, 202)
	if diff := cmp.Diff([]string{"memory.upsert denied refused"}, got.outcomes()); diff != "" || strings.Contains(string(answer.Body), "s3cr3t") {
		t.Errorf("%s\n%s", answer.Body, diff)
	}
	d := items[policy.Decision](s, policy.Prefix)
	if len(d) != 1 || d[0].Verdict != policy.Denied || len(d[0].Reasons) != 1 || strings.Contains(d[0].Reasons[0], "s3cr3t") || d[0].Policies == nil {
		t.Errorf("decisions %+v", d)
	}
}

func TestReceive_Invalid(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.certified()
	one := `{"externalId":"1","title":"t"},`
	tests := []struct {
		name, body string
		status     int
		kind       string
		pointers   []string
	}{
		{"not JSON", `{"type":`, 400, "malformed", nil},
		{"not UTF-8", "{\"type\":\"\xff\"}", 400, "malformed", nil},
		{"a list", `[]`, 422, "invalid", []string{""}},
		{"unknown type", `{"type":"memory.delete","data":{}}`, 422, "invalid", []string{"/type"}},
		{"every problem", `{"type":"goal.update","data":[{"externalId":"a","title":"A","state":"open"},{"externalId":"b","title":"","progress":2,"state":"done"}]}`,
			422, "invalid", []string{"/data/1/title", "/data/1/progress", "/data/1/state"}},
		{"too many", `{"type":"memory.upsert","data":[` + strings.Repeat(one, connector.MaxActions) + `{"externalId":"1","title":"t"}]}`, 422, "invalid", []string{"/data"}},
		{"a time beyond the calendar", `{"type":"goal.update","data":{"externalId":"a","title":"A","state":"open","dueAt":"9999-12-31T23:59:59-23:59","startedAt":"0000-01-01T00:00:00+23:59"}}`,
			422, "invalid", []string{"/data/dueAt", "/data/startedAt"}},
		{"an oversized note", `{"type":"timeline.note","data":{"title":"t","subject":"` + strings.Repeat("s", 513) + `","details":{"a":"` + strings.Repeat("x", 500<<10) + `"}}}`,
			422, "invalid", []string{"/data/subject", "/data/details"}},
		{"a goal's long url", `{"type":"goal.update","data":{"externalId":"a","title":"A","state":"open","url":"` + strings.Repeat("x", 500<<10) + `"}}`,
			422, "invalid", []string{"/data/url"}},
		{"oversized", `{"type":"` + strings.Repeat("x", 1<<20) + `"}`, 413, "too-large", nil},
	}
	for n, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := s.send("webhook", secret, fmt.Sprint("d", n), tt.body).WantProblem(tt.status, tt.kind)
			var pointers []string
			for _, problem := range p.Errors {
				pointers = append(pointers, problem.Pointer)
			}
			if diff := cmp.Diff(tt.pointers, pointers); diff != "" {
				t.Errorf("%+v\n%s", p, diff)
			}
		})
	}
	if got := s.commits.take(); len(got) != 0 {
		t.Errorf("%d commits", len(got))
	}
	s.send("webhook", secret, "empty", "").WantProblem(400, "malformed")
	s.send("webhook", secret, "form", upsert, "Content-Type", "application/x-www-form-urlencoded; charset=utf-8").Want(202) // parsed as JSON despite its content type
	s.send("webhook", secret, "text", upsert, "Content-Type", "text/plain").WantProblem(415, "unsupported-media-type")
	s.send("github", githubSecret, "g1", `{}`).WantProblem(400, "malformed") // without X-GitHub-Event
}

// TestReceive_Largest fits the largest accepted delivery into a commit, however much of it JSON escapes.
func TestReceive_Largest(t *testing.T) {
	t.Parallel()
	due := time.Now().Add(24 * time.Hour).Format(time.RFC3339)
	tests := []struct {
		name, port, draft string
	}{
		{"goals with timers", "goal.update", `{"externalId":"%d","title":"t","state":"open","dueAt":"` + due + `"}`},
		{"goals with the latest due time", "goal.update", `{"externalId":"%d","title":"t","state":"open","dueAt":"9999-12-31T23:59:59Z","startedAt":"0001-01-01T00:00:00Z"}`},
		{"memories", "memory.upsert", `{"externalId":"%d","title":"t","body":"` + strings.Repeat("<", 30<<10) + `"}`},
		{"notes", "timeline.note", `{"title":"%d","details":{"a":"` + strings.Repeat("&", 16<<10-8) + `"}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := setup(t)
			s.certified()
			drafts := make([]string, connector.MaxActions)
			for n := range drafts {
				drafts[n] = fmt.Sprintf(tt.draft, n)
			}
			got := s.sent(s.send("webhook", secret, "d1", `{"type":"`+tt.port+`","data":[`+strings.Join(drafts, ",")+`]}`), 202)
			if len(got.Results) != connector.MaxActions || got.Results[29].Outcome != "created" {
				t.Errorf("%+v", got)
			}
			if all := s.commits.take(); len(all) != 1 {
				t.Errorf("%d commits", len(all))
			}
		})
	}
}

func TestReceive_OneLargeMemory(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.certified()
	s.send("webhook", secret, "d1", `{"type":"memory.upsert","data":{"externalId":"1","title":"t","body":"`+strings.Repeat("<", 1000<<10)+`"}}`).Want(202)
}

// TestReceive_OneItemTwice counts the later of two actions on one item, even if the later one repeats the stored state.
func TestReceive_OneItemTwice(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.certified()
	both := func(first, second string) string {
		return fmt.Sprintf(`{"type":"memory.upsert","data":[{"externalId":"1","title":%q},{"externalId":"2","title":"other"},{"externalId":"1","title":%q}]}`, first, second)
	}
	title := func() string {
		var m memory.Memory
		_, err := s.company().Get(t.Context(), memory.Key(memory.IDOf("webhook", "1")), &m)
		errtest.Must(t, err)
		return m.Title
	}
	tests := []struct {
		first, second string
		want          []string
	}{
		{"a", "b", []string{"unchanged", "created", "created"}},
		{"c", "b", []string{"unchanged", "unchanged", "unchanged"}},
		{"b", "d", []string{"unchanged", "unchanged", "updated"}},
	}
	for n, tt := range tests {
		got := s.sent(s.send("webhook", secret, fmt.Sprint("d", n), both(tt.first, tt.second)), 202)
		var outcomes []string
		for _, r := range got.Results {
			outcomes = append(outcomes, r.Outcome)
		}
		if diff := cmp.Diff(tt.want, outcomes); diff != "" || title() != tt.second {
			t.Errorf("%s then %s: the title is %s\n%s", tt.first, tt.second, title(), diff)
		}
	}
	notes := `{"type":"timeline.note","data":[{"title":"one"},{"title":"one"}]}`
	if got := s.sent(s.send("webhook", secret, "n1", notes), 202); got.Results[0].Outcome != "created" || len(items[timeline.Entry](s, timeline.Prefix)) != 2 {
		t.Errorf("two notes: %+v", got)
	}
}

// TestReceive_Concurrent applies concurrent deliveries about one item one after another.
func TestReceive_Concurrent(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.certified()
	const n = 24
	statuses := make(chan int, n)
	var running sync.WaitGroup
	for i := range n {
		body := fmt.Sprintf(`{"type":"memory.upsert","data":{"externalId":"1","title":"version %d"}}`, i)
		running.Go(func() { statuses <- s.send("webhook", secret, fmt.Sprint("d", i), body).Status })
	}
	running.Wait()
	close(statuses)
	for status := range statuses {
		if status != 202 {
			t.Errorf("answered %d", status)
		}
	}
	item, err := s.company().Get(t.Context(), memory.Key(memory.IDOf("webhook", "1")), nil)
	errtest.Must(t, err)
	if item.Version != n || len(items[policy.Decision](s, policy.Prefix)) != n || len(items[struct{}](s, "RECEIPT#")) != n {
		t.Errorf("version %d", item.Version)
	}
}

// TestReceive_ConcurrentRepeats applies concurrent repeats once.
func TestReceive_ConcurrentRepeats(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.certified()
	statuses := make(chan int, 12)
	var running sync.WaitGroup
	for range cap(statuses) {
		running.Go(func() {
			statuses <- s.send("webhook", secret, "d1", `{"type":"timeline.note","data":{"title":"once"}}`).Status
		})
	}
	running.Wait()
	close(statuses)
	count := map[int]int{}
	for status := range statuses {
		count[status]++
	}
	if count[202] != 1 || count[200] != cap(statuses)-1 || len(items[timeline.Entry](s, timeline.Prefix)) != 1 {
		t.Errorf("%v", count)
	}
}

// TestReceive_IdempotencyKey ignores a provider's Idempotency-Key.
func TestReceive_IdempotencyKey(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.certified()
	s.send("webhook", secret, "d1", upsert, "Idempotency-Key", "k").Want(202)
	s.send("webhook", secret, "d2", strings.ReplaceAll(upsert, "fire", "ice"), "Idempotency-Key", "k").Want(202)
}

// FuzzReceive checks that no request makes the service fail.
func FuzzReceive(f *testing.F) {
	f.Add("webhook", upsert, "d1", "v1,AAAA", true)
	f.Add("github", `{"action":"opened","repository":{"full_name":"octo/app"},"issue":{"number":7,"title":"Bug"}}`, "d2", "issues", true)
	f.Add("github", `{"action":"published","repository":{"full_name":"octo/app"},"release":{"tag_name":"v1"}}`, "d3", "release", true)
	f.Add("webhook", `{"type":"goal.update","data":[{"externalId":"a","title":"A","progress":1e400,"state":"open","dueAt":"9999-12-31T23:59:59-23:59"}]}`, "", "\x00", true)
	f.Add("webhook", `{"type":"timeline.note","data":{"title":"\u0000","details":{"a":[[[[]]]]}}}`, "a.b", "x", false)
	f.Add("feed", "", "", "", false)
	s := setup(f)
	s.certified()
	f.Fuzz(func(t *testing.T, provider, body, deliveryID, header string, signed bool) {
		path := "/inbound/" + s.A.ID + "/webhook"
		var headers []string
		switch provider {
		case "webhook", "github":
			path = "/inbound/" + s.A.ID + "/" + provider
			if with := map[string]string{"webhook": secret, "github": githubSecret}[provider]; signed {
				headers = s.signature(provider, with, deliveryID, body)
			}
		}
		headers = append(headers, "X-GitHub-Event", header)
		if !signed {
			headers = append(headers, "Webhook-Signature", header, "Webhook-Id", deliveryID, "Webhook-Timestamp", header, "X-Hub-Signature-256", header, "X-GitHub-Delivery", deliveryID, "Content-Type", header)
		}
		r, w := httptest.NewRequest("POST", path, strings.NewReader(body)), httptest.NewRecorder()
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		if s.Server.ServeHTTP(w, r); w.Code >= 500 {
			t.Errorf("answered %d: %s\n%s", w.Code, w.Body, s.Log)
		}
	})
}

func BenchmarkReceive(b *testing.B) {
	s := setup(b)
	s.certified()
	for b.Loop() {
		s.send("webhook", secret, id.New(), upsert).Want(202)
	}
}
