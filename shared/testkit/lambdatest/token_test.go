package lambdatest_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"orgops/shared/testkit/lambdatest"
)

func TestAuthorizer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, secretText(t))
	company := provisioned(t, w)
	bearer := loggedIn(t, w.start(t, "auth"))
	f := w.start(t, "authorizer")

	// The answer depends on the token, not on the company in the request.
	r := f.Invoke(t, sample(t, "authorizer/good-token", "${token}", bearer))
	var answer events.APIGatewayCustomAuthorizerResponse
	into(t, r, &answer)
	arn := "arn:aws:execute-api:eu-central-1:111122223333:q7x2m9k4vd/live/*/companies/" + company
	want := []events.IAMPolicyStatement{{Action: []string{"execute-api:Invoke"}, Effect: "Allow", Resource: []string{arn, arn + "/*"}}}
	if diff := cmp.Diff(want, answer.PolicyDocument.Statement); diff != "" {
		t.Error(diff)
	}
	c := answer.Context
	if answer.PrincipalID == "" || c["subject"] != answer.PrincipalID || c["company"] != company || c["plan"] != "free" ||
		!strings.Contains(c["scope"].(string), "integrations:write") || answer.UsageIdentifierKey != "company-"+company {
		t.Errorf("%s", r.Body)
	}
	tests := []struct {
		name    string
		payload []byte
	}{
		{"signed with an unknown key", sample(t, "authorizer/bad-token")},
		{"changed", sample(t, "authorizer/good-token", "${token}", bearer+"x")},
		{"another scheme", sample(t, "authorizer/good-token", "Bearer ${token}", "Basic "+bearer)},
		{"no token", sample(t, "authorizer/good-token", "Bearer ${token}", "")},
		{"not of a TOKEN authorizer", sample(t, "authorizer/good-token", "TOKEN", "REQUEST", "${token}", bearer)},
	}
	for _, tt := range tests {
		if r := f.Invoke(t, tt.payload); !r.Failed || r.Error != "Unauthorized" { // the only error text for which the gateway answers 401
			t.Errorf("%s: %+v", tt.name, r)
		}
	}
	if r := f.Invoke(t, sample(t, "authorizer/good-token", "${token}", bearer, "arn:aws:", "*:")); !r.Failed || r.Error == "Unauthorized" {
		t.Errorf("an invalid ARN: %+v", r)
	}
	if strings.Contains(f.Log(), bearer) {
		t.Error("the log contains a token")
	}
}

// rotate runs all steps of the rotator, each twice.
func rotate(t *testing.T, w *world, f *lambdatest.Function) {
	t.Helper()
	version := w.signing.BeginRotation(t)
	for _, step := range []string{"createSecret", "setSecret", "testSecret", "finishSecret"} {
		for range 2 {
			payload := sample(t, "rotator/create-secret", "createSecret", step, "2f0c9c2e-8b5d-4a0e-9f66-0d7f3f1f4a11", version)
			if r := f.Invoke(t, payload); r.Failed {
				t.Fatalf("%s: %s", step, r.Error)
			}
		}
	}
}

// TestRotator checks that newly deployed secrets get their first key, and that issued tokens stay valid after rotations.
func TestRotator(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	w.signing.Set(t, "{}")
	w.published.Set(t, `{"cursor": "a text of some length"}`)
	company := provisioned(t, w)
	f := w.start(t, "rotator")
	rotate(t, w, f)
	auth, warm := w.start(t, "auth"), w.start(t, "missioncontrol")
	old := loggedIn(t, auth)
	accepted := func(function *lambdatest.Function, bearer string) {
		t.Helper()
		resp := ask(t, function, request(t, "GET", "/companies/"+company+"/mission-control/health", bearer, ""))
		if resp.StatusCode != 200 {
			t.Errorf("%d %s", resp.StatusCode, resp.Body)
		}
	}
	accepted(warm, old)
	rotate(t, w, f)
	rotate(t, w, f)
	for _, bearer := range []string{old, loggedIn(t, auth), loggedIn(t, w.start(t, "auth"))} {
		accepted(warm, bearer)
		accepted(w.start(t, "missioncontrol"), bearer)
	}
	var keys struct{ Keys []struct{ Kid string } }
	resp := ask(t, w.start(t, "auth"), request(t, "GET", "/.well-known/jwks.json", "", ""))
	if err := json.Unmarshal([]byte(resp.Body), &keys); err != nil || len(keys.Keys) != 3 {
		t.Errorf("%d %s", resp.StatusCode, resp.Body)
	}
	withoutKeys := w.start(t, "auth", "ORGOPS_SIGNING_KEYS="+w.published.ARN) // its permissions allow no other secret
	if resp := ask(t, withoutKeys, sample(t, "auth/login-ok")); resp.StatusCode != 503 {
		t.Errorf("without the signing keys: %d %s", resp.StatusCode, resp.Body)
	}
	for _, payload := range [][]byte{
		sample(t, "rotator/finish-secret"), // an unknown version
		sample(t, "rotator/create-secret", "createSecret", "dropSecret"),
		[]byte(`{}`),
	} {
		if r := f.Invoke(t, payload); !r.Failed {
			t.Errorf("%s: %s", payload, r.Body)
		}
	}
	if strings.Contains(f.Log(), `"d"`) {
		t.Error("the log contains a private key")
	}
}
