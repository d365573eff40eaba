package acceptance_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"orgops/shared/testkit/errtest"
)

// githubExample holds one of the examples that GitHub publishes. A few are published twice.
type githubExample struct {
	event   string
	payload json.RawMessage
	facts   struct {
		Action     string
		Repository struct {
			FullName string `json:"full_name"`
		}
	}
}

func githubExamples(t *testing.T) []githubExample {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(nodeModules(t), "@octokit/webhooks-examples/api.github.com/index.json"))
	errtest.Must(t, err)
	var index []struct {
		Name     string
		Examples []json.RawMessage
	}
	errtest.Must(t, json.Unmarshal(content, &index))
	var all []githubExample
	known := map[string]bool{}
	for _, of := range index {
		for _, payload := range of.Examples {
			e := githubExample{event: of.Name}
			var compact bytes.Buffer // GitHub sends compact JSON
			errtest.Must(t, json.Compact(&compact, payload))
			if e.payload = compact.Bytes(); known[string(e.payload)] {
				continue // GitHub signs no delivery id, so the same body again is a repeat
			}
			known[string(e.payload)] = true
			_ = json.Unmarshal(payload, &e.facts) // a payload without these members concerns no repository
			all = append(all, e)
		}
	}
	if len(all) < 300 {
		t.Fatalf("%d examples, want at least 300", len(all))
	}
	return all
}

// maps reports whether an example must lead to an action. A release leads to one only when it is published.
func (e githubExample) maps() bool {
	switch e.event {
	case "issues", "discussion", "milestone":
		return e.facts.Action != "deleted" && e.facts.Action != "transferred"
	case "release":
		return e.facts.Action == "published"
	}
	return false
}

// githubCompany holds a company with a github integration for one repository and a receiver of all events.
type githubCompany struct {
	*tenant
	*receiver
	secret string
}

func (s *service) githubCompany(n int, repository string) *githubCompany {
	s.t.Helper()
	g := &githubCompany{tenant: s.tenant(fmt.Sprintf("GitHub-%d", n)), secret: fmt.Sprintf("secret of repository %d", n)}
	s.Log.KeepOut(g.secret)
	hook := newSecret(s.t)
	g.receiver = receive(s.t, hook)
	g.subscribe("webhook", g.url, hook, "memory.*", "goal.*", "timeline.*")
	g.do("POST", g.at("/integrations/github"), map[string]any{"repository": repository, "signingSecret": g.secret}).want(201)
	g.certify("github")
	return g
}

// deliver posts an example as GitHub does.
func (g *githubCompany) deliver(n int, e githubExample) *answer {
	g.tenant.t.Helper()
	mac := hmac.New(sha256.New, []byte(g.secret))
	mac.Write(e.payload)
	a, err := g.send("POST", "/inbound/"+g.ID+"/github", []byte(e.payload), http.Header{
		"User-Agent":          {"GitHub-Hookshot/0000000"},
		"X-Github-Delivery":   {fmt.Sprintf("72d3162e-cc78-11e3-81ab-%012d", n)},
		"X-Github-Event":      {e.event},
		"X-Hub-Signature-256": {"sha256=" + hex.EncodeToString(mac.Sum(nil))},
	})
	errtest.Must(g.tenant.t, err)
	return a
}

// mainRepository is the repository of most examples.
const mainRepository = "Codertocat/Hello-World"

