package github_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/base/fault"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/github"
	"orgops/shared/provider/intake"
	"orgops/shared/provider/mapping"
	"orgops/shared/provider/scheme"
	"orgops/shared/testkit/errtest"
	"orgops/shared/webhook/outbound"
)

var (
	now                   = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	_   connector.Inbound = (*github.Connector)(nil)
	_   connector.Checker = (*github.Connector)(nil)
)

const config = `{"repository":"octo/app"}`

func conn() *github.Connector { return github.New(outbound.New(outbound.Options{}), time.Now) }

func header(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
	return h
}

// mappings keeps the default mapping compiled, as a process does.
var mappings mapping.Cache

// actions handles an arrival as the service does: by the default mapping, after which intake validates the drafts.
func actions(config json.RawMessage, header http.Header, body []byte) ([]connector.Action, error) {
	m, err := mappings.Default(conn())
	if err != nil {
		return nil, err
	}
	d, err := mapping.Read(conn(), config, nil, header, body)
	if err != nil {
		return nil, err
	}
	matches, err := m.Apply(context.Background(), d)
	if err != nil {
		return nil, err
	}
	mapped := mapping.Actions(matches)
	return mapped, intake.Validate(mapped)
}

// subject returns the provider's id of what an action is about.
func subject(a connector.Action) string {
	switch {
	case a.Memory != nil:
		return a.Memory.ExternalID
	case a.Goal != nil:
		return a.Goal.ExternalID
	}
	return a.Note.Subject
}

func TestConnector_Verify(t *testing.T) {
	t.Parallel()
	const (
		secret = "It's a Secret to Everybody"
		body   = "Hello, World!"
		// The test vector in GitHub's documentation on validating webhook deliveries.
		signature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
	)
	mac := hmac.New(sha1.New, []byte(secret))
	mac.Write([]byte(body))
	old := "sha1=" + hex.EncodeToString(mac.Sum(nil))
	tests := []struct {
		name    string
		secrets []string
		header  http.Header
		body    string
		want    string // part of the error; empty: accepted
	}{
		{"right", []string{secret}, header("X-Hub-Signature-256", signature, "X-GitHub-Delivery", "d-1"), body, ""},
		{"an older secret", []string{"another one", secret}, header("X-Hub-Signature-256", signature, "X-GitHub-Delivery", "d-1"), body, ""},
		{"capital digits", []string{secret}, header("X-Hub-Signature-256", "sha256="+strings.ToUpper(signature[7:]), "X-GitHub-Delivery", "d-1"), body, ""},
		{"other body", []string{secret}, header("X-Hub-Signature-256", signature, "X-GitHub-Delivery", "d-1"), body + "!", "does not match"},
		{"other secret", []string{"another one"}, header("X-Hub-Signature-256", signature, "X-GitHub-Delivery", "d-1"), body, "does not match"},
		{"no secret", nil, header("X-Hub-Signature-256", signature, "X-GitHub-Delivery", "d-1"), body, "does not match"},
		{"empty secret", []string{""}, header("X-Hub-Signature-256", signature, "X-GitHub-Delivery", "d-1"), body, "does not match"},
		{"no signature", []string{secret}, header("X-GitHub-Delivery", "d-1"), body, "missing"},
		{"SHA-1 only", []string{secret}, header("X-Hub-Signature", old, "X-GitHub-Delivery", "d-1"), body, "is missing"},
		{"SHA-1 in the wrong header", []string{secret}, header("X-Hub-Signature-256", old, "X-GitHub-Delivery", "d-1"), body, "64 hexadecimal digits"},
		{"short", []string{secret}, header("X-Hub-Signature-256", signature[:40], "X-GitHub-Delivery", "d-1"), body, "64 hexadecimal digits"},
		{"no arrival id", []string{secret}, header("X-Hub-Signature-256", signature), body, "X-GitHub-Delivery"},
	}
	for _, tt := range tests {
		id, err := conn().Verify(nil, tt.secrets, arrived(tt.header, tt.body), now)
		if tt.want == "" {
			errtest.Must(t, err)
			if id != "" {
				t.Errorf("%s: id = %q, want none, because the signature does not cover it", tt.name, id)
			}
			continue
		}
		if got := fault.KindOf(err); got != fault.Unauthenticated {
			t.Errorf("%s: kind = %s, want %s", tt.name, got, fault.Unauthenticated)
		}
		if got := errtest.Message(err); !strings.Contains(got, tt.want) {
			t.Errorf("%s: error %q, want one with %q", tt.name, got, tt.want)
		}
	}
}

