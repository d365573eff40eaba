package policycheck_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/base/fault"
	"orgops/shared/domain/policy"
	"orgops/shared/provider/policyengine/policycheck"
	"orgops/shared/testkit/errtest"
)

func check(t *testing.T, texts ...string) []fault.FieldError {
	t.Helper()
	var all []policy.Statement
	for i, text := range texts {
		all = append(all, policy.Statement{ID: fmt.Sprintf("p%d", i), Mode: policy.Enforce, Text: text})
	}
	problems, err := policycheck.New().Check("/policies", all)
	errtest.Must(t, err)
	return problems
}

func TestChecker_Check_OK(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`permit (principal, action, resource);`,
		`forbid (principal == Integration::"github", action == Action::"goal.update", resource) when { resource.percent < 50 };`,
		`forbid (principal, action in Action::"connector", resource) when { resource.title like "*secret*" } unless { principal.certified };`,
		`forbid (principal, action, resource) when { resource has state && resource.state == "closed" };`,
		`@approval("agree") forbid (principal, action == Action::"goal.update", resource) unless { context.approval == context.digest };`,
		`@approval("agree") forbid (principal, action == Action::"goal.update", resource) unless { resource.percent > 3 || context.digest == context.approval };`,
		`@approval("agree") forbid (principal, action in Action::"connector", resource is Note) unless { context.approval == context.digest };`,
		`@approval("agree") forbid (principal is Executive, action, resource) unless { context.approval == context.digest };`,
		`@approval("agree") forbid (principal is Service, action, resource) unless { context.approval == context.digest };`,
		`@approval("agree") forbid (principal == Integration::"github", action in [Action::"memory.upsert", Action::"timeline.note"], resource) unless { context.approval == context.digest };`,
		`permit (principal, action, resource) when { context.approval == context.digest };`,
		`@id("a") @region("eu") @person("me") @re("x") forbid (principal, action, resource is Host);`,
		`forbid (principal, action, resource == Host::"api.github.com");`,
		`forbid (principal, action, resource in Host::"xn--bcher-kva.example");`,
		`forbid (principal, action, resource is Host) unless { [Host::"93.184.215.14", Host::"2606:4700::1111", Host::"my_host"].contains(resource) };`,
		`forbid (principal, action, resource is Host) when { resource.title like "*.example.com" || resource.title == "a.example" };`,
		`forbid (principal, action, resource is Host) when { resource.provider == "A:B" && principal.kind == "A." };`,
		`forbid (principal, action, resource) when { resource.title == "Ship. It" || resource.title like "Ü*." };`,
		`forbid (principal, action, resource == Provider::"A.");`,
		`@reason("no") @owner("me") forbid (principal, action, resource) unless { principal.permissions.contains(context.port) };`,
	} {
		if got := check(t, text); len(got) != 0 {
			t.Errorf("%s: problems = %v, want none", text, got)
		}
	}
}

