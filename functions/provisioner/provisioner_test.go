package provisioner_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"orgops/functions/provisioner"
	"orgops/shared/domain/company"
	"orgops/shared/identity/password"
	"orgops/shared/identity/usagekey"
	"orgops/shared/identity/usagekey/gatewaykeys"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/awstest"
	"orgops/shared/testkit/webtest"
)

var moto = awstest.Moto()

func TestMain(m *testing.M) { os.Exit(awstest.Run(m, moto)) }

type world struct {
	*provisioner.Provisioner
	t     *testing.T
	proxy *awstest.Proxy
	free  string // the id of a usage plan
}

func newWorld(t *testing.T) *world {
	t.Helper()
	proxy := moto.Through(t)
	free := awstest.UsagePlan(t, proxy.Access(), "free")
	return &world{t: t, proxy: proxy, free: free, Provisioner: &provisioner.Provisioner{
		Store: webtest.New(t).Store, Hasher: password.New(), Logger: slog.New(slog.DiscardHandler), Now: time.Now,
		Plans: gatewaykeys.Open(proxy.Access(), map[string]string{"free": free}),
	}}
}

// invoke sends an event as JSON and returns the function's answer, decoded from JSON.
func (w *world) invoke(event string) (map[string]any, error) {
	w.t.Helper()
	var e provisioner.Event
	if err := json.Unmarshal([]byte(event), &e); err != nil {
		w.t.Fatal(err)
	}
	answer, err := w.Invoke(w.t.Context(), e)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(answer)
	if err != nil {
		w.t.Fatal(err)
	}
	fields := map[string]any{}
	if err := json.Unmarshal(text, &fields); err != nil {
		w.t.Fatal(err)
	}
	return fields, nil
}

func (w *world) must(event string) map[string]any {
	w.t.Helper()
	fields, err := w.invoke(event)
	if err != nil {
		w.t.Fatal(err)
	}
	return fields
}

// companies counts the companies with this name.
func (w *world) companies(name string) int {
	w.t.Helper()
	n := 0
	for item, err := range company.Registered(w.t.Context(), w.Store) {
		if err != nil {
			w.t.Fatal(err)
		}
		if strings.Contains(string(item.Body), name) {
			n++
		}
	}
	return n
}

func (w *world) hasKey(companyID string) bool {
	w.t.Helper()
	return slices.Contains(awstest.UsageKeys(w.t, moto.Access(w.t), w.free), usagekey.Of(companyID))
}

const ada = `{"name":"Ada's","email":"ada@ada.test"}`

