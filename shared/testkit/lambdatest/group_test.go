package lambdatest_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"orgops/shared/domain/company"
	"orgops/shared/domain/user"
	"orgops/shared/identity/token"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/awstest"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/lambdatest"
)

const (
	sampleCompany = "0197c1d2-3e4f-7a5b-8c6d-7e8f90a1b2c3"
	samplePass    = "a long enough password"
)

// provisioned makes a company with the founder of the samples.
func provisioned(t *testing.T, w *world) (company string) {
	t.Helper()
	type provision struct{ CompanyID, UserID, Email, Password, Warning string }
	var answer provision
	into(t, w.start(t, "provisioner").Invoke(t,
		sample(t, "provisioner/company", `"ada@example.com"`, `"ada@example.com", "password": "`+samplePass+`"`)), &answer)
	if diff := cmp.Diff(provision{Email: "ada@example.com"}, answer, cmpopts.IgnoreFields(answer, "CompanyID", "UserID")); diff != "" {
		t.Fatalf("answer (-want +got):\n%s", diff)
	}
	for name, id := range map[string]string{"company": answer.CompanyID, "user": answer.UserID} {
		if id == "" {
			t.Fatalf("the answer has no id of the %s", name)
		}
	}
	if keys := awstest.UsageKeys(t, moto.Access(t), w.plan); len(keys) > 0 {
		t.Errorf("the plan free has keys %q, want none of a company's own", keys)
	}
	return answer.CompanyID
}

// loggedIn logs in the founder of the samples and returns the token.
func loggedIn(t *testing.T, auth *lambdatest.Function) string {
	t.Helper()
	resp := ask(t, auth, sample(t, "auth/login-ok"))
	var body struct {
		Token string `json:"access_token"`
	}
	errtest.Must(t, json.Unmarshal([]byte(resp.Body), &body))
	if resp.StatusCode != 200 {
		t.Fatalf("login: status = %d, want 200: %s", resp.StatusCode, resp.Body)
	}
	if body.Token == "" {
		t.Fatal("login: the answer has no token")
	}
	if diff := cmp.Diff([]string{"no-store"}, resp.MultiValueHeaders["Cache-Control"]); diff != "" {
		t.Errorf("login: Cache-Control (-want +got):\n%s", diff)
	}
	return body.Token
}

// TestGroups starts with an empty table, provisions a company and checks the answers of every route group. Each function
// runs in its own process.
func TestGroups(t *testing.T) {
	t.Parallel()
	keys := newKeys(t)
	w := newWorld(t, secretOf(t, keys))
	company := provisioned(t, w)
	auth := w.start(t, "auth")
	bearer := loggedIn(t, auth)
	mcpBearer := tokenFor(t, keys, token.Claims{Subject: "u1", Company: company, Plan: "free", Scopes: user.Founder.Scopes(), Resource: token.MCPResource(issuer, company)})
	path := "/companies/" + company
	groups := map[string]*lambdatest.Function{"auth": auth}
	for _, name := range []string{"missioncontrol", "intelligence", "integrations", "memory", "inbound", "operations", "executives", "sso", "mcp", "console"} {
		groups[name] = w.start(t, name)
	}
	tests := []struct {
		name, group string
		payload     []byte
		status      int
		holds       string
	}{
		{"a login with a malformed body", "auth", sample(t, "auth/login-bad-body"), 400, "malformed"},
		{"a wrong password", "auth", sample(t, "auth/login-ok", samplePass, "another password, wrong"), 401, "unauthenticated"},
		{"a new password without a token", "auth", request(t, "POST", "/auth/password", "", `{}`), 401, "unauthenticated"},
		{
			"a new password without the current one", "auth",
			request(t, "POST", "/auth/password", bearer, `{"current": "not this", "new": "nine quiet otters read maps"}`), 422, "/current",
		},
		{"health", "missioncontrol", sample(t, "missioncontrol/health", "${token}", bearer, sampleCompany, company), 200, "contextVersion"},
		{"another company's", "missioncontrol", sample(t, "missioncontrol/health", "${token}", bearer), 403, "forbidden"},
		{"without a token", "missioncontrol", request(t, "GET", path+"/mission-control/health", "", ""), 401, "unauthenticated"},
		{"with an invalid token", "missioncontrol", request(t, "GET", path+"/mission-control/health", "a.b.c", ""), 401, "unauthenticated"},
		{"the context", "intelligence", request(t, "GET", path+"/intelligence/context", bearer, ""), 200, "contextVersion"},
		{"integrations", "integrations", sample(t, "integrations/list", "${token}", bearer, sampleCompany, company), 200, `"items"`},
		{"an unknown provider", "integrations", request(t, "POST", path+"/integrations/nothing", bearer, `{}`), 404, "there is no such provider"},
		{"a certification of an unknown provider", "inbound", request(t, "POST", path+"/integrations/nothing/certification", bearer, ""), 404, "there is no such provider"},
		{"memories", "memory", request(t, "GET", path+"/memory", bearer, ""), 200, `{"items":[]}`},
		{"syncs", "memory", request(t, "GET", path+"/memory/syncs", bearer, ""), 200, `"items"`},
		{"decisions", "operations", sample(t, "operations/decisions", "${token}", bearer, sampleCompany, company), 200, `{"items":[]}`},
		{"the console's page", "console", sample(t, "console/page"), 200, "app.js"},
		{"executives", "executives", sample(t, "executives/list", "${token}", bearer, sampleCompany, company), 200, `{"items":[]}`},
		{"the tools", "mcp", sample(t, "mcp/list-tools", "${token}", mcpBearer, sampleCompany, company), 200, `"act-as-executive"`},
		{"the tools, with a token of the API", "mcp", sample(t, "mcp/list-tools", "${token}", bearer, sampleCompany, company), 401, "unauthenticated"},
		{"a tool", "mcp", sample(t, "mcp/list-tools", "${token}", mcpBearer, sampleCompany, company, `"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}"`,
			`"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"list-approvals\"}}"`), 200, `"trusted":false`},
		{"a webhook without a signature", "inbound", request(t, "POST", "/inbound/"+company+"/webhook", "", `{}`), 401, "unauthenticated"},
		{"a broken escape", "missioncontrol", request(t, "GET", "/companies/%zz/mission-control/health", bearer, ""), 400, "malformed"},
		{"no path", "missioncontrol", request(t, "GET", "", bearer, ""), 404, "not-found"},
		{"another group's path", "missioncontrol", request(t, "POST", "/auth/login", "", "{}"), 404, "not-found"},
		{"a company without single sign-on", "sso", sample(t, "sso/start"), 404, "not-found"},
		{"an unsupported method", "auth", request(t, "DELETE", "/auth/login", "", ""), 405, "method-not-allowed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			resp := wantAnswer(t, groups[tt.group], tt.payload, tt.status, tt.holds)
			if got := resp.MultiValueHeaders["X-Request-Id"]; len(got) != 1 {
				t.Errorf("request ids = %q, want one", got)
			}
		})
	}
	for name, f := range groups {
		for kind, secret := range map[string]string{"token": bearer, "password": samplePass} {
			if strings.Contains(f.Log(), secret) {
				t.Errorf("the log of %s contains a %s", name, kind)
			}
		}
	}
}