// Each problem says on which line it is, and what would be right.
func TestChecker_Check_Problems(t *testing.T) {
	t.Parallel()
	const applications = `Action::"deliveries.recover": [Executive] on [Provider]; Action::"endpoint.disable": [Service] on [Endpoint]; Action::"goal.delete": [Integration] on [Goal]; ` +
		`Action::"goal.note": [Executive] on [Goal]; Action::"goal.update": [Integration] on [Goal]; ` +
		`Action::"integration.disable": [Executive] on [Provider]; Action::"memory.delete": [Integration] on [Memory]; ` +
		`Action::"memory.sync": [Executive] on [Provider]; Action::"memory.upsert": [Integration] on [Memory]; ` +
		`Action::"policies.replace": [User] on [Policies]; ` +
		`Action::"recommendation.claim": [Executive] on [Recommendation]; Action::"recommendation.dismiss": [Executive] on [Recommendation]; ` +
		`Action::"sync.fetch": [Integration] on [Host]; Action::"sync.remove": [Integration] on [Removal]; ` +
		`Action::"timeline.note": [Integration Executive] on [Note]`
	const liftable = `Action::"deliveries.recover", Action::"endpoint.disable", Action::"goal.note", Action::"goal.update", Action::"integration.disable", ` +
		`Action::"memory.sync", Action::"memory.upsert", Action::"policies.replace", Action::"recommendation.claim", Action::"recommendation.dismiss", Action::"timeline.note"`
	const compared = "hosts are compared in their ASCII form, in lower case, without a port and without a dot at the end; "
	tests := []struct {
		name, text string
		want       []string
	}{
		{"no semicolon", "permit (principal,\n  action, resource)\n", []string{"line 3, column 1: found the end of the text; write ; there"}},
		{"a missing value", "permit (principal, action, resource)\nwhen { 1 + };", []string{"line 2, column 13: invalid primary"}},
		{"an open text", `forbid (principal, action, resource) when { resource.title like "abc };`, []string{"line 1, column 65: literal not terminated"}},
		{"a template", "permit (principal == ?principal, action, resource);", []string{"line 1, column 23: expected ident"}},
		{"nothing", "", []string{"line 1: the text has 0 policies; write each policy under its own id"}},
		{"two", "permit (principal, action, resource);\npermit (principal, action, resource);", []string{"line 1: the text has 2 policies; write each policy under its own id"}},
		{"an unknown action", "permit (principal,\n  action == Action::\"memory.destroy\",\n  resource);", []string{
			"line 1: no action has such a principal and such a resource; " + applications,
			"line 2: unrecognized action `Action::\"memory.destroy\"`; the actions are Action::\"connector\", Action::\"deliveries.recover\", Action::\"endpoint.disable\", Action::\"executive\", " +
				"Action::\"goal.delete\", Action::\"goal.note\", Action::\"goal.update\", Action::\"integration.disable\", Action::\"memory.delete\", " +
				"Action::\"memory.sync\", Action::\"memory.upsert\", Action::\"policies.replace\", Action::\"recommendation.claim\", Action::\"recommendation.dismiss\", Action::\"service\", Action::\"sync.fetch\", Action::\"sync.remove\", Action::\"timeline.note\"",
		}},
		{"an unknown type", "permit (\n  principal is Robot, action, resource);", []string{
			"line 1: no action has such a principal and such a resource; " + applications,
			"line 2: unrecognized entity type `Robot`; the entity types are Endpoint, Executive, Goal, Host, Integration, Memory, Note, Policies, Provider, Recommendation, Removal, Service, User",
		}},
		{"an action of another resource", `permit (principal, action == Action::"goal.update", resource is Memory);`,
			[]string{"line 1: no action has such a principal and such a resource; " + applications}},
		{"an unknown attribute", "forbid (principal is Integration, action, resource)\nwhen {\n  principal.admin };", []string{
			"line 3: attribute `admin` on entity type `Integration` not found; it has certified, enabled, kind, permissions. " +
				"For an attribute of other types, narrow the policy by is, or test the attribute with has"}},
		{"an unknown fact", "forbid (principal, action == Action::\"goal.update\", resource)\nwhen { context.time > 3 };", []string{
			"line 2: attribute `time` in context for Action::\"goal.update\" not found; the context has approval, digest, port"}},
		{"another type", `forbid (principal, action, resource is Goal) when { resource.percent == "3" };`,
			[]string{"line 1: the types Long and String are not compatible"}},
		{"an approval on a permit", `@approval("x") permit (principal, action, resource) when { context.approval == context.digest };`, []string{
			`line 1: @approval stands on a permit, which another permit would bypass; write @approval("why a person has to agree") forbid (…) unless { context.approval == context.digest };`}},
		{"an approval of a removal", `@approval("x") forbid (principal, action == Action::"goal.delete", resource) unless { context.approval == context.digest };`,
			[]string{"line 1: @approval covers goal.delete, which no approval lifts; an approval can lift action in [" + liftable + "]"}},
		{"an approval of a fetch", `@approval("x") forbid (principal, action, resource == Host::"example.com") unless { context.approval == context.digest };`,
			[]string{"line 1: @approval covers sync.fetch, which no approval lifts; an approval can lift action in [" + liftable + "]"}},
		{"a forbid of a replacement", `@reason("frozen") forbid (principal is User, action == Action::"policies.replace", resource);`, []string{
			`line 1: a forbid of policies.replace counts only with @approval, because it could never be removed again; write ` +
				`@approval("why a person has to agree") forbid (…) unless { context.approval == context.digest };`}},
		{"a permit of a replacement", `permit (principal, action, resource is Policies);`, []string{
			"line 1: policies.replace needs no permit; a forbid with @approval puts it under approval"}},
		{"an approval of a removal among others", `@approval("x") forbid (principal, action in [Action::"memory.delete", Action::"memory.upsert"], resource) unless { context.approval == context.digest };`,
			[]string{`line 1: @approval covers memory.delete, which no approval lifts; an approval can lift action in [Action::"memory.upsert"]`}},
		{"an approval of all that is about goals", `@approval("x") forbid (principal, action, resource is Goal) unless { context.approval == context.digest };`,
			[]string{`line 1: @approval covers goal.delete, which no approval lifts; an approval can lift action in [Action::"goal.note", Action::"goal.update"]`}},
		{"an approval of all that connectors do", `@approval("x") forbid (principal, action in Action::"connector", resource) unless { context.approval == context.digest };`, []string{
			`line 1: @approval covers goal.delete, memory.delete, sync.fetch, which no approval lifts; ` +
				`an approval can lift action in [Action::"goal.update", Action::"memory.upsert", Action::"timeline.note"]`}},
		{"a forbid that asks no person", `forbid (principal, action, resource is Note) unless { context.approval == context.digest };`, []string{
			`line 1: the forbid reads context.approval without @approval, so no person is asked and it always denies; ` +
				`write @approval("why a person has to agree") forbid (…) unless { context.approval == context.digest };`}},
		{"a forbid that reads the approval inside of another condition", `forbid (principal, action, resource is Note) when { !(resource.title == "x" && context["approval"] == "") };`, []string{
			`line 1: the forbid reads context.approval without @approval, so no person is asked and it always denies; ` +
				`write @approval("why a person has to agree") forbid (…) unless { context.approval == context.digest };`}},
		{"hosts in other forms", "forbid (principal, action, resource == Host::\"API.GitHub.com\")\nwhen { resource == Host::\"a.example.\" || [Host::\"ｅvil。example\",\n" +
			"Host::\"https://a.example:8443/x\"].contains(resource) };", []string{
			`line 1: Host::"API.GitHub.com" matches no host, because ` + compared + `write Host::"api.github.com"`,
			`line 2: Host::"a.example." matches no host, because ` + compared + `write Host::"a.example"`,
			`line 2: Host::"ｅvil。example" matches no host, because hosts are compared in their ASCII form; write it in that form (xn--…)`,
			`line 3: Host::"https://a.example:8443/x" matches no host, because ` + compared + `write Host::"a.example"`}},
		{"other forms of addresses", `forbid (principal, action, resource is Host in Host::"[2606:4700:0::1111]") when { resource in Host::"::ffff:1.2.3.4" };`, []string{
			`line 1: Host::"[2606:4700:0::1111]" matches no host, because ` + compared + `write Host::"2606:4700::1111"`,
			`line 1: Host::"::ffff:1.2.3.4" matches no host, because ` + compared + `write Host::"1.2.3.4"`}},
		{"no hosts", `forbid (principal, action, resource is Host) when { [Host::"", Host::"a b", Host::"*.A.example"].contains(resource) };`, []string{
			`line 1: Host::"" is no host; write the name or the address alone, such as "api.github.com"`,
			`line 1: Host::"a b" is no host; write the name or the address alone, such as "api.github.com"`,
			`line 1: Host::"*.A.example" is no host, because only like has wildcards; write resource is Host, and when { resource.title like "*.a.example" }`}},
		{"titles of hosts in other forms", `forbid (principal, action == Action::"sync.fetch", resource)
			when { resource.title == "A.example" || "b.example." != resource.title || ["c.example:443"].contains(resource.title) };`, []string{
			`line 2: "A.example" matches no host, because ` + compared + `write "a.example"`,
			`line 2: "b.example." matches no host, because ` + compared + `write "b.example"`,
			`line 2: "c.example:443" matches no host, because ` + compared + `write "c.example"`}},
		{"patterns of hosts in other forms", `forbid (principal, action, resource is Host) when { resource.title like "*.Evil.example." || resource.title like "*ü*" };`, []string{
			`line 1: "*.Evil.example." matches no host, because hosts are compared in lower case, without a dot at the end; write "*.evil.example"`,
			`line 1: "*ü*" matches no host, because hosts are compared in their ASCII form; write the labels in that form (xn--…)`}},
		{"misspelt annotations", "@reasons(\"x\")\n@Approval(\"x\")\n@aprovel(\"x\") forbid (principal, action, resource);", []string{
			"line 2: @Approval has no meaning; write @approval, or another name",
			"line 3: @aprovel has no meaning; write @approval, or another name",
			"line 1: @reasons has no meaning; write @reason, or another name"}},
		{"an approval that cannot lift", `@approval("x") forbid (principal, action, resource) unless { context.approval == context.digest && principal.certified };`, []string{
			`line 1: @approval needs an unless that the approval meets; write @approval("why a person has to agree") forbid (…) unless { context.approval == context.digest };`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var want []fault.FieldError
			for _, detail := range tt.want {
				want = append(want, fault.FieldError{Pointer: "/policies/0/text", Detail: detail})
			}
			if diff := cmp.Diff(want, check(t, tt.text)); diff != "" {
				t.Errorf("problems differ (-want +got):\n%s", diff)
			}
		})
	}
}

