package operations_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/executive"
	"orgops/shared/domain/policy"
	"orgops/shared/provider/policyengine/policycheck"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
)

const (
	closing = `@approval("agree") forbid (principal, action == Action::"goal.update", resource) when { resource.state == "closed" } unless { context.approval == context.digest };`
	frozen  = `@reason("frozen") forbid (principal, action, resource);`
)

func enforced(id, text string) map[string]any {
	return map[string]any{"id": id, "mode": "enforce", "text": text}
}

func set(all ...map[string]any) map[string]any {
	if all == nil {
		all = []map[string]any{}
	}
	return map[string]any{"policies": all}
}

// stored decodes the policies as a client sees them.
type stored struct {
	Policies, Defaults []policy.Statement
	Digest             string
	Version            int
	UpdatedBy          string
	Problems           []struct{ Pointer, Detail string }
}

func TestPolicies(t *testing.T) {
	t.Parallel()
	h := setup(t)
	get := func() (*webtest.Response, stored) {
		var s stored
		answer := h.Do("GET", path(h, "/policies"), h.A.Token, nil).Want(200)
		answer.JSON(&s)
		return answer, s
	}
	before, none := get()
	if none.Version != 0 {
		t.Errorf("version = %d before any policies, want 0", none.Version)
	}
	if len(none.Defaults) < 3 {
		t.Errorf("%d policies of the service, want at least 3", len(none.Defaults))
	}
	h.Do("PUT", path(h, "/policies"), h.A.Token, set(enforced("closing", closing)), "If-Match", before.Header.Get("ETag")).Want(200)
	after, one := get()
	want := []policy.Statement{{ID: "closing", Mode: policy.Enforce, Text: closing}}
	if diff := cmp.Diff(want, one.Policies); diff != "" {
		t.Errorf("policies differ (-want +got):\n%s", diff)
	}
	if one.UpdatedBy != h.A.UserID {
		t.Errorf("updatedBy = %q, want %q", one.UpdatedBy, h.A.UserID)
	}
	if one.Digest == none.Digest {
		t.Error("the digest did not change")
	}
	tag := after.Header.Get("ETag")
	h.Do("GET", path(h, "/policies"), h.A.Token, nil, "If-None-Match", tag).Want(304)
	h.Do("PUT", path(h, "/policies"), h.A.Token, set()).WantProblem(428, "precondition-required")
	h.Do("PUT", path(h, "/policies"), h.A.Token, set(), "If-Match", before.Header.Get("ETag")).WantProblem(412, "stale")
	h.Do("PUT", path(h, "/policies"), h.A.Token, set(), "If-None-Match", "*").WantProblem(412, "already-exists")
	var replaced stored
	h.Do("PUT", path(h, "/policies"), h.A.Token, set(), "If-Match", tag).Want(200).JSON(&replaced)
	if got, want := fmt.Sprintf("%d %d %s", replaced.Version, len(replaced.Policies), replaced.Digest), "2 0 "+none.Digest; got != want {
		t.Errorf("version, policies and digest = %s, want %s", got, want)
	}
	var other stored
	h.Do("GET", "/companies/"+h.B.ID+"/operations/policies", h.B.Token, nil).Want(200).JSON(&other)
	if other.Version != 0 {
		t.Errorf("another company's version = %d, want 0", other.Version)
	}
}