func arrived(header http.Header, body string) scheme.Request {
	return scheme.Request{Header: header, Body: []byte(body)}
}

func TestConnector_Sample(t *testing.T) {
	t.Parallel()
	c := conn()
	for _, config := range []string{config, `{"repository":"Some/Other"}`} {
		h, body := c.SampleArrival(json.RawMessage(config))
		for name, values := range c.Sign(nil, "12345678", "sample", arrived(nil, string(body)), now) {
			h[name] = values
		}
		_, err := c.Verify(nil, []string{"12345678"}, arrived(h, string(body)), now)
		errtest.Must(t, err)
		mapped, err := actions(json.RawMessage(config), h, body)
		errtest.Must(t, err)
		if len(mapped) != 1 {
			t.Errorf("actions = %+v, want one", mapped)
		}
	}
}

const (
	inRepository = `"repository":{"full_name":"Octo/App"},`
	aMilestone   = `{"number":3,"title":"v1","description":"Ship it","html_url":"https://github.com/octo/app/milestone/3","state":"open","open_issues":1,"closed_issues":3,"created_at":"2026-01-01T00:00:00Z","updated_at":"2026-04-30T23:00:00Z","due_on":"2026-06-30T07:00:00Z"}`
	anIssue      = `{"number":7,"title":"Broken","body":null,"html_url":"https://github.com/octo/app/issues/7","milestone":null,"updated_at":"2026-05-01T02:00:00+02:00"}`
	aRelease     = `{"tag_name":"v1.0","name":null,"html_url":"https://github.com/octo/app/releases/tag/v1.0","prerelease":false,"published_at":"2026-05-01T00:00:00Z","author":{"login":"octocat"}}`
)

func milestoneAction(at string) connector.Action {
	due, started := time.Date(2026, 6, 30, 7, 0, 0, 0, time.UTC), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	return connector.Action{Port: integration.GoalUpdate, At: at, Goal: &goal.Draft{
		ExternalID: "octo/app/milestones/3", Title: "v1", Target: "Ship it", URL: "https://github.com/octo/app/milestone/3",
		Progress: 0.75, DueAt: &due, StartedAt: &started, State: goal.Open, UpdatedAt: new(time.Date(2026, 4, 30, 23, 0, 0, 0, time.UTC)),
	}}
}

func issueAction() connector.Action {
	return connector.Action{Port: integration.MemoryUpsert, At: "/issue", Memory: &memory.Draft{
		ExternalID: "octo/app/issues/7", Kind: "issue", Title: "Broken", URL: "https://github.com/octo/app/issues/7",
		UpdatedAt: new(time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)),
	}}
}

// workAction returns the action of an issue of a milestone.
func workAction(work memory.Work) connector.Action {
	a := issueAction()
	a.Memory.Goal, a.Memory.Work = "octo/app/milestones/3", work
	return a
}

