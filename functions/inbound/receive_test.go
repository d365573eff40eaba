package inbound_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"orgops/shared/base/id"
	"orgops/shared/domain/arrival"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/timeline"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/policyengine"
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
	s.wantReceipt(got, "memory.upsert permitted created")
	all := s.commits.take()
	if len(all) != 1 {
		t.Fatalf("%d commits, want 1: %v", len(all), all)
	}
	var written []string
	for _, op := range all[0] {
		written = append(written, fmt.Sprintf("%s, in the feed: %t", op.Entity, !op.Quiet))
		if until := s.clock.Now().Add(7 * 24 * time.Hour); op.Entity == "receipt" && !op.Expires.Equal(until) {
			t.Errorf("the receipt is kept until %v, want %v", op.Expires, until)
		}
	}
	slices.Sort(written)
	if diff := cmp.Diff([]string{"decision, in the feed: false", "memory, in the feed: true", "receipt, in the feed: true"}, written); diff != "" {
		t.Errorf("writes differ (-want +got):\n%s", diff)
	}
	decided := &arrival.Decided{Items: 1, Bytes: int64(len(opOf(t, all[0], "decision").Body))}
	if diff := cmp.Diff(decided, receiptOf(t, all[0]).Decided); diff != "" {
		t.Errorf("what the receipt says of the decisions differs (-want +got):\n%s", diff)
	}
	memories := []memory.Memory{{
		ID: got.Results[0].Subject, Provider: "webhook", Incarnation: s.incarnation("webhook"), ExternalID: "42", Kind: "ticket", Title: "Printer on fire",
		CreatedAt: s.clock.Now(), UpdatedAt: s.clock.Now(),
	}}
	other := cmpopts.IgnoreFields(memory.Memory{}, "ContentHash")
	if diff := cmp.Diff(memories, items[memory.Memory](s, memory.Prefix), other); diff != "" {
		t.Errorf("memories differ (-want +got):\n%s", diff)
	}
	want := policy.Decision{
		ID: got.Results[0].DecisionID, Verdict: policy.Permitted, Principal: timeline.Reference{Type: "integration", ID: "webhook"},
		Action: "memory.upsert", Resource: timeline.Reference{Type: "memory", ID: memories[0].ID}, At: s.clock.Now(),
		Policies: []string{"permit-connector-actions"}, Reasons: []string{"the action is within the permissions of the integration"},
	}
	set, err := policyengine.Compile(nil)
	errtest.Must(t, err)
	want.PolicySet = set.Digest()
	if diff := cmp.Diff([]policy.Decision{want}, items[policy.Decision](s, policy.Prefix)); diff != "" {
		t.Errorf("decisions differ (-want +got):\n%s", diff)
	}
	again := s.sent(s.send("webhook", secret, "d2", strings.ReplaceAll(upsert, "fire", "ice")), 202)
	s.wantReceipt(again, "memory.upsert permitted updated")
	same := s.sent(s.send("webhook", secret, "d3", strings.ReplaceAll(upsert, "fire", "ice")), 202)
	s.wantReceipt(same, "memory.upsert permitted unchanged")
}

// opOf returns the first write of an entity.
func opOf(t *testing.T, ops []store.Op, entity string) store.Op {
	t.Helper()
	n := slices.IndexFunc(ops, func(op store.Op) bool { return op.Entity == entity })
	if n < 0 {
		t.Fatalf("no write of a %s", entity)
	}
	return ops[n]
}

func receiptOf(t *testing.T, ops []store.Op) (r arrival.Receipt) {
	t.Helper()
	errtest.Must(t, json.Unmarshal(opOf(t, ops, "receipt").Body, &r))
	return r
}

// TestReceive_DeniedFeed shows the decision in the feed, which shows no receipt of an arrival without effect.
func TestReceive_DeniedFeed(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.certified()
	s.govern(denyMemories)
	s.commits.take()
	s.sent(s.send("webhook", secret, "d1", upsert), 202)
	ops := s.commits.take()[0]
	shown := map[string]bool{"decision": !opOf(t, ops, "decision").Quiet, "receipt": !opOf(t, ops, "receipt").Quiet}
	if diff := cmp.Diff(map[string]bool{"decision": true, "receipt": false}, shown); diff != "" {
		t.Errorf("in the feed (-want +got):\n%s", diff)
	}
	if d := receiptOf(t, ops).Decided; d != nil {
		t.Errorf("the receipt counts %+v too", d)
	}
}