// TestGitHubExamples posts every example that GitHub publishes, unchanged and signed as GitHub signs. An integration covers
// one repository, so each repository of the examples has its own company.
func TestGitHubExamples(t *testing.T) {
	t.Parallel()
	examples := githubExamples(t)
	s := start(t)
	companies := map[string]*githubCompany{}
	expected := map[*githubCompany][]receipt{}
	mapped := 0
	for n, e := range examples {
		repository := e.facts.Repository.FullName
		if repository == "" {
			repository = mainRepository // concerns an organization or an app, so any company may receive it
		}
		g := companies[repository]
		if g == nil {
			g = s.githubCompany(len(companies), repository)
			companies[repository] = g
		}
		var r receipt
		a := g.deliver(n, e).want(202).json(&r)
		if r.Results == nil {
			t.Errorf("%s %s: the answer has no results: %s", e.event, e.facts.Action, a.body)
		}
		if r.Sandboxed {
			t.Errorf("%s %s: the arrival went to the sandbox: %s", e.event, e.facts.Action, a.body)
		}
		if (len(r.Results) > 0) != e.maps() {
			t.Errorf("%s %s: %d actions, want one or more: %t: %s", e.event, e.facts.Action, len(r.Results), e.maps(), a.body)
		}
		if e.maps() {
			mapped++
			expected[g] = append(expected[g], r)
		}
		if n%25 == 0 { // only what took effect has a repeat
			status, effective := 202, r.Effect != "none"
			if effective {
				status = 200
			}
			var again receipt
			if g.deliver(n, e).want(status).json(&again); again.Duplicate != effective {
				t.Errorf("%s %s: a repeat was answered with duplicate = %t, want %t", e.event, e.facts.Action, again.Duplicate, effective)
			}
		}
	}
	for g, receipts := range expected {
		for _, r := range receipts {
			g.sees(r)
		}
	}
	t.Logf("%d examples, %d of them mapped, %d repositories", len(examples), mapped, len(companies))
	main := companies[mainRepository]
	for n, e := range examples {
		if e.facts.Repository.FullName != mainRepository && e.facts.Repository.FullName != "" {
			main.deliver(n, e).want(202) // concerns another repository, so it has no effect
		}
	}
	main.briefs()
}

// briefs prints the brief of a company as JSON and as Markdown, and reads every path that it cites. To see it:
//
//	go test ./local/suite/acceptance -count=1 -v -run '^TestGitHubExamples$'
func (g *githubCompany) briefs() {
	t := g.tenant.t
	t.Helper()
	var b struct {
		Sections []struct {
			ID    string
			Items []struct{ Evidence []string }
		}
	}
	told := g.do("GET", g.at("/intelligence/brief"), nil).want(200).json(&b)
	var indented bytes.Buffer
	errtest.Must(t, json.Indent(&indented, told.body, "", " "))
	markdown, err := g.send("GET", g.at("/intelligence/brief"), nil, http.Header{"Accept": {"text/markdown"}, "Authorization": {"Bearer " + g.Token}})
	errtest.Must(t, err)
	t.Logf("the brief as JSON:\n%s\nas Markdown:\n%s", indented.Bytes(), markdown.want(200).body)
	for _, section := range b.Sections {
		for _, sentence := range section.Items {
			for _, href := range sentence.Evidence {
				g.do("GET", href, nil).want(200)
			}
		}
	}
}

// sees checks that the results of an arrival can be read and that subscribers received events of them.
func (g *githubCompany) sees(r receipt) {
	t := g.tenant.t
	t.Helper()
	for _, result := range r.Results {
		if result.Verdict != "permitted" {
			t.Errorf("verdict = %s, want permitted: %+v", result.Verdict, result)
		}
		if result.DecisionID == "" {
			t.Errorf("the result has no decision: %+v", result)
		}
		switch result.Action {
		case "memory.upsert":
			g.do("GET", g.at("/memory/"+result.Subject), nil).want(200)
			if result.Outcome != "unchanged" {
				g.receives("memory."+result.Outcome, result.Subject)
			}
		case "goal.update":
			g.do("GET", g.at("/goals/"+result.Subject), nil).want(200)
			if result.Outcome != "unchanged" {
				g.receives("goal.updated", result.Subject)
			}
		case "timeline.note":
			var page struct{ Items []struct{ ID string } }
			g.do("GET", g.at("/mission-control/timeline?kind=note&limit=100"), nil).want(200).json(&page)
			if len(page.Items) == 0 {
				t.Errorf("the release is not in the timeline")
			}
			for _, item := range page.Items {
				g.receives("timeline.entry.created", item.ID)
			}
		default:
			t.Errorf("unknown action: %+v", result)
		}
	}
}

func (g *githubCompany) receives(event, id string) {
	g.tenant.t.Helper()
	eventually(g.tenant.t, event+" of "+id+" is delivered", func() bool { return len(g.about(event, id)) > 0 })
}