func TestChecker_Check_Ids(t *testing.T) {
	t.Parallel()
	const permit = "permit (principal, action, resource);"
	problems, err := policycheck.New().Check("", []policy.Statement{
		{ID: "own", Text: permit}, {ID: "principal-enabled", Text: permit}, {ID: "own", Text: permit},
	})
	errtest.Must(t, err)
	const detail = "is the id of another policy, of this company or of the service: choose another id"
	want := []fault.FieldError{{Pointer: "/1/id", Detail: detail}, {Pointer: "/2/id", Detail: detail}}
	if diff := cmp.Diff(want, problems); diff != "" {
		t.Errorf("problems differ (-want +got):\n%s", diff)
	}
}

func TestChecker_Check_Limits(t *testing.T) {
	t.Parallel()
	const permit = "permit (principal, action, resource);"
	full := slices.Repeat([]string{permit}, policy.MaxStatements)
	if got := check(t, full...); len(got) != 0 {
		t.Errorf("the maximum number: problems = %v, want none", got)
	}
	want := []fault.FieldError{{Pointer: "/policies", Detail: "at most 100 policies; these are 101"}}
	if diff := cmp.Diff(want, check(t, append(full, permit)...)); diff != "" {
		t.Errorf("one too many: problems differ (-want +got):\n%s", diff)
	}
	long := permit + strings.Repeat(" ", policy.MaxText-len(permit))
	want = []fault.FieldError{{Pointer: "/policies", Detail: "at most 65536 bytes in the texts of all policies; these have 65573"}}
	if diff := cmp.Diff(want, check(t, long, long, long, long, long, long, long, long, permit)); diff != "" {
		t.Errorf("too much text: problems differ (-want +got):\n%s", diff)
	}
}