// A refused set names each policy and says what would be right. Nothing of it is stored.
func TestPolicies_Refused(t *testing.T) {
	t.Parallel()
	h := setup(t)
	const head, tail = `forbid (principal, action, resource) when { resource.title == "`, `" };`
	long := head + strings.Repeat("<", policy.MaxText-len(head)-len(tail)) + tail
	var many, escaped []map[string]any
	for n := range 101 {
		many = append(many, enforced(fmt.Sprint("p-", n), frozen))
	}
	for n := range 8 {
		escaped = append(escaped, enforced(fmt.Sprint("p-", n), long))
	}
	tests := []struct {
		name, pointer, detail string
		body                  map[string]any
	}{
		{"not Cedar", "/policies/1/text", "line 1", set(enforced("a", frozen), enforced("b", "permit (principal"))},
		{"an unknown fact", "/policies/0/text", "title", set(enforced("a", "forbid (principal, action, resource) when { resource.colour == \"red\" };"))},
		{"an approval of a permit", "/policies/0/text", "forbid", set(enforced("a", "@approval permit (principal, action, resource);"))},
		{"a host in another form", "/policies/0/text", `write Host::"api.github.com"`, set(enforced("a", `forbid (principal, action, resource == Host::"API.GitHub.com");`))},
		{"an id twice", "/policies/1/id", "another", set(enforced("a", frozen), enforced("a", frozen))},
		{"an id of the service", "/policies/0/id", "another", set(enforced("principal-enabled", frozen))},
		{"an id with spaces", "/policies/0/id", "", set(enforced("a b", frozen))},
		{"an unknown mode", "/policies/0/mode", "", set(map[string]any{"id": "a", "mode": "on", "text": frozen})},
		{"too many", "/policies", "100", set(many...)},
		{"too long as JSON", "/policies", "JSON", set(escaped...)},
	}
	for _, tt := range tests {
		var p struct {
			Errors []struct{ Pointer, Detail string }
		}
		answer := h.Do("PUT", path(h, "/policies"), h.A.Token, tt.body)
		answer.WantProblem(422, "invalid")
		answer.JSON(&p)
		if got := p.Errors[0].Pointer; got != tt.pointer {
			t.Errorf("%s: pointer = %s, want %s", tt.name, got, tt.pointer)
		}
		if got := p.Errors[0].Detail; !strings.Contains(got, tt.detail) {
			t.Errorf("%s: detail = %q, want one with %q", tt.name, got, tt.detail)
		}
	}
	c := store.For(h.Store, h.A.ID)
	_, version, err := policy.Load(t.Context(), c)
	errtest.Must(t, err)
	if version != 0 {
		t.Errorf("version = %d, want 0: nothing stored", version)
	}
}

// TestPolicies_Outdated shows what is wrong with policies that an older release stored. Those that still compile go on; without
// that, nothing is permitted. A PUT replaces both.
func TestPolicies_Outdated(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text, pointer, detail string
		compiles                    bool
	}{
		{"an unknown fact", `forbid (principal, action, resource is Goal) when { resource.colour == "red" };`, "/policies/1/text", "colour", true},
		{"a host in another form", `forbid (principal, action, resource == Host::"A.example");`, "/policies/1/text", `write Host::"a.example"`, true},
		{"not Cedar", "permit (principal", "/policies/1/text", "line 1", false},
		{"the id of a policy of the service", "", "/policies/1/id", "another", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			d.store(policy.Statement{ID: "sound", Mode: policy.LogOnly, Text: frozen})
			sound := d.Do("GET", path(d.Harness, "/policies"), d.A.Token, nil).Want(200).Header.Get("ETag")
			old := policy.Statement{ID: "old", Mode: policy.Enforce, Text: tt.text}
			if tt.text == "" {
				old.ID, old.Text = "principal-enabled", frozen
			}
			d.store(policy.Statement{ID: "sound", Mode: policy.LogOnly, Text: frozen}, old)

			answer := d.Do("GET", path(d.Harness, "/policies"), d.A.Token, nil).Want(200)
			var got stored
			answer.JSON(&got)
			if len(got.Problems) != 1 {
				t.Fatalf("problems = %+v, want one", got.Problems)
			}
			if got := got.Problems[0].Pointer; got != tt.pointer {
				t.Errorf("pointer = %s, want %s", got, tt.pointer)
			}
			if got := got.Problems[0].Detail; !strings.Contains(got, tt.detail) {
				t.Errorf("detail = %q, want one with %q", got, tt.detail)
			}
			tag := answer.Header.Get("ETag")
			d.Do("GET", path(d.Harness, "/policies"), d.A.Token, nil, "If-None-Match", tag).Want(304)
			if strings.Count(tag, ".") != 2 {
				t.Errorf("ETag = %s, want one with a part for the problems", tag)
			}
			if strings.Count(sound, ".") != 1 {
				t.Errorf("ETag = %s without problems, want none with a part for them", sound)
			}
			tried := d.Do("POST", path(d.Harness, "/policies/test"), d.A.Token, trial("memory.upsert", "memory", nil))
			if tt.compiles {
				tried.Want(200)
			} else {
				tried.WantProblem(422, "invalid")
			}
			d.Do("PUT", path(d.Harness, "/policies"), d.A.Token, set(), "If-Match", tag).Want(200)
		})
	}
}

func trial(action, kind string, more map[string]any) map[string]any {
	body := map[string]any{
		"principal": map[string]any{"type": "integration", "id": "github"}, "action": action,
		"resource": map[string]any{"type": kind, "title": "Ship", "state": "closed", "percent": 40},
	}
	for name, value := range more {
		body[name] = value
	}
	return body
}

