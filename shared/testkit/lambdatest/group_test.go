package lambdatest_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"orgops/shared/domain/company"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/awstest"
	"orgops/shared/testkit/lambdatest"
)

const (
	sampleCompany = "0197c1d2-3e4f-7a5b-8c6d-7e8f90a1b2c3"
	samplePass    = "a long enough password"
)

// provisioned makes a company with the founder of the samples.
func provisioned(t *testing.T, w *world) (company string) {
	t.Helper()
	var answer struct{ CompanyID, UserID, Email, Password, Warning string }
	into(t, w.start(t, "provisioner").Invoke(t,
		sample(t, "provisioner/company", `"ada@example.com"`, `"ada@example.com", "password": "`+samplePass+`"`)), &answer)
	if answer.CompanyID == "" || answer.UserID == "" || answer.Email != "ada@example.com" || answer.Password != "" || answer.Warning != "" {
		t.Fatalf("%+v", answer)
	}
	if keys := awstest.UsageKeys(t, moto.Access(t), w.plan); !slices.Contains(keys, "company-"+answer.CompanyID) {
		t.Errorf("the usage plan has keys %q, want company-%s", keys, answer.CompanyID)
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
	if err := json.Unmarshal([]byte(resp.Body), &body); err != nil || resp.StatusCode != 200 || body.Token == "" {
		t.Fatalf("login: %d %s", resp.StatusCode, resp.Body)
	}
	if got := resp.MultiValueHeaders["Cache-Control"]; !slices.Equal(got, []string{"no-store"}) {
		t.Errorf("login: Cache-Control %q", got)
	}
	return body.Token
}

// TestGroups starts with an empty table, provisions a company and checks the answers of every route group. Each function
// runs in its own process.
func TestGroups(t *testing.T) {
	t.Parallel()
	w := newWorld(t, secretText(t))
	company := provisioned(t, w)
	auth := w.start(t, "auth")
	bearer := loggedIn(t, auth)
	path := "/companies/" + company
	groups := map[string]*lambdatest.Function{"auth": auth}
	for _, name := range []string{"missioncontrol", "intelligence", "integrations", "memory", "inbound"} {
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
		{"health", "missioncontrol", sample(t, "missioncontrol/health", "${token}", bearer, sampleCompany, company), 200, "contextVersion"},
		{"another company's", "missioncontrol", sample(t, "missioncontrol/health", "${token}", bearer), 403, "forbidden"},
		{"without a token", "missioncontrol", request(t, "GET", path+"/mission-control/health", "", ""), 401, "unauthenticated"},
		{"with an invalid token", "missioncontrol", request(t, "GET", path+"/mission-control/health", "a.b.c", ""), 401, "unauthenticated"},
		{"the context", "intelligence", request(t, "GET", path+"/intelligence/context", bearer, ""), 200, "contextVersion"},
		{"integrations", "integrations", sample(t, "integrations/list", "${token}", bearer, sampleCompany, company), 200, `"items"`},
		{"an unknown provider", "integrations", request(t, "POST", path+"/integrations/nothing", bearer, `{}`), 404, "there is no such provider"},
		{"memories", "memory", request(t, "GET", path+"/memory", bearer, ""), 200, `{"items":[]}`},
		{"syncs", "memory", request(t, "GET", path+"/memory/syncs", bearer, ""), 200, `"items"`},
		{"a webhook without a signature", "inbound", request(t, "POST", "/inbound/"+company+"/webhook", "", `{}`), 401, "unauthenticated"},
		{"a broken escape", "missioncontrol", request(t, "GET", "/companies/%zz/mission-control/health", bearer, ""), 400, "malformed"},
		{"no path", "missioncontrol", request(t, "GET", "", bearer, ""), 404, "not-found"},
		{"another group's path", "missioncontrol", request(t, "POST", "/auth/login", "", "{}"), 404, "not-found"},
		{"an unsupported method", "auth", request(t, "DELETE", "/auth/login", "", ""), 405, "method-not-allowed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			resp := ask(t, groups[tt.group], tt.payload)
			if resp.StatusCode != tt.status || !strings.Contains(resp.Body, tt.holds) {
				t.Errorf("%d %s, want %d and %s", resp.StatusCode, resp.Body, tt.status, tt.holds)
			}
			if len(resp.MultiValueHeaders["X-Request-Id"]) != 1 {
				t.Errorf("headers %v", resp.MultiValueHeaders)
			}
		})
	}
	for name, f := range groups {
		if strings.Contains(f.Log(), bearer) || strings.Contains(f.Log(), samplePass) {
			t.Errorf("the log of %s contains a secret", name)
		}
	}
}

