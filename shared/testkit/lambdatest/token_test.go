package lambdatest_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"orgops/shared/testkit/errtest"
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
	stage := "arn:aws:execute-api:eu-central-1:111122223333:q7x2m9k4vd/live"
	arn := stage + "/*/companies/" + company
	want := []events.IAMPolicyStatement{{Action: []string{"execute-api:Invoke"}, Effect: "Allow", Resource: []string{
		arn, arn + "/*", stage + "/*/auth/consent", stage + "/*/auth/factors", stage + "/*/auth/factors/*", stage + "/POST/auth/recovery-codes", stage + "/POST/auth/password", stage + "/POST/auth/sign-out",
	}}}
	if diff := cmp.Diff(want, answer.PolicyDocument.Statement); diff != "" {
		t.Errorf("statements (-want +got):\n%s", diff)
	}
	if answer.PrincipalID == "" {
		t.Error("the answer has no principal")
	}
	scope, _ := answer.Context["scope"].(string)
	if want := "integrations:write"; !strings.Contains(scope, want) {
		t.Errorf("scope = %q, want one with %s", scope, want)
	}
	wantContext := map[string]any{"subject": answer.PrincipalID, "company": company, "plan": "free", "scope": scope, "ratePolicy": `"second";q=5;w=1, "day";q=20000;w=86400`}
	if diff := cmp.Diff(wantContext, answer.Context); diff != "" {
		t.Errorf("context (-want +got):\n%s", diff)
	}
	if got, want := answer.UsageIdentifierKey, "shared-key-of-q7x2m9k4vd"; got != want {
		t.Errorf("usage key = %q, want %q", got, want)
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
	unauthorized := lambdatest.Result{Failed: true, Error: "Unauthorized"} // the only error text for which the gateway answers 401
	for _, tt := range tests {
		if diff := cmp.Diff(unauthorized, f.Invoke(t, tt.payload)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
	invalid := f.Invoke(t, sample(t, "authorizer/good-token", "${token}", bearer, "arn:aws:", "*:"))
	if !invalid.Failed {
		t.Errorf("an invalid ARN: answer = %s, want an error", invalid.Body)
	}
	if invalid.Error == unauthorized.Error {
		t.Errorf("an invalid ARN: error %q, want another one", invalid.Error)
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
		wantAnswer(t, function, request(t, "GET", "/companies/"+company+"/mission-control/health", bearer, ""), 200, "")
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
	errtest.Must(t, json.Unmarshal([]byte(resp.Body), &keys))
	if got := len(keys.Keys); got != 3 {
		t.Errorf("%d public keys, want 3: %s", got, resp.Body)
	}
	withoutKeys := w.start(t, "auth", "ORGOPS_SIGNING_KEYS="+w.published.ARN) // its permissions allow no other secret
	wantAnswer(t, withoutKeys, sample(t, "auth/login-ok"), 503, "")
	for _, payload := range [][]byte{
		sample(t, "rotator/finish-secret"), // an unknown version
		sample(t, "rotator/create-secret", "createSecret", "dropSecret"),
		[]byte(`{}`),
	} {
		wantError(t, f, payload, "")
	}
	if strings.Contains(f.Log(), `"d"`) {
		t.Error("the log contains a private key")
	}
}