func TestReceive_Kinds(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.certified()
	note := s.sent(s.send("webhook", secret, "d1", `{"type":"timeline.note","data":{"title":"Moved","subject":"office","details":{"to":"Bern"}}}`), 202)
	s.wantReceipt(note, "timeline.note permitted created")
	s.wantEntries(timeline.Entry{
		Kind: timeline.Note, Title: "Moved", Subject: timeline.Reference{Type: "note", ID: "office"}, Details: json.RawMessage(`{"to":"Bern"}`),
	})
	due := s.clock.Now().Add(100 * 24 * time.Hour)
	body := fmt.Sprintf(`{"type":"goal.update","data":{"externalId":"q3","title":"Ship","progress":0.4,"state":"open","dueAt":%q}}`, due.Format(time.RFC3339))
	s.sent(s.send("webhook", secret, "d2", body), 202)
	goals := items[goal.Goal](s, goal.Prefix)
	if len(goals) != 1 {
		t.Fatalf("%d goals, want 1: %+v", len(goals), goals)
	}
	if got := goals[0].Progress; got != 0.4 {
		t.Errorf("progress %v, want 0.4", got)
	}
	if got := goals[0].Alignment.Status; got != goal.Aligned {
		t.Errorf("alignment %q, want %q", got, goal.Aligned)
	}
	issue := `{"action":"opened","repository":{"full_name":"octo/app"},"issue":{"number":7,"title":"Bug","milestone":{"number":1,"title":"v1","state":"open","open_issues":1,"closed_issues":1}}}`
	github := s.sent(s.send("github", githubSecret, "g1", issue, "X-GitHub-Event", "issues"), 202)
	s.wantReceipt(github, "memory.upsert permitted created", "goal.update permitted created")
	issue = "payload=" + url.QueryEscape(strings.ReplaceAll(issue, "Bug", "Big"))
	form := s.sent(s.send("github", githubSecret, "g3", issue, "X-GitHub-Event", "issues", "Content-Type", "application/x-www-form-urlencoded"), 202)
	s.wantReceipt(form, "memory.upsert permitted updated", "goal.update permitted unchanged")
	nothing := s.send("github", githubSecret, "g2", `{"zen":"x"}`, "X-GitHub-Event", "ping").Want(202)
	if !strings.Contains(string(nothing.Body), `"results":[]`) {
		t.Errorf("answer to an event that maps to no action %s, want one with an empty list", nothing.Body)
	}
}

// TestReceive_Order lets no late arrival of a sender that says when an item changed replace a newer state.
func TestReceive_Order(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.certified()
	send := func(id, item, title, at string) receipt {
		body := fmt.Sprintf(`{"type":%q,"data":{"externalId":"7","title":%q,"state":"open","updatedAt":%q}}`, item, title, at)
		return s.sent(s.send("webhook", secret, id, body), 202)
	}
	for n, item := range []string{"memory.upsert", "goal.update"} {
		s.wantReceipt(send(fmt.Sprint("new", n), item, "New", "2026-01-02T00:00:00Z"), item+" permitted created")
		s.wantReceipt(send(fmt.Sprint("old", n), item, "Old", "2026-01-01T00:00:00Z"), item+" permitted unchanged")
	}
}