// TestGroups_NotReady checks that a function without its secret or table answers 503, and works once the secret is there.
func TestGroups_NotReady(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	f := w.start(t, "missioncontrol")
	payload := request(t, "GET", "/companies/c/mission-control/health", "", "")
	unavailable := func(f *lambdatest.Function, when string) {
		t.Helper()
		if resp := ask(t, f, payload); resp.StatusCode != 503 || !strings.Contains(resp.Body, "/problems/unavailable") {
			t.Errorf("%s: %d %s", when, resp.StatusCode, resp.Body)
		}
	}
	unavailable(f, "without a secret")
	w.setKeys(t, `{"cursor": "a text of some length"}`)
	unavailable(f, "without keys in the secret")
	unavailable(w.start(t, "missioncontrol", "ORGOPS_TABLE="), "without a table's name")
	w.setKeys(t, secretText(t))
	if resp := ask(t, f, payload); resp.StatusCode != 401 {
		t.Errorf("with keys: %d %s", resp.StatusCode, resp.Body)
	}
}

func TestProvisioner_Refuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	provisioned(t, w)
	f := w.start(t, "provisioner")
	tests := []struct{ payload, holds string }{
		{`{"name":"Another","email":"ada@example.com"}`, "login already"},
		{`{"name":"","email":"nobody"}`, "email"},
		{`{"name":"Example","email":"eve@example.com","plan":"golden"}`, `no plan "golden"`},
		{`[]`, ""},
	}
	for _, tt := range tests {
		if r := f.Invoke(t, []byte(tt.payload)); !r.Failed || !strings.Contains(r.Error, tt.holds) {
			t.Errorf("%s: %+v", tt.payload, r)
		}
	}
	var answer struct{ Password string }
	into(t, f.Invoke(t, []byte(`{"name":"Other","email":"eve@example.com"}`)), &answer)
	if answer.Password == "" {
		t.Error("the answer lacks the generated password")
	}
}

// TestProvisioner_Resource provisions a company as a custom resource of a CDK app. Its events must not contain a password.
func TestProvisioner_Resource(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "")
	f := w.start(t, "provisioner")
	send := func(payload []byte) (resource struct {
		PhysicalResourceID string `json:"PhysicalResourceId"`
		Data               map[string]string
	}) {
		t.Helper()
		into(t, f.Invoke(t, payload), &resource)
		return resource
	}
	created := send(sample(t, "provisioner/resource-create"))
	id := created.PhysicalResourceID
	if keys := awstest.UsageKeys(t, moto.Access(t), w.plan); !slices.Contains(keys, "company-"+id) ||
		created.Data["companyId"] != id || created.Data["email"] != "ada@example.com" || created.Data["password"] != "" {
		t.Errorf("%+v; usage keys %q", created, keys)
	}
	if again := send(sample(t, "provisioner/resource-create")); again.PhysicalResourceID != id {
		t.Errorf("again: %+v, want company %s", again, id)
	}
	moved := send(sample(t, "provisioner/resource-update", sampleCompany, id))
	if moved.PhysicalResourceID == id || moved.Data["email"] != "eve@example.com" {
		t.Errorf("another address: %+v", moved)
	}
	if gone := send(sample(t, "provisioner/resource-delete", sampleCompany, id)); gone.PhysicalResourceID != id || gone.Data != nil {
		t.Errorf("deleted: %+v", gone)
	}
	if _, _, err := company.Get(t.Context(), store.For(w.main, id)); err != nil {
		t.Errorf("the company was deleted with its resource: %v", err)
	}
	if r := f.Invoke(t, sample(t, "provisioner/resource-create", `"Name"`, `"Password": "`+samplePass+`", "Name"`)); !r.Failed ||
		!strings.Contains(r.Error, "admin user password") || strings.Contains(r.Error+f.Log(), samplePass) {
		t.Errorf("a password: %+v", r)
	}
}