// TestRepeated repeats a request, as an operator who saw no answer does. There is one company, with its usage key.
func TestRepeated(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.must(ada)
	id := first["companyId"].(string)
	if first["password"] == nil || first["warning"] != nil || !w.hasKey(id) {
		t.Errorf("%v", first)
	}
	second := w.must(ada)
	if second["companyId"] != id || second["userId"] != first["userId"] || second["email"] != "ada@ada.test" || second["password"] != nil ||
		!strings.Contains(second["warning"].(string), "already exists") {
		t.Errorf("%v", second)
	}
	if n := w.companies("Ada's"); n != 1 {
		t.Errorf("%d companies, want 1", n)
	}
	for _, other := range []string{`{"name":"Other","email":"ada@ada.test"}`, `{"name":"Ada's","email":"ADA@ada.test","plan":"pro"}`} {
		if _, err := w.invoke(other); err == nil {
			t.Errorf("%s: no error", other)
		}
	}
	c, u, err := company.ByEmail(t.Context(), w.Store, "ada@ada.test")
	if err != nil || c.ID != id || u.ID != first["userId"] {
		t.Error(c, u, err)
	}
	if _, _, err := company.AddUser(t.Context(), w.Store, w.Hasher, id, company.NewUser{Email: "member@ada.test", Role: "member"}, time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.invoke(`{"name":"Ada's","email":"member@ada.test"}`); err == nil {
		t.Error("a member's address passes for the founder's")
	}
}

// TestPartial checks that the answer shows the company and its password when a gateway call fails or its answer is lost,
// and that the same request completes the company.
func TestPartial(t *testing.T) {
	t.Parallel()
	refused := func(operation string) awstest.Step {
		return awstest.Step{Operation: operation, Status: http.StatusBadRequest, Body: `{"__type":"BadRequestException","message":"no"}`}
	}
	w := newWorld(t)
	keys := "POST /usageplans/" + w.free + "/keys"
	tests := []struct {
		name string
		step awstest.Step
		warn bool
	}{
		{"no key", refused("POST /apikeys"), true},
		{"a key without a plan", refused(keys), true},
		{"a key whose answer was lost", awstest.Step{Operation: "POST /apikeys", Lost: true}, false},
		{"an enrolment whose answer was lost", awstest.Step{Operation: keys, Lost: true}, false},
	}
	for i, tt := range tests {
		request := strings.ReplaceAll(ada, "ada@", string(rune('a'+i))+"@")
		w.proxy.Play(tt.step)
		first := w.must(request)
		id := first["companyId"].(string)
		if (first["warning"] != nil) != tt.warn || first["password"] == nil || w.hasKey(id) == tt.warn {
			t.Errorf("%s: %v", tt.name, first)
		}
		again := w.must(request)
		if again["companyId"] != id || !w.hasKey(id) || strings.Contains(again["warning"].(string), "refuses") {
			t.Errorf("%s, again: %v", tt.name, again)
		}
	}
}

// TestInAnotherPlan tells a key in this plan from a key in another plan, although the gateway answers both with the same
// conflict.
func TestInAnotherPlan(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	conflict := awstest.Step{
		Operation: "POST /usageplans/" + w.free + "/keys", Status: http.StatusConflict, Body: `{"__type":"ConflictException","message":"there"}`,
	}
	w.must(ada)
	w.proxy.Play(conflict)
	if again := w.must(ada); strings.Contains(again["warning"].(string), "refuses") {
		t.Errorf("in this plan: %v", again)
	}
	w.proxy.Play(conflict)
	if other := w.must(strings.ReplaceAll(ada, "ada@", "eve@")); other["warning"] == nil {
		t.Errorf("in another plan: %v", other)
	}
}

// TestRefused checks that a refused request creates neither a company nor a key at the gateway.
func TestRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, tt := range []struct{ event, holds string }{
		{`{}`, "email"},
		{`{"name":"Ada's","email":"nobody"}`, "email"},
		{`{"name":"Ada's","email":"ada@ada.test","password":"short"}`, "password"},
		{`{"name":"Ada's","email":"ada@ada.test","plan":"golden"}`, `no plan "golden"`},
		{`{"RequestType":"Replace","name":"Ada's","email":"ada@ada.test"}`, "RequestType"},
		{`{"RequestType":"Create","ResourceProperties":{"Name":"Ada's","Email":"ada@ada.test","Password":["a long enough password"]}}`, "ResourceProperties"},
		{`{"RequestType":"Create","ResourceProperties":{"Name":"Ada's","Email":"ada@ada.test","Password":"a long enough password"}}`, "orgops admin user password"},
		{`{"RequestType":"Create","ResourceProperties":{"Name":"Ada's"}}`, "email"},
	} {
		_, err := w.invoke(tt.event)
		if err == nil || !strings.Contains(err.Error(), tt.holds) || strings.Contains(err.Error(), "a long enough") || strings.Contains(err.Error(), "short\"") {
			t.Errorf("%s: %v", tt.event, err)
		}
	}
	if n := w.companies("Ada's"); n != 0 || w.proxy.Calls("POST /apikeys") != 0 {
		t.Errorf("%d companies, %d keys were made", n, w.proxy.Calls("POST /apikeys"))
	}
}

// TestResource goes through the events of a custom resource, as the CDK's provider framework sends them.
func TestResource(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	event := func(kind, id, name, email string) string {
		text, err := json.Marshal(map[string]any{
			"RequestType": kind, "PhysicalResourceId": id, "LogicalResourceId": "FirstCompany", "ResourceType": "Custom::Company",
			"RequestId": "5b0c7a52-2f5e-4c53-9f0e-1d6a3b7c8e90", "StackId": "arn:aws:cloudformation:eu-central-1:111122223333:stack/Orgops/x",
			"ResourceProperties": map[string]string{
				"ServiceToken": "arn:aws:lambda:eu-central-1:111122223333:function:f", "Name": name, "Email": email,
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	created := w.must(event("Create", "", "Ada's", "ada@ada.test"))
	id := created["PhysicalResourceId"].(string)
	data := created["Data"].(map[string]any)
	if data["companyId"] != id || data["email"] != "ada@ada.test" || data["password"] != nil || len(created) != 2 || !w.hasKey(id) ||
		!strings.Contains(data["warning"].(string), "orgops admin user password") {
		t.Errorf("%v", created)
	}
	for _, kind := range []string{"Create", "Update"} { // CloudFormation may retry
		if again := w.must(event(kind, id, "Ada's", "ada@ada.test")); again["PhysicalResourceId"] != id {
			t.Errorf("%s again: %v", kind, again)
		}
	}
	if _, err := w.invoke(event("Update", id, "Ada's New Name", "ada@ada.test")); err == nil || !strings.Contains(err.Error(), "keeps the name") {
		t.Errorf("a new name: %v", err)
	}
	if moved := w.must(event("Update", id, "Ada's", "eve@ada.test")); moved["PhysicalResourceId"] == id {
		t.Error("another address finds the same company")
	}
	if gone := w.must(event("Delete", id, "Ada's", "ada@ada.test")); gone["PhysicalResourceId"] != id || gone["Data"] != nil {
		t.Errorf("%v", gone)
	}
	if _, _, err := company.Get(t.Context(), store.For(w.Store, id)); err != nil {
		t.Errorf("the company was deleted with its stack: %v", err)
	}
}
