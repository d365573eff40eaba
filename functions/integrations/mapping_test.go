package integrations_test

import (
	"encoding/json"
	"net/http"
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
	var page struct{ Items []json.RawMessage }
	s.Do("GET", "/companies/"+s.B.ID+"/integrations/github/inbox", s.B.Token, nil).Want(200).JSON(&page)
	if len(page.Items) != 0 {
		t.Errorf("inbox of company B = %s, want nothing", page.Items)
	}
}
