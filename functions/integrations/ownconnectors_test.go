package integrations_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"orgops/functions/integrations"
	"orgops/shared/base/fault"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/policy"
	"orgops/shared/provider/connector"
	"orgops/shared/testkit/errtest"
)

// ticketServer lists two tickets to who has the token.
func ticketServer(t testing.TB) (url string, requests *atomic.Int32) {
	t.Helper()
	requests = new(atomic.Int32)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if r.Header.Get("Authorization") != "Bearer s3cr3t" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprintf(w, `{"data":[{"id":1,"subject":"Fix it"},{"id":2,"subject":"You sent %s"}]}`, r.Header.Get("Authorization"))
	}))
	t.Cleanup(server.Close)
	return server.URL, requests
}

// ticketManifest describes a ticketServer. Each edit replaces a text.
func ticketManifest(url string, edits ...string) string {
	text := fmt.Sprintf(`{"kind":"tickets","title":"Tickets of Example","description":"Open tickets become memories.","base":%q,
		"configuration":{"team":{"title":"Team","description":"Name of the team.","example":"support"}},
		"auth":{"type":"bearer"},"lists":{"kinds":["ticket"]},"streams":[{"name":"tickets","request":{"path":"/{team}"},"records":"/data",
		"mapping":{"rules":[{"when":".item.id != null","action":"memory.upsert","with":{"externalId":".item.id | tostring","kind":"\"ticket\"","title":".item.subject"}}]}}]}`, url)
	return strings.NewReplacer(edits...).Replace(text)
}

func (s *service) connectors(rest string) string {
	return "/companies/" + s.A.ID + "/connectors" + rest
}

func (s *service) put(kind, text string, headers ...string) (got integrations.OwnConnector) {
	s.t.Helper()
	s.Do("PUT", s.connectors("/"+kind), s.A.Token, text, headers...).Want(200).JSON(&got)
	return got
}

// TestOwnConnector stores a manifest, connects and certifies an integration of its kind, and returns it to the sandbox when the manifest
// changes.
func TestOwnConnector(t *testing.T) {
	t.Parallel()
	s := setup(t)
	url, _ := ticketServer(t)
	s.put("tickets", "\uFEFF"+ticketManifest(url, `"records":"/data"`, `"records":"/data","paging":{"type":"page","parameter":"p","first":1.0}`))
	s.put("tickets", ticketManifest(url))
	s.configured("tickets-support", map[string]any{"team": "a"}, 201)
	s.do("PUT", "/tickets-support/credentials", map[string]any{"credentials": map[string]string{"token": "s3cr3t"}}).Want(204)
	if got := s.certify("tickets-support"); !got.Passed {
		t.Fatalf("the certification fails, want it passed: %+v", got.Checks)
	}
	first := s.Do("GET", s.connectors("/tickets"), s.A.Token, nil).Want(200)
	var own integrations.OwnConnector
	first.JSON(&own)
	if diff := cmp.Diff([]string{"tickets-support"}, own.Integrations); diff != "" {
		t.Errorf("integrations differ (-want +got):\n%s", diff)
	}

	s.put("tickets", ticketManifest(url)) // the same changes nothing
	if got := s.get("tickets-support").State; got != "certified" {
		t.Errorf("after the same manifest: %s, want certified", got)
	}
	more := `"streams":[{"name":"goals","request":{"path":"/goals"},"records":"/data","item":{"target":"goal","id":"/id","title":"/subject"}},`
	s.put("tickets", ticketManifest(url, `"streams":[`, more), "If-Match", first.Header.Get("ETag"))
	got := s.get("tickets-support")
	s.wantStanding(got, standing{State: "sandbox", Sandboxed: "configuration", Enabled: true})
	if diff := cmp.Diff([]string{"sync.pull", "memory.upsert", "goal.update"}, got.Permissions); diff != "" {
		t.Errorf("permissions differ (-want +got):\n%s", diff)
	}
	if got.Credentials == nil {
		t.Error("the credentials have ended, want them kept for the same host")
	}
	s.Do("PUT", s.connectors("/tickets"), s.A.Token, ticketManifest(url), "If-Match", first.Header.Get("ETag")).WantProblem(412, "stale")

	elsewhere, requests := ticketServer(t)
	s.put("tickets", ticketManifest(elsewhere))
	if got := s.get("tickets-support"); got.Credentials != nil {
		t.Error("the credentials are kept for another host, want them ended")
	}
	if got := s.secrets("tickets-support").Values; len(got) > 0 {
		t.Errorf("the vault holds %d credentials, want none", len(got))
	}
	s.certify("tickets-support")
	if got := requests.Load(); got > 0 {
		t.Errorf("%d requests without credentials, want none", got)
	}

	problem := s.Do("DELETE", s.connectors("/tickets"), s.A.Token, nil).WantProblem(409, "conflict")
	if want := "tickets-support"; !strings.Contains(problem.Detail, want) {
		t.Errorf("detail %q, want one with %s", problem.Detail, want)
	}
	s.do("DELETE", "/tickets-support", nil).Want(204)
	s.Do("DELETE", s.connectors("/tickets"), s.A.Token, nil).Want(204)
	s.Do("GET", s.connectors("/tickets"), s.A.Token, nil).WantProblem(404, "not-found")
	s.do("GET", "/tickets-support", nil).WantProblem(404, "not-found")
}