func TestConnector_Map(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, event, body string
		want              []connector.Action
	}{
		{"issue", "issues", `{"action":"opened",` + inRepository + `"issue":` + anIssue + `}`, []connector.Action{issueAction()}},
		{"issue of a milestone", "issues", `{"action":"closed",` + inRepository + `"issue":` + strings.Replace(anIssue, `"milestone":null`, `"milestone":`+aMilestone, 1) + `}`,
			[]connector.Action{workAction(memory.WorkOpen), milestoneAction("/issue/milestone")}},
		{"blocked issue of a milestone", "issues", `{"action":"labeled",` + inRepository + `"issue":` +
			strings.Replace(anIssue, `"milestone":null`, `"state":"open","labels":[{"name":"bug"},{"name":"Blocked"}],"milestone":`+aMilestone, 1) + `}`,
			[]connector.Action{workAction(memory.WorkBlocked), milestoneAction("/issue/milestone")}},
		{"closed issue of a milestone", "issues", `{"action":"closed",` + inRepository + `"issue":` +
			strings.Replace(anIssue, `"milestone":null`, `"state":"closed","labels":[{"name":"blocked"}],"milestone":`+aMilestone, 1) + `}`,
			[]connector.Action{workAction(memory.WorkDone), milestoneAction("/issue/milestone")}},
		{"issue deleted", "issues", `{"action":"deleted",` + inRepository + `"issue":` + anIssue + `}`, nil},
		{"issue transferred", "issues", `{"action":"transferred",` + inRepository + `"issue":` + anIssue + `}`, nil},
		{"issue of another repository", "issues", `{"action":"opened","repository":{"full_name":"octo/other"},"issue":` + anIssue + `}`, nil},
		{"issue without a repository", "issues", `{"action":"opened","issue":` + anIssue + `}`, nil},
		{"comment", "issue_comment", `{"action":"created",` + inRepository + `"issue":` + anIssue + `}`, nil},
		{"discussion", "discussion", `{"action":"created",` + inRepository + `"discussion":{"number":9,"title":"How?","body":"Like this.","html_url":"https://github.com/octo/app/discussions/9"}}`,
			[]connector.Action{{Port: integration.MemoryUpsert, At: "/discussion", Memory: &memory.Draft{
				ExternalID: "octo/app/discussions/9", Kind: "discussion", Title: "How?", Body: "Like this.", URL: "https://github.com/octo/app/discussions/9",
			}}}},
		{"milestone", "milestone", `{"action":"created",` + inRepository + `"milestone":` + aMilestone + `}`, []connector.Action{milestoneAction("/milestone")}},
		{"milestone deleted", "milestone", `{"action":"deleted",` + inRepository + `"milestone":` + aMilestone + `}`, nil},
		{"milestone without issues", "milestone", `{"action":"closed",` + inRepository + `"milestone":{"number":4,"title":"","description":null,"state":"closed","due_on":null}}`,
			[]connector.Action{{Port: integration.GoalUpdate, At: "/milestone", Goal: &goal.Draft{ExternalID: "octo/app/milestones/4", Title: "Milestone 4", State: goal.Closed}}}},
		{"release", "release", `{"action":"published",` + inRepository + `"release":` + aRelease + `}`,
			[]connector.Action{{Port: integration.TimelineNote, At: "/release", Note: &connector.NoteDraft{
				Title: "octo/app released v1.0", Subject: "octo/app/releases/v1.0",
				Details: json.RawMessage(`{"author":"octocat","prerelease":false,"publishedAt":"2026-05-01T00:00:00Z","tag":"v1.0","url":"https://github.com/octo/app/releases/tag/v1.0"}`),
				Once:    "octo/app/releases/v1.0@2026-05-01T00:00:00Z",
			}}}},
		{"discussion with a time beyond the calendar", "discussion", `{"action":"created",` + inRepository + `"discussion":{"number":9,"title":"How?","updated_at":"9999-12-31T23:59:59-23:59"}}`,
			[]connector.Action{{Port: integration.MemoryUpsert, At: "/discussion", Memory: &memory.Draft{ExternalID: "octo/app/discussions/9", Kind: "discussion", Title: "How?"}}}},
		{"release drafted", "release", `{"action":"created",` + inRepository + `"release":` + aRelease + `}`, nil},
		{"ping", "ping", `{"zen":"Design for failure.","hook_id":1}`, nil},
		{"unknown event", "hovercraft", `{"action":"full","eels":true}`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := header("X-GitHub-Event", tt.event, "Content-Type", "application/json")
			got, err := actions(json.RawMessage(config), h, []byte(tt.body))
			errtest.Must(t, err)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("actions differ (-want +got):\n%s", diff)
			}
			form := header("X-GitHub-Event", tt.event, "Content-Type", "application/x-www-form-urlencoded")
			got, err = actions(json.RawMessage(config), form, []byte(url.Values{"payload": {tt.body}}.Encode()))
			errtest.Must(t, err)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("as a form: actions differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestConnector_Map_refuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		header http.Header
		body   string
		kind   fault.Kind
	}{
		{"no event", header(), `{}`, fault.Malformed},
		{"not JSON", header("X-GitHub-Event", "issues"), `{`, fault.Malformed},
		{"a ping that is not JSON", header("X-GitHub-Event", "ping"), `hello`, fault.Malformed},
		{"another shape", header("X-GitHub-Event", "issues"), `{` + inRepository + `"issue":"7"}`, fault.Invalid},
		{"an issue without a number", header("X-GitHub-Event", "issues"), `{` + inRepository + `"issue":{"title":"t"}}`, fault.Invalid},
		{"a repository of another shape", header("X-GitHub-Event", "issues"), `{"repository":"octo/app","issue":` + anIssue + `}`, fault.Invalid},
		{"a release without a tag", header("X-GitHub-Event", "release"), `{"action":"published",` + inRepository + `"release":{"name":"v1"}}`, fault.Invalid},
		{"a form without payload", header("X-GitHub-Event", "issues", "Content-Type", "application/x-www-form-urlencoded"), `a=b`, fault.Malformed},
		{"no issue", header("X-GitHub-Event", "issues"), `{"action":"opened",` + inRepository + `"issue":null}`, fault.Invalid},
		{"no discussion", header("X-GitHub-Event", "discussion"), `{` + inRepository + `"action":"created"}`, fault.Invalid},
		{"no milestone", header("X-GitHub-Event", "milestone"), `{` + inRepository + `"action":"created"}`, fault.Invalid},
		{"no release", header("X-GitHub-Event", "release"), `{` + inRepository + `"action":"published"}`, fault.Invalid},
	}
	for _, tt := range tests {
		if mapped, err := actions(json.RawMessage(config), tt.header, []byte(tt.body)); fault.KindOf(err) != tt.kind {
			t.Errorf("%s: %+v, %v; want %s", tt.name, mapped, err, tt.kind)
		}
	}
}

