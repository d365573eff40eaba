package acceptance_test

import (
	"crypto/rand"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"orgops/local/suite/servicetest"
	"orgops/shared/domain/recommendation"
	"orgops/shared/domain/timeline"
	"orgops/shared/testkit/errtest"
)

// TestDocument_Schemathesis sends valid and invalid requests generated from the document, and checks the answers against it.
func TestDocument_Schemathesis(t *testing.T) {
	t.Parallel()
	s := start(t)
	tn := s.tenant("Schemathesis")
	// The document's examples hold the password of every test's founder. A request that changes it would end the token.
	changed := rand.Text()
	tn.do("POST", "/auth/password", map[string]string{"current": tn.Password, "new": changed}).want(204)
	tn.Password = changed
	tn.login()
	secret := newSecret(t)
	r := receive(t, secret)
	tn.subscribe("webhook", r.url, secret, "memory.*")
	memory := tn.post(secret, "msg-1", ticket(1)).Results[0].Subject
	goal := tn.post(secret, "msg-2", []byte(`{"type":"goal.update","data":{"externalId":"g","title":"Ship","progress":0.5,"state":"open"}}`)).Results[0].Subject
	eventually(t, "a delivery", func() bool { return len(r.deliveries()) > 0 })
	tn.do("POST", tn.at("/integrations/feed"), map[string]any{"url": serve(t, (&feedServer{}).ServeHTTP)}).want(201)
	var recovery struct{ ID string }
	tn.do("POST", tn.at("/integrations/webhook/recover"), map[string]any{"since": time.Now().Add(-time.Hour)}).want(202).json(&recovery)
	var invited struct{ ID string }
	tn.do("POST", tn.at("/operations/users"), map[string]any{"email": "mia@schemathesis.test", "role": "member"}).want(201).json(&invited)
	var agent, action struct{ ID string }
	tn.do("POST", tn.at("/executives"), map[string]any{
		"name": "Scribe", "role": "Takes notes", "owner": "founder", "actions": []string{"timeline.note"}, "quotaPerDay": 1000,
	}).want(201).json(&agent)
	tn.do("POST", tn.at("/executives/"+agent.ID+"/actions"), map[string]any{"action": "timeline.note", "input": map[string]any{"title": "Moved"}},
		"Idempotency-Key", "schemathesis").want(202).json(&action)
	var users struct{ Items []struct{ ID string } }
	tn.do("GET", tn.at("/operations/users"), nil).want(200).json(&users)
	var machine struct{ ID string }
	tn.do("POST", tn.at("/operations/clients"), map[string]any{
		"name": "Report", "purpose": "Reads the brief", "scopes": []string{"intelligence:read"}, "owner": users.Items[0].ID,
	}).want(201).json(&machine)
	things := []string{
		"TOKEN=" + tn.Token, "COMPANY=" + tn.ID, "MEMORY=" + memory, "GOAL=" + goal,
		"RECOMMENDATION=" + recommendation.ID("add-founder", timeline.Reference{Type: "company", ID: tn.ID}),
		"DELIVERY=" + r.deliveries()[0].ID, "RUN=" + tn.sync("feed").ID, "RECOVERY=" + recovery.ID, "INVITED=" + invited.ID,
		"EXECUTIVE=" + agent.ID, "ACTION=" + action.ID, "CLIENT=" + machine.ID,
	}
	config, err := filepath.Abs("testdata/schemathesis.toml")
	errtest.Must(t, err)
	output := servicetest.Command(t, 10*time.Minute, func(cmd *exec.Cmd) {
		cmd.Dir = t.TempDir() // it stores its state in the working folder
		cmd.Env = append(append(os.Environ(), "NO_COLOR=1", "PYTHONHASHSEED=0"), things...)
	}, filepath.Join(filepath.Dir(python(t)), "schemathesis"), "--config-file", config, "run", s.base+"/openapi.json")
	t.Log(output)
	const most = 20 // those that take no bearer token of the API, and those of another plan
	refused := regexp.MustCompile(`(\d+) operations? returned only 401/403`).FindStringSubmatch(output)
	if refused == nil {
		t.Fatal("the report does not count the operations that refused every request")
	}
	n, err := strconv.Atoi(refused[1])
	errtest.Must(t, err)
	if n > most {
		t.Errorf("%d operations refused every request, want at most %d: has a request ended the token?", n, most)
	}
}