// A policy that nests or repeats as much as the limits allow is checked quickly.
func TestChecker_Check_Hostile(t *testing.T) {
	t.Parallel()
	nested := func(before, inner, after string) string {
		return "permit (principal, action, resource) when { " + strings.Repeat(before, 390) + inner + strings.Repeat(after, 390) + " };"
	}
	fill := func(first, more string) string {
		const head, tail = "forbid (principal, action, resource) when { ", " };"
		return head + first + strings.Repeat(more, (policy.MaxText-len(head)-len(first)-len(tail))/len(more)) + tail
	}
	for name, text := range map[string]string{
		"brackets":            nested("(", "true", ")"),
		"sets":                nested("[", "1", "]"),
		"records":             nested("{a:", "1", "}"),
		"negations":           nested("!(", "true", ")"),
		"conditions":          nested("if true then true else ", "false", ""),
		"nested conditions":   nested("if (", "true", ") then true else false"),
		"conjunctions":        fill("true", " && true"),
		"alternatives":        fill("false", " || false"),
		"sums":                fill("1", " + 1"),
		"attributes":          fill("resource", ".title"),
		"guards":              fill("resource has title", " && resource has title"),
		"alternative guards":  fill("resource has state", " || resource has percent && resource has kind"),
		"guarded conditions":  fill("false", " || (if resource has state then true else false)"),
		"conditions in order": fill("true", " && (if resource has state then resource.state == \"a\" else true)"),
	} {
		start := time.Now()
		check(t, text)
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("%s: the check took %v, want less than 5s", name, took)
		}
	}
}

// FuzzCheck gives the check any text. It must not panic, and it must accept only what the engine compiles.
func FuzzCheck(f *testing.F) {
	f.Add(`permit (principal, action, resource) when { resource has title };`)
	f.Add(`@approval forbid (principal in Integration::"a", action in [Action::"goal.update"], resource) unless { context.approval == context.digest };`)
	c := policycheck.New()
	f.Fuzz(func(t *testing.T, text string) {
		problems, err := c.Check("", []policy.Statement{{ID: "a", Text: text}})
		errtest.Must(t, err)
		for _, p := range problems {
			if !strings.HasPrefix(p.Detail, "line ") {
				t.Errorf("detail = %q, want one that begins with the line", p.Detail)
			}
		}
	})
}
