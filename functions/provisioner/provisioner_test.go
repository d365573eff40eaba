package provisioner_test

import (
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/functions/provisioner"
	"orgops/shared/domain/company"
	"orgops/shared/identity/password"
	"orgops/shared/identity/usagekey"
	"orgops/shared/identity/usagekey/gatewaykeys"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/awstest"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
)

var moto = awstest.Moto()

func TestMain(m *testing.M) { os.Exit(awstest.Run(m, moto)) }

type world struct {
	*provisioner.Provisioner
	t     *testing.T
	proxy *awstest.Proxy
	pro   string // the id of a usage plan
}

func newWorld(t *testing.T) *world {
	t.Helper()
	proxy := moto.Through(t)
	pro := awstest.UsagePlan(t, proxy.Access(), "pro")
	return &world{t: t, proxy: proxy, pro: pro, Provisioner: &provisioner.Provisioner{
		Store: webtest.New(t).Store, Hasher: password.New(), Logger: slog.New(slog.DiscardHandler), Now: time.Now,
		Plans: gatewaykeys.Open(proxy.Access(), map[string]string{"free": "shared", "pro": pro}),
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

// wantKey checks whether a company has a usage key in the plan pro.
func (w *world) wantKey(companyID string, want bool) {
	w.t.Helper()
	got := slices.Contains(awstest.UsageKeys(w.t, moto.Access(w.t), w.pro), usagekey.Of(companyID, "pro"))
	if got != want {
		w.t.Errorf("the company has a usage key: %t, want %t", got, want)
	}
}

// deleted counts the keys that were deleted.
func (w *world) deleted() (n int) {
	for _, r := range w.proxy.Asked() {
		if strings.HasPrefix(r.Operation, "DELETE /apikeys/") {
			n++
		}
	}
	return n
}

// wantMembers compares the names of an answer's members.
func (w *world) wantMembers(answer map[string]any, want ...string) {
	w.t.Helper()
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(answer))); diff != "" {
		w.t.Errorf("members of the answer %v differ (-want +got):\n%s", answer, diff)
	}
}

const ada = `{"name":"Ada's","email":"ada@ada.test","plan":"pro"}`

// TestProvisioner_Repeated repeats a request, as an operator who saw no answer does. There is one company, with its usage
// key.
func TestProvisioner_Repeated(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.must(ada)
	id := first["companyId"].(string)
	w.wantMembers(first, "companyId", "email", "password", "userId")
	w.wantKey(id, true)
	second := w.must(ada)
	want := map[string]any{"companyId": id, "userId": first["userId"], "email": "ada@ada.test", "warning": second["warning"]}
	if diff := cmp.Diff(want, second); diff != "" {
		t.Errorf("second answer differs (-want +got):\n%s", diff)
	}
	if got := second["warning"].(string); !strings.Contains(got, "already exists") {
		t.Errorf(`warning %q, want one with "already exists"`, got)
	}
	if n := w.companies("Ada's"); n != 1 {
		t.Errorf("%d companies, want 1", n)
	}
	if _, err := w.invoke(`{"name":"Ada's","email":"ADA@ada.test","plan":"free"}`); err == nil {
		t.Error("another plan for the same company: no error, want one")
	}
	w.must(`{"name":"Other","email":"ada@ada.test"}`) // a person may have two companies
	c, u, err := company.Founded(t.Context(), w.Store, "Ada's", "ada@ada.test")
	errtest.Must(t, err)
	if got, want := [2]any{c.ID, u.ID}, [2]any{id, first["userId"]}; got != want {
		t.Errorf("stored company and user = %v, want %v", got, want)
	}
	_, _, err = company.AddUser(t.Context(), w.Store, w.Hasher, id, company.NewUser{Email: "member@ada.test", Role: "member"}, time.Now())
	errtest.Must(t, err)
	if made := w.must(`{"name":"Ada's","email":"member@ada.test"}`); made["companyId"] == id {
		t.Error("a member's address passes for the founder's, want another company")
	}
}

// TestProvisioner_Partial checks that the answer shows the company and its password when a gateway call fails or its answer
// is lost, and that the same request completes the company.
func TestProvisioner_Partial(t *testing.T) {
	t.Parallel()
	refused := func(operation string) awstest.Step {
		return awstest.Step{Operation: operation, Status: http.StatusBadRequest, Body: `{"__type":"BadRequestException","message":"no"}`}
	}
	w := newWorld(t)
	keys := "POST /usageplans/" + w.pro + "/keys"
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
		t.Run(tt.name, func(t *testing.T) {
			w := *w
			w.t = t
			request := strings.ReplaceAll(ada, "ada@", string(rune('a'+i))+"@")
			w.proxy.Play(tt.step)
			first := w.must(request)
			id := first["companyId"].(string)
			members := []string{"companyId", "email", "password", "userId"}
			if tt.warn {
				members = append(members, "warning")
			}
			w.wantMembers(first, members...)
			w.wantKey(id, !tt.warn)
			again := w.must(request)
			if got := again["companyId"]; got != id {
				t.Errorf("company after the repeat = %v, want %v", got, id)
			}
			w.wantKey(id, true)
			if got := again["warning"].(string); strings.Contains(got, "refuses") {
				t.Errorf("warning after the repeat %q, want one without the plan", got)
			}
		})
	}
}