func FuzzConnector_Map(f *testing.F) {
	f.Add("issues", "application/json", []byte(`{"action":"opened",`+inRepository+`"issue":`+anIssue+`}`))
	f.Add("milestone", "application/json", []byte(`{"action":"created",`+inRepository+`"milestone":`+aMilestone+`}`))
	f.Add("release", "application/json", []byte(`{"action":"published",`+inRepository+`"release":`+aRelease+`}`))
	f.Add("issues", "application/x-www-form-urlencoded", []byte(`payload=%7B%7D`))
	f.Add("milestone", "", []byte(`{`+inRepository+`"milestone":{"number":1,"closed_issues":9223372036854775807,"open_issues":9223372036854775807}}`))
	f.Fuzz(func(t *testing.T, event, media string, body []byte) {
		mapped, err := actions(json.RawMessage(config), http.Header{"X-Github-Event": {event}, "Content-Type": {media}}, body)
		if err != nil {
			if k := fault.KindOf(err); k != fault.Malformed && k != fault.Invalid {
				t.Errorf("err = %v, want malformed or invalid", err)
			}
			return
		}
		for _, a := range mapped {
			if !strings.HasPrefix(subject(a), "octo/app/") {
				t.Errorf("action about %q, want one about octo/app: %+v", subject(a), a)
			}
		}
	})
}

func FuzzConnector_Verify(f *testing.F) {
	f.Add("sha256=00", "d", []byte("{}"))
	f.Add("sha256="+strings.Repeat("0", 64), "d", []byte(""))
	c := conn()
	f.Fuzz(func(t *testing.T, signature, arrival string, body []byte) {
		h := http.Header{"X-Hub-Signature-256": {signature}, "X-Github-Delivery": {arrival}}
		if id, err := c.Verify(nil, []string{"12345678"}, arrived(h, string(body)), now); err == nil {
			want := c.Sign(nil, "12345678", id, arrived(nil, string(body)), now).Get("X-Hub-Signature-256")
			if !strings.EqualFold(want, signature) {
				t.Errorf("accepted signature %q, want only %q", signature, want)
			}
		}
	})
}

// BenchmarkConnector_Mapping measures an arrival with the default mapping compiled, and the first one, which compiles it.
func BenchmarkConnector_Mapping(b *testing.B) {
	h, body := header("X-GitHub-Event", "issues"), []byte(`{"action":"opened",`+inRepository+`"issue":`+anIssue+`}`)
	for _, kept := range []bool{true, false} {
		b.Run(fmt.Sprintf("compiled=%t", kept), func(b *testing.B) {
			for b.Loop() {
				if !kept {
					mappings = mapping.Cache{}
				}
				_, err := actions(json.RawMessage(config), h, body)
				errtest.Must(b, err)
			}
		})
	}
}
