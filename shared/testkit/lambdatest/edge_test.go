package lambdatest_test

import (
	"strings"
	"syscall"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"
)

// TestGroups_Edges sends unusual and invalid gateway events to route groups.
func TestGroups_Edges(t *testing.T) {
	t.Parallel()
	w := newWorld(t, secretText(t))
	company := provisioned(t, w)
	auth, health := w.start(t, "auth"), w.start(t, "missioncontrol")
	bearer := loggedIn(t, auth)
	own := func(name string) []byte { return sample(t, name, "${token}", bearer, sampleCompany, company) }
	if resp := ask(t, w.start(t, "intelligence"), own("intelligence/context")); resp.StatusCode != 200 {
		t.Errorf("context: %d %s", resp.StatusCode, resp.Body)
	}
	if resp := ask(t, w.start(t, "memory"), own("memory/list")); resp.StatusCode != 200 || !strings.Contains(resp.Body, `"items":[]`) {
		t.Errorf("memories: %d %s", resp.StatusCode, resp.Body)
	}
	if resp := ask(t, health, request(t, "GET", "/companies/"+company+"/executives", bearer, "")); resp.StatusCode != 404 {
		t.Errorf("executives, an unknown route: %d %s", resp.StatusCode, resp.Body)
	}
	if resp := ask(t, health, []byte(`{"httpMethod":"GET","path":"/companies/`+company+`/mission-control/health"}`)); resp.StatusCode != 401 {
		t.Errorf("without any header: %d %s", resp.StatusCode, resp.Body)
	}
	if resp := ask(t, auth, request(t, "POST", "/auth/login", "", `{"email":"`+strings.Repeat("x", 5<<20)+`"}`)); resp.StatusCode != 413 {
		t.Errorf("five megabytes: %d %s", resp.StatusCode, resp.Body)
	}
	head := ask(t, health, request(t, "HEAD", "/companies/"+company+"/mission-control/health", bearer, ""))
	if head.StatusCode != 200 || head.Body != "" {
		t.Errorf("HEAD: %d %q", head.StatusCode, head.Body)
	}
	if r := health.Invoke(t, []byte(`"not a gateway event"`)); !r.Failed {
		t.Errorf("not a gateway event: %s", r.Body)
	}
	if resp := ask(t, health, own("missioncontrol/health")); resp.StatusCode != 200 {
		t.Errorf("after the invalid event: %d %s", resp.StatusCode, resp.Body)
	}
}

// TestAuthorizer_Cacheable checks that the gateway may cache an answer: it is the same for every request with the token, and
// allows no other company.
func TestAuthorizer_Cacheable(t *testing.T) {
	t.Parallel()
	w := newWorld(t, secretText(t))
	company := provisioned(t, w)
	bearer := loggedIn(t, w.start(t, "auth"))
	f := w.start(t, "authorizer")
	var answers [3]events.APIGatewayCustomAuthorizerResponse
	for i, path := range []string{
		"GET/companies/" + company + "/mission-control/health", "POST/companies/" + company + "/memory/sync/feed", "DELETE/companies/another",
	} {
		payload := sample(t, "authorizer/good-token", "${token}", bearer, "GET/companies/"+sampleCompany+"/mission-control/health", path)
		into(t, f.Invoke(t, payload), &answers[i])
	}
	if diff := cmp.Diff(answers[0], answers[1]) + cmp.Diff(answers[0], answers[2]); diff != "" {
		t.Error(diff)
	}
	for _, resource := range answers[2].PolicyDocument.Statement[0].Resource {
		if !strings.Contains(resource, "/companies/"+company) {
			t.Errorf("the policy allows %s", resource)
		}
	}
}

// TestMissingSettings checks that a function without a required setting fails every event with an error that names it.
func TestMissingSettings(t *testing.T) {
	t.Parallel()
	w := newWorld(t, secretText(t)).withQueues(t)
	for function, missing := range map[string]string{
		"projector": "ORGOPS_TABLE", "dispatcher": "ORGOPS_RETRIES_QUEUE", "retrier": "ORGOPS_RETRIES_QUEUE", "syncer": "ORGOPS_SYNCS_QUEUE",
		"ticker": "ORGOPS_TABLE", "provisioner": "ORGOPS_TABLE", "rotator": "ORGOPS_TOKEN_KEYS",
	} {
		f := w.start(t, function, missing+"=")
		for range 2 {
			if r := f.Invoke(t, []byte(`{}`)); !r.Failed || !strings.Contains(r.Error, "not set: "+missing) {
				t.Errorf("%s without %s: %+v", function, missing, r)
			}
		}
	}
}

// TestStopped checks that an idle function ends at once on SIGTERM.
func TestStopped(t *testing.T) {
	t.Parallel()
	w := newWorld(t, secretText(t)).withQueues(t)
	for _, function := range []string{"missioncontrol", "dispatcher", "syncer"} {
		if err := w.start(t, function).Signal(syscall.SIGTERM); err != nil {
			t.Errorf("%s: %v", function, err)
		}
	}
}
