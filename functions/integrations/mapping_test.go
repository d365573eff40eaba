package integrations_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/integration"
	"orgops/shared/domain/policy"
	"orgops/shared/testkit/errtest"
)

// shownMapping decodes a mapping as a client sees it.
type shownMapping struct {
	Source, Digest string
	Version        int64
	Mapping        json.RawMessage
}

// tickets turns a ticket into a memory.
const tickets = `{"rules":[{"when":".payload.ticket","each":".payload.ticket","action":"memory.upsert",
	"with":{"externalId":"\"tickets/\\(.item.id)\"","kind":"\"ticket\"","title":".item.subject"}}]}`

// github configures a repository and certifies it.
func (s *service) github() {
	s.t.Helper()
	s.configured("github", map[string]any{"repository": "octo/app", "signingSecret": "as typed at github"}, 201)
	s.certify("github")
}

func (s *service) mapping(provider string) (shownMapping, string) {
	s.t.Helper()
	var m shownMapping
	answer := s.do("GET", "/"+provider+"/mapping", nil).Want(200).JSON(&m)
	return m, answer.Header.Get("ETag")
}

// TestMapping stores a changed copy of the default mapping and returns to the default. The integration stays certified, and
// a certification names the mapping.
func TestMapping(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.github()
	original, etag := s.mapping("github")
	s.do("GET", "/github/mapping", nil, "If-None-Match", etag).Want(304)
	var stored shownMapping
	own := s.do("PUT", "/github/mapping", json.RawMessage(tickets), "If-Match", etag).Want(200).JSON(&stored).Header.Get("ETag")
	stale := s.do("PUT", "/github/mapping", json.RawMessage(tickets), "If-Match", etag)
	stale.WantProblem(412, "stale")
	if got := stale.Header.Get("ETag"); got != own {
		t.Errorf("ETag of the refusal = %s, want %s", got, own)
	}
	read, readTag := s.mapping("github")
	if diff := cmp.Diff(stored, read); diff != "" {
		t.Errorf("mapping read differs from the one stored (-want +got):\n%s", diff)
	}
	if own != readTag {
		t.Errorf("ETag of the GET = %s, want the PUT's, %s", readTag, own)
	}
	got := []any{original.Source, original.Version, read.Source, read.Version}
	if diff := cmp.Diff([]any{"default", int64(0), "company", int64(1)}, got); diff != "" {
		t.Errorf("sources and versions differ (-want +got):\n%s", diff)
	}
	s.wantStanding(s.get("github"), standing{State: "certified", Certified: true, Enabled: true})
	if got := s.reportedMapping(); got != read.Digest {
		t.Errorf("the report names the mapping %q, want %q", got, read.Digest)
	}
	s.do("DELETE", "/github/mapping", nil, "If-Match", etag).WantProblem(412, "stale")
	for range 2 {
		s.do("DELETE", "/github/mapping", nil).Want(204)
	}
	again, _ := s.mapping("github")
	if diff := cmp.Diff(original, again); diff != "" {
		t.Errorf("mapping after its deletion differs from the default (-want +got):\n%s", diff)
	}
	if got := s.reportedMapping(); got != "" {
		t.Errorf("the report names the mapping %q, want none for the default", got)
	}
	s.do("PUT", "/github/mapping", original.Mapping).Want(200) // the default is valid as it is shown
	if last, _ := s.mapping("github"); last.Version != 2 {
		t.Errorf("version = %d after a deletion and a PUT, want 2", last.Version)
	}
	s.do("DELETE", "/github", nil).Want(204)
	s.wantNone(integration.MappingKey("github"))
}

// reportedMapping certifies github and returns the mapping that the report names.
func (s *service) reportedMapping() string {
	s.t.Helper()
	var r struct{ MappingDigest string }
	s.do("POST", "/github/certification", nil).Want(200).JSON(&r)
	return r.MappingDigest
}