// TestProvisioner_InAnotherPlan tells a key in this plan from a key in another plan, although the gateway answers both with
// the same conflict.
func TestProvisioner_InAnotherPlan(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	conflict := awstest.Step{
		Operation: "POST /usageplans/" + w.pro + "/keys", Status: http.StatusConflict, Body: `{"__type":"ConflictException","message":"there"}`,
	}
	w.must(ada)
	w.proxy.Play(conflict)
	if got := w.must(ada)["warning"].(string); strings.Contains(got, "refuses") {
		t.Errorf("warning for a key in this plan %q, want one without the plan", got)
	}
	w.proxy.Play(conflict)
	if other := w.must(strings.ReplaceAll(ada, "ada@", "eve@")); other["warning"] == nil {
		t.Errorf("answer for a key in another plan %v, want one with a warning", other)
	}
}

// TestProvisioner_Refused checks that a refused request creates neither a company nor a key at the gateway.
func TestProvisioner_Refused(t *testing.T) {
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
		got := errtest.Message(err)
		if !strings.Contains(got, tt.holds) {
			t.Errorf("%s: error %q, want one with %q", tt.event, got, tt.holds)
		}
		for _, password := range []string{"a long enough", `short"`} {
			if strings.Contains(got, password) {
				t.Errorf("%s: error %q, want one without the password", tt.event, got)
			}
		}
	}
	if got, want := [2]int{w.companies("Ada's"), w.proxy.Calls("POST /apikeys")}, [2]int{}; got != want {
		t.Errorf("%v companies and keys were made, want %v", got, want)
	}
}