// TestOwnConnector_Again refuses the ETag of a manifest that was deleted for its successor, although both say the same.
func TestOwnConnector_Again(t *testing.T) {
	t.Parallel()
	s := setup(t)
	text := ticketManifest("https://api.example.com")
	s.put("tickets", text)
	former := s.Do("GET", s.connectors("/tickets"), s.A.Token, nil).Want(200).Header.Get("ETag")
	s.Do("DELETE", s.connectors("/tickets"), s.A.Token, nil, "If-Match", former).Want(204)
	s.clock.Advance(time.Millisecond)
	s.put("tickets", text)
	s.Do("PUT", s.connectors("/tickets"), s.A.Token, text, "If-Match", former).WantProblem(412, "stale")
	s.Do("DELETE", s.connectors("/tickets"), s.A.Token, nil, "If-Match", former).WantProblem(412, "stale")
}

// TestOwnConnector_Unfit names the variable that a changed manifest needs, before any request.
func TestOwnConnector_Unfit(t *testing.T) {
	t.Parallel()
	s := setup(t)
	url, requests := ticketServer(t)
	s.put("tickets", ticketManifest(url))
	s.configured("tickets", map[string]any{"team": "a"}, 201)
	s.do("PUT", "/tickets/credentials", map[string]any{"credentials": map[string]string{"token": "s3cr3t"}}).Want(204)
	s.put("tickets", ticketManifest(url, `"team":{`, `"area":{`, `{team}`, `{area}`))
	report := s.certify("tickets")
	s.wantCheck(report, "sandbox-page", "fail", "the configuration has no area that the manifest allows; configure the integration again")
	if got := requests.Load(); got > 0 {
		t.Errorf("%d requests, want none", got)
	}
	s.configured("tickets", map[string]any{"area": "b"}, 200)
	if got := s.certify("tickets"); !got.Passed {
		t.Errorf("configured again it fails, want it passed: %+v", got.Checks)
	}
}

// TestOwnConnector_Refused tells every problem of a manifest at once, each with its place.
func TestOwnConnector_Refused(t *testing.T) {
	t.Parallel()
	s := setup(t)
	const base = "https://api.example.com"
	for name, tt := range map[string]struct {
		kind, text string
		want       []string
	}{
		"schema":      {"tickets", ticketManifest(base, `"title":"Tickets of Example"`, `"code":1`), []string{"/code", "/title"}},
		"rules":       {"tickets", ticketManifest(base, `/{team}`, `/{x}`, `".item.subject"`, `"env"`), []string{"/streams/0/request/path", "/streams/0/mapping/rules/0/with/title"}},
		"another":     {"tickets2", ticketManifest(base), []string{"/kind"}},
		"the service": {"github", ticketManifest(base, `"kind":"tickets"`, `"kind":"github"`), []string{"/kind"}},
		"a path":      {"test", ticketManifest(base, `"kind":"tickets"`, `"kind":"test"`), []string{"/kind"}},
		"own goals":   {"company", ticketManifest(base, `"kind":"tickets"`, `"kind":"company"`), []string{"/kind"}},
		"a name":      {"tickets-a", ticketManifest(base, `"kind":"tickets"`, `"kind":"tickets-a"`), []string{"/kind"}},
	} {
		var got []string
		for _, p := range s.Do("PUT", s.connectors("/"+tt.kind), s.A.Token, tt.text).WantProblem(422, "invalid").Errors {
			got = append(got, p.Pointer)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: problems differ (-want +got):\n%s", name, diff)
		}
	}
	s.Do("PUT", s.connectors("/tickets"), s.A.Token, `{"kind":"`+strings.Repeat("a", 70000)+`"}`).WantProblem(413, "too-large")
	for n := range integration.MaxManifests {
		kind := fmt.Sprintf("kind%d", n)
		s.put(kind, ticketManifest(base, `"kind":"tickets"`, `"kind":"`+kind+`"`))
	}
	s.Do("PUT", s.connectors("/tickets"), s.A.Token, ticketManifest(base)).WantProblem(409, "conflict")
}