// TestGroups_NotReady checks that a function without its secret or table answers 503, and works once the secret is there.
func TestGroups_NotReady(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	f := w.start(t, "missioncontrol")
	payload := request(t, "GET", "/companies/c/mission-control/health", "", "")
	const unavailable = "/problems/unavailable"
	wantAnswer(t, f, payload, 503, unavailable) // without a secret
	w.setKeys(t, `{"cursor": "a text of some length"}`)
	wantAnswer(t, f, payload, 503, unavailable) // without keys in the secret
	withoutTable := w.start(t, "missioncontrol", "ORGOPS_TABLE=")
	wantAnswer(t, withoutTable, payload, 503, unavailable)
	w.setKeys(t, secretText(t))
	wantAnswer(t, f, payload, 401, "") // with keys
}

func TestProvisioner_Refuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	provisioned(t, w)
	f := w.start(t, "provisioner")
	tests := []struct{ payload, holds string }{
		{`{"name":"","email":"nobody"}`, "email"},
		{`{"name":"Example","email":"eve@example.com","plan":"golden"}`, `no plan "golden"`},
		{`[]`, ""},
	}
	for _, tt := range tests {
		wantError(t, f, []byte(tt.payload), tt.holds)
	}
	for email, known := range map[string]bool{"eve@example.com": false, "ada@example.com": true} { // ada has a password already
		var answer struct {
			Password string
			Known    bool
		}
		into(t, f.Invoke(t, []byte(`{"name":"Other","email":"`+email+`"}`)), &answer)
		if answer.Known != known {
			t.Errorf("%s is known: %t, want %t", email, answer.Known, known)
		}
		if generated := answer.Password != ""; generated == known {
			t.Errorf("the answer for %s has a generated password: %t, want %t", email, generated, !known)
		}
	}
}

// TestProvisioner_Resource provisions a company as a custom resource of a CDK app. Its events must not contain a password.
func TestProvisioner_Resource(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	f := w.start(t, "provisioner")
	type resource struct {
		PhysicalResourceID string `json:"PhysicalResourceId"`
		Data               map[string]string
	}
	send := func(payload []byte) (r resource) {
		t.Helper()
		into(t, f.Invoke(t, payload), &r)
		return r
	}
	created := send(sample(t, "provisioner/resource-create"))
	id := created.PhysicalResourceID
	if keys := awstest.UsageKeys(t, moto.Access(t), w.plan); len(keys) > 0 {
		t.Errorf("the plan free has keys %q, want none of a company's own", keys)
	}
	for name, want := range map[string]string{"companyId": id, "email": "ada@example.com", "password": ""} {
		if got := created.Data[name]; got != want {
			t.Errorf("created: %s = %q, want %q", name, got, want)
		}
	}
	if again := send(sample(t, "provisioner/resource-create")); again.PhysicalResourceID != id {
		t.Errorf("again: %+v, want company %s", again, id)
	}
	moved := send(sample(t, "provisioner/resource-update", sampleCompany, id))
	if moved.PhysicalResourceID == id {
		t.Errorf("another address: company = %s, want another one", id)
	}
	if got, want := moved.Data["email"], "eve@example.com"; got != want {
		t.Errorf("another address: email = %q, want %q", got, want)
	}
	gone := send(sample(t, "provisioner/resource-delete", sampleCompany, id))
	if diff := cmp.Diff(resource{PhysicalResourceID: id}, gone); diff != "" {
		t.Errorf("deleted (-want +got):\n%s", diff)
	}
	if _, _, err := company.Get(t.Context(), store.For(w.main, id)); err != nil {
		t.Errorf("the company was deleted with its resource: %v", err)
	}
	r := f.Invoke(t, sample(t, "provisioner/resource-create", `"Name"`, `"Password": "`+samplePass+`", "Name"`))
	if !r.Failed {
		t.Errorf("with a password: answer = %s, want an error", r.Body)
	}
	if want := "admin user password"; !strings.Contains(r.Error, want) {
		t.Errorf("with a password: error %q, want one with %q", r.Error, want)
	}
	if strings.Contains(r.Error+f.Log(), samplePass) {
		t.Error("the error or the log contains the password")
	}
}