// TestProvisioner_Resource goes through the events of a custom resource, as the CDK's provider framework sends them.
func TestProvisioner_Resource(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	event := func(kind, id, name, email string) string {
		text, err := json.Marshal(map[string]any{
			"RequestType": kind, "PhysicalResourceId": id, "LogicalResourceId": "FirstCompany", "ResourceType": "Custom::Company",
			"RequestId": "5b0c7a52-2f5e-4c53-9f0e-1d6a3b7c8e90", "StackId": "arn:aws:cloudformation:eu-central-1:111122223333:stack/Orgops/x",
			"ResourceProperties": map[string]string{
				"ServiceToken": "arn:aws:lambda:eu-central-1:111122223333:function:f", "Name": name, "Email": email, "Plan": "pro",
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
	want := map[string]any{"PhysicalResourceId": id, "Data": map[string]any{
		"companyId": id, "userId": data["userId"], "email": "ada@ada.test", "warning": data["warning"],
	}}
	if diff := cmp.Diff(want, created); diff != "" {
		t.Errorf("answer differs (-want +got):\n%s", diff)
	}
	if got, want := data["warning"].(string), "orgops admin user password"; !strings.Contains(got, want) {
		t.Errorf("warning %q, want one with %q", got, want)
	}
	w.wantKey(id, true)
	for _, kind := range []string{"Create", "Update"} { // CloudFormation may retry
		if again := w.must(event(kind, id, "Ada's", "ada@ada.test")); again["PhysicalResourceId"] != id {
			t.Errorf("%s again: resource %v, want %v", kind, again["PhysicalResourceId"], id)
		}
	}
	_, err := w.invoke(event("Update", id, "Ada's New Name", "ada@ada.test"))
	if got, want := errtest.Message(err), "keeps the name"; !strings.Contains(got, want) {
		t.Errorf("error for a new name %q, want one with %q", got, want)
	}
	if moved := w.must(event("Update", id, "Ada's", "eve@ada.test")); moved["PhysicalResourceId"] == id {
		t.Errorf("another address finds the company %s too, want another one", id)
	}
	gone := w.must(event("Delete", id, "Ada's", "ada@ada.test"))
	if diff := cmp.Diff(map[string]any{"PhysicalResourceId": id}, gone); diff != "" {
		t.Errorf("answer to Delete differs (-want +got):\n%s", diff)
	}
	if _, _, err := company.Get(t.Context(), store.For(w.Store, id)); err != nil {
		t.Errorf("the company is gone with its stack, want it kept: %v", err)
	}
}

// TestProvisioner_Administer does what the commands do. A company that moves to another plan gets its key there before any
// token names that plan, and keeps the former one for the tokens that name it.
func TestProvisioner_Administer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	pro := w.pro
	id := w.must(strings.ReplaceAll(ada, "pro", "free"))["companyId"].(string)
	w.wantKey(id, false)
	on := func(action, more string) string {
		return `{"action":"` + action + `","companyId":"` + id + `"` + more + `}`
	}
	w.must(on("suspend", `,"reason":"unpaid"`))
	if got := w.must(on("show", ""))["suspended"]; got == nil {
		t.Error("the company is not suspended, want it suspended")
	}
	if got := w.must(on("resume", ""))["suspended"]; got != nil {
		t.Errorf("suspended = %v, want it resumed", got)
	}
	w.proxy.Play(awstest.Step{
		Operation: "POST /usageplans/" + pro + "/keys", Status: http.StatusBadRequest, Body: `{"__type":"BadRequestException","message":"no"}`,
	})
	if _, err := w.invoke(on("plan", `,"plan":"pro"`)); err == nil {
		t.Error("no error without a key in the new plan, want one")
	}
	if got := w.must(on("show", ""))["plan"]; got != "free" {
		t.Errorf("plan without a key in the new one = %v, want free", got)
	}
	if got := w.must(on("plan", `,"plan":"pro"`))["plan"]; got != "pro" {
		t.Errorf("plan = %v, want pro", got)
	}
	w.wantKey(id, true)
	for _, when := range []string{"once", "again"} { // the second time there is no key any more
		errtest.Must(t, w.Plans.(*gatewaykeys.Plans).Withdraw(t.Context(), id, "pro"))
		if got := w.deleted(); got != 1 {
			t.Errorf("%s: %d keys were deleted, want 1", when, got)
		}
	}
	if got := len(w.must(`{"action":"list"}`)["companies"].([]any)); got != 3 {
		t.Errorf("%d companies, want 3: two of the store and this one", got)
	}
	for _, tt := range []struct{ event, holds string }{
		{on("erode", ""), "unknown action"},
		{`{"action":"show"}`, "companyId"},
		{`{"action":"suspend","companyId":"unknown"}`, "no such company"},
		{on("plan", `,"plan":"golden"`), "must be one of"},
	} {
		_, err := w.invoke(tt.event)
		if got := errtest.Message(err); !strings.Contains(got, tt.holds) {
			t.Errorf("%s: error %q, want one with %q", tt.event, got, tt.holds)
		}
	}
}