// TestOwnConnector_Unreadable keeps everything but the fetches of a stored manifest that cannot be used, and of its integrations. Storing
// the manifest again repairs it, and ends the credentials, because it is not known where they went.
func TestOwnConnector_Unreadable(t *testing.T) {
	t.Parallel()
	s := setup(t)
	const base = "https://api.example.com"
	s.put("tickets", ticketManifest(base))
	s.configured("tickets", map[string]any{"team": "a"}, 201)
	s.configured("tickets-support", map[string]any{"team": "a"}, 201)
	s.do("PUT", "/tickets/credentials", map[string]any{"credentials": map[string]string{"token": "s3cr3t"}}).Want(204)
	c := s.company()
	stored, version, err := integration.LoadManifest(t.Context(), c, "tickets")
	errtest.Must(t, err)
	stored.Manifest = json.RawMessage(`{"kind":"tickets","later":true}`)
	stored.Digest = connector.Digest(stored.Manifest)
	errtest.Must(t, c.Commit(t.Context(), integration.SaveManifest(c, version, stored)))

	s.Do("GET", s.connectors(""), s.A.Token, nil).Want(200)
	s.Do("GET", s.connectors("/tickets"), s.A.Token, nil).Want(200)
	for _, rest := range []string{"", "/tickets", "/tickets/inbox", "/tickets/deliveries"} {
		s.do("GET", rest, nil).Want(200)
	}
	s.do("GET", "/ticket", nil).WantProblem(404, "not-found")
	s.do("POST", "/tickets", map[string]any{"team": "a"}).WantProblem(409, "conflict")
	s.do("PUT", "/tickets/credentials", map[string]any{"credentials": map[string]string{"token": "s3cr3t"}}).WantProblem(409, "conflict")
	s.do("DELETE", "/tickets-support", nil).Want(204)

	s.put("tickets", ticketManifest(base))
	if got := s.get("tickets"); got.Credentials != nil {
		t.Error("the credentials are kept, want them ended")
	}
	if got := s.secrets("tickets").Values; len(got) > 0 {
		t.Errorf("the vault holds %d credentials, want none", len(got))
	}
	s.do("PUT", "/tickets/credentials", map[string]any{"credentials": map[string]string{"token": "s3cr3t"}}).Want(204)
}

// TestOwnConnector_Listed shows a company its own connectors next to those of the service, and no other company's.
func TestOwnConnector_Listed(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.put("tickets", ticketManifest("https://api.example.com"))
	find := func(company, token string) (found *integrations.Connector) {
		var got integrations.ConnectorList
		s.Do("GET", "/companies/"+company+"/connectors", token, nil).Want(200).JSON(&got)
		for _, c := range got.Items {
			if c.Provider == "tickets" {
				found = &c
			}
		}
		return found
	}
	own := find(s.A.ID, s.A.Token)
	if own == nil {
		t.Fatal("the list lacks the company's own connector")
	}
	if diff := cmp.Diff([]any{true, []string{"ticket"}, []string{"tickets"}}, []any{own.Own, own.Brings, own.Streams}); diff != "" {
		t.Errorf("the connector differs (-want +got):\n%s", diff)
	}
	if find(s.B.ID, s.B.Token) != nil {
		t.Error("another company sees the connector, want it hidden")
	}
	s.Do("POST", "/companies/"+s.B.ID+"/integrations/tickets", s.B.Token, map[string]any{"team": "a"}).WantProblem(404, "not-found")
	s.Do("GET", s.connectors("/tickets"), s.BoundToken(s.A.ID, "tickets"), nil).Want(403)
}