// disables asks whether the service may disable an endpoint.
func disables(reason string, policies []any) map[string]any {
	return map[string]any{
		"principal": map[string]any{"type": "service", "id": "orgops"}, "action": "endpoint.disable", "policies": policies,
		"resource": map[string]any{"type": "integration", "id": "webhook", "reason": reason},
	}
}

// A trial decides as the engine would, with the stored policies or those of the request, and changes nothing.
func TestPolicies_Test(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.govern(enforced("closing", closing))
	assume := func(context map[string]any) map[string]any { return map[string]any{"context": context} }
	tests := []struct {
		name string
		body map[string]any
		want string
	}{
		{"the stored policies", trial("goal.update", "goal", nil), "needs-approval closing"},
		{"with an approval", trial("goal.update", "goal", assume(map[string]any{"approved": true})), "permitted permit-connector-actions"},
		{"without the permission", trial("goal.update", "goal", assume(map[string]any{"permissions": []string{}})), "denied closing action-within-permissions"},
		{"disabled", trial("memory.upsert", "memory", assume(map[string]any{"enabled": false})), "denied principal-enabled"},
		{"other policies", trial("memory.upsert", "memory", map[string]any{"policies": []any{enforced("frozen", frozen)}}), "denied frozen"},
		{"no policies", trial("goal.update", "goal", map[string]any{"policies": []any{}}), "permitted permit-connector-actions"},
		{"a note", trial("timeline.note", "timeline", nil), "permitted permit-connector-actions"},
		{"a host with a dot at its end", trial("sync.fetch", "host", map[string]any{
			"resource": map[string]any{"type": "host", "id": "API.GitHub.com."}, "context": map[string]any{"permissions": []string{"sync.pull"}},
			"policies": []any{enforced("blocked", `forbid (principal, action, resource == Host::"api.github.com");`)},
		}), "denied blocked"},
		{"a host in another form", trial("sync.fetch", "host", map[string]any{
			"resource": map[string]any{"type": "host", "id": "API.GitHub.com."}, "context": map[string]any{"permissions": []string{"sync.pull"}},
			"policies": []any{enforced("blocked", `forbid (principal, action, resource == Host::"api.github.com");`)},
		}), "denied blocked"},
		{"an endpoint that fails", disables("failing", nil), "permitted permit-service-actions"},
		{"an endpoint that a policy keeps", disables("gone", []any{enforced("kept", `forbid (principal, action == Action::"endpoint.disable", resource);`)}), "denied kept"},
		{"an integration that is not configured", trial("memory.upsert", "memory", map[string]any{
			"principal": map[string]any{"type": "integration", "id": "feed"}}), "denied action-within-permissions principal-enabled"},
	}
	for _, tt := range tests {
		var got policy.Decision
		d.Do("POST", path(d.Harness, "/policies/test"), d.A.Token, tt.body).Want(200).JSON(&got)
		line := string(got.Verdict)
		for _, id := range strings.Fields(tt.want)[1:] {
			for _, decided := range got.Policies {
				if decided == id {
					line += " " + id
				}
			}
		}
		if line != tt.want {
			t.Errorf("%s: decision %+v, want %s", tt.name, got, tt.want)
		}
		if !got.DryRun {
			t.Errorf("%s: the decision is no dry run", tt.name)
		}
	}
	d.Do("POST", path(d.Harness, "/policies/test"), d.A.Token, trial("goal.update", "memory", nil)).WantProblem(422, "invalid")
	d.Do("POST", path(d.Harness, "/policies/test"), d.A.Token, trial("memory.destroy", "memory", nil)).WantProblem(422, "invalid")
	d.Do("POST", path(d.Harness, "/policies/test"), d.A.Token, trial("endpoint.disable", "integration", nil)).WantProblem(422, "invalid")
	d.Do("POST", path(d.Harness, "/policies/test"), d.A.Token, trial("goal.update", "goal", map[string]any{
		"policies": []any{enforced("a", "permit")}})).WantProblem(422, "invalid")
	d.Do("POST", path(d.Harness, "/policies/test"), d.A.Token, trial("sync.fetch", "host", map[string]any{
		"resource": map[string]any{"type": "host", "id": "a\u0378.example"}})).WantProblem(422, "invalid")
	d.wantItems(policy.Prefix, 0)
}