func TestMapping_Refused(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.github()
	s.configured("feed", map[string]any{"url": "https://example.com/feed.xml"}, 201)
	s.do("GET", "/feed/mapping", nil).WantProblem(409, "conflict")
	s.do("GET", "/webhook/mapping", nil).WantProblem(404, "not-found")
	s.do("GET", "/unknown/mapping", nil).WantProblem(404, "not-found")
	tests := []struct {
		name, body string
		want       []string // pointers
	}{
		{"no rules", `{"rules":[]}`, []string{"/rules"}},
		{"another member", `{"rules":[],"more":1}`, []string{"/rules", "/more"}},
		{"a function", `{"rules":[{"when":"now > 1","action":"timeline.note","with":{"title":".a","titel":".b"}}]}`,
			[]string{"/rules/0/when", "/rules/0/with/titel"}},
		{"the fourth rule", `{"rules":[` + rule + `,` + rule + `,` + rule + `,{"when":"true","action":"timeline.note","with":{"title":".a +"}}]}`,
			[]string{"/rules/3/with/title"}},
		{"an unknown action", `{"rules":[{"when":"true","action":"memory.delete","with":{}}]}`, []string{"/rules/0/action"}},
		{"nulls", `{"only":null,"rules":[` + rule + `,{"when":"true","each":null,"action":"timeline.note","with":{"title":".a"}}]}`, []string{"/only", "/rules/1/each"}},
		{"only", `{"only":"$x","rules":[` + rule + `]}`, []string{"/only"}},
	}
	for _, tt := range tests {
		p := s.do("PUT", "/github/mapping", json.RawMessage(tt.body)).WantProblem(422, "invalid")
		var got []string
		for _, problem := range p.Errors {
			got = append(got, problem.Pointer)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: pointers differ (-want +got):\n%s", tt.name, diff)
		}
	}
	if m, _ := s.mapping("github"); m.Source != "default" {
		t.Errorf("source = %s after refused mappings, want default", m.Source)
	}
}

const rule = `{"when":"true","action":"timeline.note","with":{"title":"\"t\""}}`

// preview decodes what a mapping makes of an arrival.
type preview struct {
	Source  string
	Actions []struct {
		Rule                                  int
		Action, At, Verdict, Outcome, Subject string
		Policies                              []string
		Fields                                map[string]any
	}
	Problem *struct {
		Detail string
		Errors []struct{ Pointer, Detail string }
	}
}

func (s *service) preview(provider string, body any) preview {
	s.t.Helper()
	var p preview
	s.do("POST", "/"+provider+"/mapping/preview", body).Want(200).JSON(&p)
	return p
}

// lines returns the source of a preview, its actions and its problem, each as a line.
func (p preview) lines() []string {
	all := []string{p.Source}
	for _, a := range p.Actions {
		all = append(all, string(rune('0'+a.Rule))+" "+a.Action+" "+a.At+" "+a.Verdict+" "+a.Outcome)
	}
	if p.Problem != nil {
		for _, e := range p.Problem.Errors {
			all = append(all, e.Pointer+": "+e.Detail)
		}
	}
	return all
}

// TestPreview shows what a mapping makes of an arrival, with the verdicts, and changes nothing.
func TestPreview(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.github()
	issue := json.RawMessage(`{"action":"opened","repository":{"full_name":"octo/app"},"ticket":{"id":7,"subject":"Fire"},
		"issue":{"number":7,"title":"Bug","milestone":{"number":1,"title":"v1"}}}`)
	event := map[string]string{"x-github-event": "issues"}
	type body = map[string]any
	tests := []struct {
		name string
		body body
		want []string
	}{
		{"the default", body{"headers": event, "payload": issue},
			[]string{"default", "0 memory.upsert /issue permitted created", "1 goal.update /issue/milestone permitted created"}},
		{"an event that is ignored", body{"headers": body{"X-GitHub-Event": "ping"}, "payload": body{}}, []string{"default"}},
		{"a mapping of the request", body{"headers": event, "payload": issue, "mapping": json.RawMessage(tickets)},
			[]string{"request", "0 memory.upsert /ticket permitted created"}},
		{"an arrival that is refused", body{"headers": event, "payload": body{"repository": body{"full_name": "octo/app"}}},
			[]string{"default", "/issue: is missing; rule 1 of the mapping needs it"}},
		{"an invalid draft", body{"headers": event, "payload": json.RawMessage(`{"ticket":{"id":1}}`), "mapping": json.RawMessage(tickets)},
			[]string{"request", "/ticket/title: must not be empty"}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, s.preview("github", tt.body).lines()); diff != "" {
			t.Errorf("%s: preview differs (-want +got):\n%s", tt.name, diff)
		}
	}
	s.do("PUT", "/github/mapping", json.RawMessage(tickets)).Want(200)
	tried := s.preview("github", body{"headers": event, "payload": issue})
	got := tried.lines()
	if diff := cmp.Diff([]string{"company", "0 memory.upsert /ticket permitted created"}, got); diff != "" {
		t.Errorf("preview with the stored mapping differs (-want +got):\n%s", diff)
	}
	if got := tried.Actions[0].Fields["kind"]; got != "ticket" {
		t.Errorf("fields = %v, want the kind that the mapping gives, ticket", tried.Actions[0].Fields)
	}
	for _, prefix := range []string{"MEMORY#", "GOAL#", policy.Prefix, "TIMELINE#", "INBOX"} {
		s.wantNone(prefix)
	}
}