// TestReceive_Repeats recognises a repeat by the arrival's id and body together, because some schemes do not sign the id.
func TestReceive_Repeats(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.certified()
	first := s.sent(s.send("webhook", secret, "d1", upsert), 202)
	s.commits.take()
	answer := s.send("webhook", secret, "d1", upsert)
	s.wantReceipt(s.sent(answer, 200), "duplicate")
	s.wantCommits(0)
	if !strings.Contains(string(answer.Body), `"results":[]`) {
		t.Errorf("answer to the repeat %s, want one with an empty list", answer.Body)
	}
	s.clock.Advance(time.Minute) // every attempt has a new signature
	s.wantReceipt(s.sent(s.send("webhook", secret, "d1", upsert), 200), "duplicate")
	other := s.sent(s.send("webhook", secret, "d1", strings.ReplaceAll(upsert, "fire", "ice")), 202)
	s.wantReceipt(other, "memory.upsert permitted updated")
	if got, want := other.Results[0].Subject, first.Results[0].Subject; got != want {
		t.Errorf("subject of another body %q, want %q", got, want)
	}
	s.wantReceipt(s.sent(s.send("webhook", secret, "d2", upsert), 202), "memory.upsert permitted updated")
	s.send("github", githubSecret, "d1", upsert, "X-GitHub-Event", "ping").Want(202) // ids are scoped to a provider
	s.wantItems("RECEIPT#", 4)
	s.send("webhook", "whsec_"+strings.Repeat("A", 32), "d3", upsert).Want(401)
	s.send("github", githubSecret, "d9", "nonsense", "X-GitHub-Event", "issues").Want(400)
	s.post("/inbound/!/webhook", upsert).Want(401)
	s.metrics.Flush("")
	want := map[string]float64{"InboundAccepted": 4, "InboundRepeated": 2, "InboundRefused": 3}
	if diff := cmp.Diff(want, metrictest.Sums(t, s.measured.String())); diff != "" {
		t.Errorf("metrics differ (-want +got):\n%s", diff)
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

// TestReceive_Sandboxed records only the verdicts in the sandbox, once for an arrival: no effect. The same arrival can be
// sent again after certification.
func TestReceive_Sandboxed(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.certified()
	s.edit("webhook", func(i *integration.Integration) { i.State, i.Certification = integration.Sandbox, nil })
	s.wantReceipt(s.sent(s.send("webhook", secret, "d1", upsert), 202), "sandboxed", "memory.upsert permitted created")
	s.wantReceipt(s.sent(s.send("webhook", secret, "d1", upsert), 202), "sandboxed", "memory.upsert permitted created")
	for prefix, want := range map[string]int{memory.Prefix: 0, "RECEIPT#": 1, timeline.Prefix: 0} {
		s.wantItems(prefix, want)
	}
	s.wantVerdicts(true, policy.Permitted)
	s.integrations("POST", "/webhook/certification", nil).Want(200)
	s.wantReceipt(s.sent(s.send("webhook", secret, "d1", upsert), 202), "memory.upsert permitted created")
	s.wantItems(memory.Prefix, 1)
}

// TestReceive_OtherPort stays in the sandbox for a port that the certification did not prove.
func TestReceive_OtherPort(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.certified()
	s.edit("webhook", func(i *integration.Integration) { i.Certification.Ports = []integration.Port{integration.EventDeliver} })
	s.wantReceipt(s.sent(s.send("webhook", secret, "d1", upsert), 202), "sandboxed", "memory.upsert permitted created")
	s.wantItems(memory.Prefix, 0)
	s.wantVerdicts(true, policy.Permitted)
}

func TestReceive_Expired(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.certified()
	s.clock.Advance(integration.CertifiedFor)
	s.wantReceipt(s.sent(s.send("webhook", secret, "d1", upsert), 202), "sandboxed", "memory.upsert permitted created")
}

// TestReceive_Denied records a denied action, adds it to the timeline, and carries out the permitted actions of the same
// arrival.
func TestReceive_Denied(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.certified()
	s.edit("github", func(i *integration.Integration) {
		i.Permissions = []integration.Port{integration.InboundReceive, integration.GoalUpdate}
	})
	issue := `{"action":"opened","repository":{"full_name":"octo/app"},"issue":{"number":7,"title":"Bug","milestone":{"number":1,"title":"v1","state":"open"}}}`
	got := s.sent(s.send("github", githubSecret, "g1", issue, "X-GitHub-Event", "issues"), 202)
	s.wantReceipt(got, "memory.upsert denied refused", "goal.update permitted created")
	s.wantItems(memory.Prefix, 0)
	s.wantItems(goal.Prefix, 1)
	s.wantEntries(timeline.Entry{
		Kind: timeline.PolicyDenied, Title: "github was not allowed to memory.upsert",
		Subject: timeline.Reference{Type: "decision", ID: got.Results[0].DecisionID},
	})
	s.wantItems(policy.Prefix, 2)
}

// TestReceive_EngineFails permits nothing without a verdict.
func TestReceive_EngineFails(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.certified()
	s.engine.err = errors.New("s3cr3t cause")
	answer := s.send("webhook", secret, "d1", upsert)
	s.wantReceipt(s.sent(answer, 202), "memory.upsert denied refused")
	if strings.Contains(string(answer.Body), "s3cr3t") {
		t.Errorf("answer %s, want one without the engine's error", answer.Body)
	}
	want := []policy.Decision{{Verdict: policy.Denied, Policies: []string{}, Reasons: []string{"the policies could not be evaluated"}}}
	other := cmpopts.IgnoreFields(policy.Decision{}, "ID", "Principal", "Action", "Resource", "At")
	if diff := cmp.Diff(want, items[policy.Decision](s, policy.Prefix), other); diff != "" {
		t.Errorf("decisions differ (-want +got):\n%s", diff)
	}
}

// TestReceive_EngineUnavailable keeps nothing of an arrival while the policies cannot be read, so that its repeat takes effect.
func TestReceive_EngineUnavailable(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.certified()
	s.engine.err = fmt.Errorf("read policies: %w", store.ErrUnavailable)
	s.sent(s.send("webhook", secret, "d1", upsert), 503)
	if n := len(items[policy.Decision](s, policy.Prefix)); n > 0 {
		t.Errorf("%d decisions are stored, want none", n)
	}
	s.engine.err = nil
	s.wantReceipt(s.sent(s.send("webhook", secret, "d1", upsert), 202), "memory.upsert permitted created")
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
		{"not UTF-8", "{\"type\":\"\xff\"}", 400, "malformed", []string{"/type"}},
		{"half of a character in an id", `{"type":"memory.upsert","data":[{"externalId":"\ud800","kind":"k","title":"t"}]}`, 400, "malformed", []string{"/data/0/externalId"}},
		{"half of a character in a name", `{"type":"memory.upsert","x":{"\uDC00":1}}`, 400, "malformed", []string{"/x/\ufffd"}},
		{"an id with U+FFFD", `{"type":"memory.upsert","data":{"externalId":"a\ufffd","kind":"k","title":"t"}}`, 422, "invalid", []string{"/data/externalId"}},
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
			p := s.in(t).send("webhook", secret, fmt.Sprint("d", n), tt.body).WantProblem(tt.status, tt.kind)
			var pointers []string
			for _, problem := range p.Errors {
				pointers = append(pointers, problem.Pointer)
			}
			if diff := cmp.Diff(tt.pointers, pointers); diff != "" {
				t.Errorf("pointers differ (-want +got):\n%s", diff)
			}
		})
	}
	s.wantCommits(0)
	s.send("webhook", secret, "empty", "").WantProblem(400, "malformed")
	s.send("webhook", secret, "form", upsert, "Content-Type", "application/x-www-form-urlencoded; charset=utf-8").Want(202) // parsed as JSON despite its content type
	s.send("webhook", secret, "text", upsert, "Content-Type", "text/html").WantProblem(415, "unsupported-media-type")
	s.send("github", githubSecret, "g1", `{}`).WantProblem(400, "malformed") // without X-GitHub-Event
}