// TestPolicies_Test_Actions tries every action of the schema, with each type of principal that may ask for it: a policy about the
// action and its resource decides, and without the policy the action is permitted.
func TestPolicies_Test_Actions(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	types := map[string]string{
		"Integration": "integration", "Executive": "executive", "Service": "service", "Memory": "memory", "Goal": "goal", "Note": "timeline",
		"Provider": "integration", "Recommendation": "recommendation", "Host": "host", "Endpoint": "integration", "Removal": "removal",
		"User": "user", "Policies": "policies",
	}
	ports := map[string]string{"memory.delete": "memory.upsert", "goal.delete": "goal.update", "sync.fetch": "sync.pull", "sync.remove": "sync.pull"}
	actions := regexp.MustCompile(`action "([a-z.]+)" .*principal: \[?([A-Za-z, ]+)\]?, resource: ([A-Za-z]+)`).FindAllStringSubmatch(policycheck.Schema, -1)
	if got, want := len(actions), strings.Count(policycheck.Schema, "appliesTo"); got != want {
		t.Fatalf("%d actions of the schema were read, want %d", got, want)
	}
	for _, a := range actions {
		action, resource := a[1], a[3]
		permission := action
		if port, ok := ports[action]; ok {
			permission = port
		}
		facts := map[string]any{"permissions": []string{permission}, "enabled": true, "certified": true}
		for _, principal := range strings.Split(a[2], ", ") {
			body := map[string]any{
				"principal": map[string]any{"type": types[principal], "id": "orgops"}, "action": action, "context": facts,
				"resource": map[string]any{"type": types[resource], "id": "that.example", "title": "that.example"},
			}
			var got policy.Decision
			d.Do("POST", path(d.Harness, "/policies/test"), d.A.Token, body).Want(200).JSON(&got)
			want := policy.Permitted
			if action == policy.SyncRemove {
				want = policy.Denied // no policy is about it, so a user decides
			}
			if got.Verdict != want {
				t.Errorf("%s of %s: decision %+v, want it %s", action, principal, got, want)
			}
			if action == policy.PoliciesReplace {
				continue // a forbid without @approval does not count
			}
			text := fmt.Sprintf(`forbid (principal is %s, action == Action::%q, resource is %s) when { context.port == %q };`, principal, action, resource, permission)
			body["policies"] = []any{enforced("own", text)}
			d.Do("POST", path(d.Harness, "/policies/test"), d.A.Token, body).Want(200).JSON(&got)
			if want := []string{"own"}; !slices.Equal(got.Policies, want) {
				t.Errorf("%s of %s: policies %v decided, want %v", action, principal, got.Policies, want)
			}
		}
	}
}

// A trial of an executive's action uses the stored executive, and policies read what the action is about.
func TestPolicies_Test_Executive(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	e := executive.Executive{ID: executive.IDOf("clerk"), Draft: executive.Draft{
		Name: "clerk", Role: "assistant", Owner: d.A.UserID, Actions: []executive.Action{executive.GoalNote, executive.RecommendationClaim},
	}}
	errtest.Must(t, d.c.Commit(t.Context(), d.c.Create(executive.Key(e.ID), executive.Entity, e)))
	ask := func(action string, resource map[string]any, text string) map[string]any {
		return map[string]any{
			"principal": map[string]any{"type": "executive", "id": e.ID}, "action": action, "resource": resource, "policies": []any{enforced("own", text)},
		}
	}
	goal := map[string]any{"type": "goal", "id": "g", "provider": "github", "title": "Ship", "state": "open"}
	advice := map[string]any{"type": "recommendation", "id": "r", "kind": "connect-source", "priority": "P1", "title": "Connect"}
	tests := []struct {
		name string
		body map[string]any
		want string
	}{
		{"declared", ask("goal.note", goal, `forbid (principal, action, resource is Goal) when { resource.provider == "linear" };`), "permitted permit-executive-actions"},
		{"a goal of a provider", ask("goal.note", goal, `forbid (principal, action, resource is Goal) when { resource.provider == "github" };`), "denied own"},
		{"a role", ask("goal.note", goal, `forbid (principal is Executive, action, resource) when { principal.role == "assistant" };`), "denied own"},
		{"a recommendation", ask("recommendation.claim", advice,
			`forbid (principal, action, resource is Recommendation) when { resource.rule == "connect-source" && resource.priority == "P1" };`), "denied own"},
		{"not declared", ask("memory.sync", map[string]any{"type": "integration", "id": "github"},
			`forbid (principal, action, resource is Provider) when { resource.provider == "github" };`), "denied executive-declares-action own"},
	}
	for _, tt := range tests {
		var got policy.Decision
		d.Do("POST", path(d.Harness, "/policies/test"), d.A.Token, tt.body).Want(200).JSON(&got)
		if line := strings.Join(append([]string{string(got.Verdict)}, got.Policies...), " "); line != tt.want {
			t.Errorf("%s: decision %q, want %q", tt.name, line, tt.want)
		}
	}
}