// TestPreview_Denied shows the verdict on an action that the integration's permissions do not list.
func TestPreview_Denied(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.github()
	i, version, err := integration.Load(t.Context(), s.company(), "github")
	errtest.Must(t, err)
	i.Permissions = []integration.Port{integration.InboundReceive}
	errtest.Must(t, s.company().Commit(t.Context(), s.company().Replace(integration.Key("github"), integration.Entity, version, i)))
	got := s.preview("github", map[string]any{
		"headers": map[string]string{"X-GitHub-Event": "x"}, "payload": map[string]any{"ticket": map[string]any{"id": 1, "subject": "Fire"}},
		"mapping": json.RawMessage(tickets),
	}).lines()
	if diff := cmp.Diff([]string{"request", "0 memory.upsert /ticket denied refused"}, got); diff != "" {
		t.Errorf("preview differs (-want +got):\n%s", diff)
	}
}

func TestPreview_Refused(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.github()
	tests := []struct {
		name, body, pointer string
	}{
		{"nothing to try", `{}`, "/payload"},
		{"two arrivals", `{"payload":{},"inboxId":"` + http.MethodGet + `"}`, "/inboxId"},
		{"an unknown arrival", `{"inboxId":"01a20500-3ef4-71f3-a3d3-7867b7e98c40"}`, "/inboxId"},
		{"a key of another kind", `{"inboxId":"../x#y"}`, "/inboxId"},
		{"a null", `{"payload":{"a":null},"mapping":{"rules":null}}`, "/mapping/rules"},
		{"a bad mapping", `{"payload":{},"mapping":{"rules":[{"when":"$x","action":"timeline.note","with":{"title":".a"}}]}}`, "/mapping/rules/0/when"},
	}
	for _, tt := range tests {
		p := s.do("POST", "/github/mapping/preview", json.RawMessage(tt.body)).WantProblem(422, "invalid")
		if got := p.Errors[0].Pointer; got != tt.pointer {
			t.Errorf("%s: pointer = %s, want %s", tt.name, got, tt.pointer)
		}
	}
}

// TestMapping_Tenants answers about the token's company only: another company's mapping and inbox stay out of reach.
func TestMapping_Tenants(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.github()
	s.do("PUT", "/github/mapping", json.RawMessage(tickets)).Want(200)
	foreign := "/companies/" + s.A.ID + "/integrations/github/mapping"
	s.Do("GET", foreign, s.B.Token, nil).WantProblem(403, "forbidden")
	s.Do("GET", "/companies/"+s.B.ID+"/integrations/github/mapping", s.B.Token, nil).WantProblem(404, "not-found")
	s.Do("GET", "/companies/"+s.B.ID+"/integrations/github/inbox", s.B.Token, nil).WantProblem(404, "not-found")
}

// testedTickets returns the mapping of tickets with one test of it.
func testedTickets(test string) json.RawMessage {
	return json.RawMessage(tickets[:len(tickets)-1] + `,"tests":[` + test + `]}`)
}