// TestReceive_Largest fits the largest accepted arrival into a commit, however much of it JSON escapes.
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
			s.wantReceipt(got, slices.Repeat([]string{tt.port + " permitted created"}, connector.MaxActions)...)
			s.wantCommits(1)
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
		_, err := s.company().Get(t.Context(), memory.Key(memory.IDOf("webhook", s.incarnation("webhook"), "1")), &m)
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
		if diff := cmp.Diff(tt.want, outcomes); diff != "" {
			t.Errorf("outcomes of %s then %s differ (-want +got):\n%s", tt.first, tt.second, diff)
		}
		if got := title(); got != tt.second {
			t.Errorf("title after %s then %s = %q, want %q", tt.first, tt.second, got, tt.second)
		}
	}
	notes := `{"type":"timeline.note","data":[{"title":"one"},{"title":"one"}]}`
	s.wantReceipt(s.sent(s.send("webhook", secret, "n1", notes), 202), "timeline.note permitted created", "timeline.note permitted created")
	s.wantItems(timeline.Prefix, 2)
}

// TestReceive_Concurrent applies concurrent arrivals about one item one after another.
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
			t.Errorf("status = %d, want 202", status)
		}
	}
	item, err := s.company().Get(t.Context(), memory.Key(memory.IDOf("webhook", s.incarnation("webhook"), "1")), nil)
	errtest.Must(t, err)
	if item.Version != n {
		t.Errorf("version %d, want %d", item.Version, n)
	}
	s.wantItems(policy.Prefix, n)
	s.wantItems("RECEIPT#", n)
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
	if diff := cmp.Diff(map[int]int{202: 1, 200: cap(statuses) - 1}, count); diff != "" {
		t.Errorf("statuses differ (-want +got):\n%s", diff)
	}
	s.wantItems(timeline.Prefix, 1)
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
	f.Fuzz(func(t *testing.T, provider, body, arrivalID, header string, signed bool) {
		path := "/inbound/" + s.A.ID + "/webhook"
		var headers []string
		switch provider {
		case "webhook", "github":
			path = "/inbound/" + s.A.ID + "/" + provider
			if with := map[string]string{"webhook": secret, "github": githubSecret}[provider]; signed {
				headers = s.signature(provider, with, arrivalID, body)
			}
		}
		headers = append(headers, "X-GitHub-Event", header)
		if !signed {
			headers = append(headers, "Webhook-Signature", header, "Webhook-Id", arrivalID, "Webhook-Timestamp", header, "X-Hub-Signature-256", header, "X-GitHub-Delivery", arrivalID, "Content-Type", header)
		}
		r, w := httptest.NewRequest("POST", path, strings.NewReader(body)), httptest.NewRecorder()
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		if s.Server.ServeHTTP(w, r); w.Code >= 500 {
			t.Errorf("status = %d, want less than 500: %s\n%s", w.Code, w.Body, s.Log)
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
