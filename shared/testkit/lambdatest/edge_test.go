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
	wantAnswer(t, w.start(t, "intelligence"), own("intelligence/context"), 200, "")
	wantAnswer(t, w.start(t, "memory"), own("memory/list"), 200, `"items":[]`)
	wantAnswer(t, health, request(t, "GET", "/companies/"+company+"/executives", bearer, ""), 404, "") // an unknown route
	withoutHeaders := []byte(`{"httpMethod":"GET","path":"/companies/` + company + `/mission-control/health"}`)
	wantAnswer(t, health, withoutHeaders, 401, "")
	fiveMegabytes := `{"email":"` + strings.Repeat("x", 5<<20) + `"}`
	wantAnswer(t, auth, request(t, "POST", "/auth/login", "", fiveMegabytes), 413, "")
	head := wantAnswer(t, health, request(t, "HEAD", "/companies/"+company+"/mission-control/health", bearer, ""), 200, "")
	if head.Body != "" {
		t.Errorf("body of HEAD = %q, want none", head.Body)
	}
	wantError(t, health, []byte(`"not a gateway event"`), "")
	wantAnswer(t, health, own("missioncontrol/health"), 200, "") // also after the invalid event
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
	for _, answer := range answers[1:] {
		if diff := cmp.Diff(answers[0], answer); diff != "" {
			t.Errorf("the answer differs from the first (-first +other):\n%s", diff)
		}
	}
	for _, resource := range answers[2].PolicyDocument.Statement[0].Resource {
		_, named, found := strings.Cut(resource, "/companies/")
		if found && !strings.HasPrefix(named, company) {
			t.Errorf("the policy allows %s, want no other company than %s", resource, company)
		}
	}
}

// TestFunctions_MissingSettings checks that a function without a required setting fails every event with an error that names
// it.
func TestFunctions_MissingSettings(t *testing.T) {
	t.Parallel()
	w := newWorld(t, secretText(t)).withQueues(t)
	for function, missing := range map[string]string{
		"projector": "ORGOPS_TABLE", "dispatcher": "ORGOPS_RETRIES_QUEUE", "retrier": "ORGOPS_RETRIES_QUEUE", "syncer": "ORGOPS_SYNCS_QUEUE", "notifier": "ORGOPS_NOTICES_QUEUE",
		"ticker": "ORGOPS_TABLE", "provisioner": "ORGOPS_TABLE", "rotator": "ORGOPS_TOKEN_KEYS",
	} {
		f := w.start(t, function, missing+"=")
		for range 2 {
			wantError(t, f, []byte(`{}`), "not set: "+missing)
		}
	}
}

// TestFunctions_Stopped checks that an idle function ends at once on SIGTERM.
func TestFunctions_Stopped(t *testing.T) {
	t.Parallel()
	w := newWorld(t, secretText(t)).withQueues(t)
	for _, function := range []string{"missioncontrol", "dispatcher", "syncer"} {
		if err := w.start(t, function).Signal(syscall.SIGTERM); err != nil {
			t.Errorf("%s: %v", function, err)
		}
	}
}