// TestMapping_Tests stores a mapping with its tests, runs them in a preview, and refuses a mapping that fails one with each difference.
func TestMapping_Tests(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.github()
	_, etag := s.mapping("github")
	const passing = `{"name":"a ticket","headers":{"X-GitHub-Event":"x"},"payload":{"ticket":{"id":7,"subject":"Fire","note":null}},
		"actions":[{"action":"memory.upsert","fields":{"title":"Fire","kind":"ticket","body":null,"updatedAt":null}}]}`
	tests := []struct {
		name, test string
		want       []string
	}{
		{"other fields", `{"name":"t","headers":{"X-GitHub-Event":"x"},"payload":{"ticket":{"id":7,"subject":"Fire"}},"actions":[{"action":"memory.upsert","fields":{"title":"Flood","externalId":"7","url":null}}]}`, []string{
			`/tests/0/actions/0/fields/externalId: t: is "tickets/7", but the test expects "7"`, `/tests/0/actions/0/fields/title: t: is "Fire", but the test expects "Flood"`,
		}},
		{"another action", `{"name":"t","headers":{"X-GitHub-Event":"x"},"payload":{"ticket":{"id":7,"subject":"Fire"}},"actions":[{"action":"goal.update"}]}`,
			[]string{"/tests/0/actions/0/action: t: is memory.upsert, but the test expects goal.update"}},
		{"the second test", passing + `,{"name":"two","headers":{"X-GitHub-Event":"x"},"payload":{},"actions":[{"action":"memory.upsert"}]}`,
			[]string{"/tests/1/actions: two: the mapping gives 0 actions, but the test expects 1: no rule of the mapping matches"}},
		{"a refused arrival", `{"name":"t","headers":{"X-GitHub-Event":"x"},"payload":{"ticket":{"id":7,"subject":8}},"actions":[]}`, []string{"/tests/0: t: the arrival is refused: /ticket/title must be a string"}},
		{"no event", `{"name":"t","payload":{},"actions":[]}`, []string{"/tests/0: t: the arrival is refused: the X-GitHub-Event header is missing"}},
		{"no fields", `{"name":"t","headers":{"X-GitHub-Event":"x"},"payload":{"ticket":{"id":7,"subject":"Fire"}},"actions":[{"action":"memory.upsert","fields":[1]}]}`,
			[]string{"/tests/0/actions/0/fields: t: must be an object with the fields by name"}},
		{"a null", `{"name":"t","payload":{},"headers":null,"actions":[]}`, []string{"/tests/0/headers: must not be null; leave the member out"}},
		{"a part", `{"name":"t"}`, []string{"/tests/0/actions: is required", "/tests/0/payload: is required"}},
	}
	for _, tt := range tests {
		p := s.do("PUT", "/github/mapping", testedTickets(tt.test), "If-Match", etag).WantProblem(422, "invalid")
		var got []string
		for _, problem := range p.Errors {
			got = append(got, problem.Pointer+": "+problem.Detail)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: problems differ (-want +got):\n%s", tt.name, diff)
		}
	}
	if m, _ := s.mapping("github"); m.Source != "default" {
		t.Errorf("source = %s after mappings that fail a test, want default", m.Source)
	}
	previewed := func(body any) (lines []string) {
		var answer struct {
			Tests []struct {
				Name     string
				Passed   bool
				Problems []struct{ Pointer string }
			}
		}
		s.do("POST", "/github/mapping/preview", body).Want(200).JSON(&answer)
		for _, r := range answer.Tests {
			lines = append(lines, fmt.Sprint(r.Name, " ", r.Passed, " ", r.Problems))
		}
		return lines
	}
	another := `,{"name":"none","headers":{"X-GitHub-Event":"x"},"payload":{"ticket":{"id":1,"subject":"x"}},"actions":[]}`
	if diff := cmp.Diff([]string{"a ticket true []", "none false [{/actions}]"}, previewed(map[string]any{"mapping": testedTickets(passing + another)})); diff != "" {
		t.Errorf("preview differs (-want +got):\n%s", diff)
	}
	s.do("PUT", "/github/mapping", testedTickets(passing), "If-Match", etag).Want(200)
	if diff := cmp.Diff([]string{"a ticket true []"}, previewed(map[string]any{})); diff != "" {
		t.Errorf("preview of the stored mapping differs (-want +got):\n%s", diff)
	}
	read, _ := s.mapping("github")
	if !strings.Contains(string(read.Mapping), `"a ticket"`) {
		t.Errorf("mapping = %s, want it with its test", read.Mapping)
	}
	s.do("PUT", "/github/mapping", read.Mapping).Want(200) // it is valid as it is shown
}

// TestMapping_Tables maps by a table of the configuration, which returns no integration to the sandbox.
func TestMapping_Tables(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.github()
	config := func(tables string) map[string]any {
		return map[string]any{"repository": "octo/app", "tables": json.RawMessage(tables)}
	}
	s.configured("github", config(`{"kinds":{"P1":"outage"}}`), 200)
	s.wantStanding(s.get("github"), standing{State: "certified", Certified: true, Enabled: true})
	p := s.preview("github", map[string]any{
		"mapping": json.RawMessage(`{"rules":[{"when":"true","action":"memory.upsert","with":{"externalId":"\"1\"","title":"\"t\"","kind":".config.tables.kinds[.payload.level]","updatedAt":"1772366400"}}]}`),
		"headers": map[string]string{"X-GitHub-Event": "x"}, "payload": map[string]any{"level": "P1"},
	})
	var got []string
	for _, a := range p.Actions {
		got = append(got, fmt.Sprint(a.Fields["kind"], " ", a.Fields["updatedAt"]))
	}
	if diff := cmp.Diff([]string{"outage 2026-03-01T12:00:00Z"}, got); diff != "" {
		t.Errorf("kind from the table and time differ (-want +got):\n%s", diff)
	}
	for _, tt := range []struct{ tables, pointer string }{
		{`{"a b":{}}`, "/tables"},
		{`{"kinds":{"P1":["x"]}}`, "/tables/kinds/P1"},
		{`{"kinds":{"P1":"` + strings.Repeat("x", 16<<10) + `"}}`, "/tables"},
	} {
		p := s.do("POST", "/github", config(tt.tables)).WantProblem(422, "invalid")
		if got := p.Errors[0].Pointer; !strings.HasPrefix(got, tt.pointer) {
			t.Errorf("pointer = %s, want %s", got, tt.pointer)
		}
	}
}