// TestConnectorTrial shows requests, records and actions without the credentials, stores nothing, and obeys the policies.
func TestConnectorTrial(t *testing.T) {
	t.Parallel()
	s := setup(t)
	url, requests := ticketServer(t)
	body := func(token string) string {
		return fmt.Sprintf(`{"manifest":%s,"configuration":{"team":"a"},"credentials":{"token":%q}}`, ticketManifest(url), token)
	}
	var got integrations.ConnectorTrial
	answer := s.Do("POST", s.connectors("/test"), s.A.Token, body("s3cr3t")).Want(200)
	answer.JSON(&got)
	if strings.Contains(string(answer.Body), "s3cr3t") {
		t.Errorf("the trial shows the token: %s", answer.Body)
	}
	want := integrations.ConnectorTrial{
		Requests: []integrations.TrialExchange{{Method: "GET", URL: url + "/a", Status: 200, Bytes: got.Requests[0].Bytes, Answer: `{"data":[{"id":1,"subject":"Fix it"},{"id":2,"subject":"You sent Bearer …"}]}`}},
		Records:  []string{`{"id":1,"subject":"Fix it"}`, `{"id":2,"subject":"You sent Bearer …"}`},
		Skipped:  []integrations.TrialSkip{}, Warnings: []string{}, Memories: 2,
		Actions: got.Actions,
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(integrations.ConnectorTrial{})); diff != "" {
		t.Errorf("the trial differs (-want +got):\n%s", diff)
	}
	if got, want := string(got.Actions[0].Data), `{"externalId":"1","kind":"ticket","title":"Fix it"}`; got != want {
		t.Errorf("the action is about %s, want %s", got, want)
	}
	s.Do("POST", s.connectors("/test"), s.A.Token, body("wrong")).Want(200).JSON(&got)
	if want := "answers 401; check the credentials"; !strings.Contains(got.Problem, want) {
		t.Errorf("problem %q, want one with %q", got.Problem, want)
	}
	s.Do("POST", s.connectors("/test"), s.A.Token, body("2")).Want(200)
	var pointers []string
	for _, p := range s.Do("POST", s.connectors("/test"), s.A.Token, `{"manifest":`+ticketManifest(url)+`,"configuration":{"x":1}}`).WantProblem(422, "invalid").Errors {
		pointers = append(pointers, p.Pointer)
	}
	if diff := cmp.Diff([]string{"/configuration/team", "/configuration/x", "/credentials/token"}, pointers); diff != "" {
		t.Errorf("problems differ (-want +got):\n%s", diff)
	}

	before := requests.Load()
	c := s.company()
	errtest.Must(t, c.Commit(t.Context(), c.Create(policy.StoredKey, policy.StoredEntity, policy.Stored{Policies: []policy.Statement{
		{ID: "own", Mode: policy.Enforce, Text: `forbid (principal, action == Action::"sync.fetch", resource) when { resource.own };`},
	}})))
	s.clock.Advance(time.Minute) // the engine keeps the policies for a moment
	s.Do("POST", s.connectors("/test"), s.A.Token, body("s3cr3t")).Want(200).JSON(&got)
	if want := "the policies refuse a fetch from 127.0.0.1"; !strings.Contains(got.Problem, want) {
		t.Errorf("problem %q, want one with %q", got.Problem, want)
	}
	if after := requests.Load(); after != before {
		t.Errorf("%d requests, want none", after-before)
	}
	s.wantNone(integration.ManifestPrefix)
	s.wantNone(integration.Prefix)
}

// TestOwnConnector_Addresses refuses a manifest whose requests lead to no valid address, under the examples of its variables, where it is
// stored and where it is tried.
func TestOwnConnector_Addresses(t *testing.T) {
	t.Parallel()
	s := setup(t)
	const path = `"path":"/{team}"`
	for name, tt := range map[string]struct{ base, old, edit, pointer, detail string }{
		"a space at the end":     {base: "https://example.com/v1 ", pointer: "/base", detail: "begins or ends with white space; remove it"},
		"a private host":         {base: "https://10.0.0.1", pointer: "/base", detail: "the host's address is not public"},
		"a host that is no host": {"https://{h}.example.com", `"configuration":{`, `"configuration":{"h":{"title":"H","description":"H","enum":["a b"]},`, "/configuration/h", "must be an absolute http or https url with a host, such as https://example.com/hooks"},
		"a url with a query":     {"{u}", `"configuration":{`, `"configuration":{"u":{"title":"U","description":"U","form":"url","example":"https://example.com/?a"},`, "/configuration/u", "must not have a query"},
		"a path with a space":    {"https://example.com", path, `"path":"/a b"`, "/streams/0/request/path", "leads to https://example.com/a b: has a space at byte 22; write %20"},
		"a percent sign":         {"https://example.com", path, `"path":"/{team}/%zz"`, "/streams/0/request/path", "leads to https://example.com/support/%zz: has a % at byte 29 without two hexadecimal digits; write %25 for a percent sign"},
	} {
		text := ticketManifest(tt.base)
		if tt.old != "" {
			text = ticketManifest(tt.base, tt.old, tt.edit)
		}
		want := []fault.FieldError{{Pointer: tt.pointer, Detail: tt.detail}}
		if diff := cmp.Diff(want, s.Do("PUT", s.connectors("/tickets"), s.A.Token, text).WantProblem(422, "invalid").Errors); diff != "" {
			t.Errorf("%s: problems (-want +got):\n%s", name, diff)
		}
		tried := `{"manifest":` + text + `,"configuration":{"team":"a"},"credentials":{"token":"x"}}`
		if got := s.Do("POST", s.connectors("/test"), s.A.Token, tried).WantProblem(422, "invalid").Errors[0].Pointer; got != "/manifest"+tt.pointer {
			t.Errorf("%s: the trial's problem is at %s, want /manifest%s", name, got, tt.pointer)
		}
	}
	s.wantNone(integration.ManifestPrefix)
}
