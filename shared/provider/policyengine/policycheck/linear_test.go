package policycheck_test

import (
	"strings"
	"testing"

	"orgops/shared/domain/policy"
	"orgops/shared/provider/policyengine/policycheck"
	"orgops/shared/testkit/growthtest"
)

// TestChecker_Check_Linear checks a policy that is four times as long, and four times as many, with about four times the work.
func TestChecker_Check_Linear(t *testing.T) { //nolint:paralleltest // it measures the allocations of the process
	checker := policycheck.New()
	const scope = "forbid (principal, action == Action::\"sync.fetch\", resource) when { "
	for name, text := range map[string]func(n int) string{
		"annotations":  func(n int) string { return strings.Repeat("@a(\"x\") ", n) + scope + "true };" },
		"typos":        func(n int) string { return annotated(n) + scope + "true };" },
		"alternatives": func(n int) string { return scope + strings.Repeat("false || ", n) + "true };" },
		"hosts":        func(n int) string { return scope + strings.Repeat(`resource == Host::"A" || `, n) + "true };" },
		"titles":       func(n int) string { return scope + strings.Repeat(`resource.title == "A." || `, n) + "true };" },
		"a set": func(n int) string {
			return scope + `[` + strings.Repeat(`"A", `, n) + `"b"].contains(resource.title) };`
		},
		"conditions":      func(n int) string { return scope + "true }" + strings.Repeat(" when { true }", n) + ";" },
		"unknown facts":   func(n int) string { return scope + strings.Repeat("context.unknown || ", n) + "true };" },
		"brackets":        func(n int) string { return scope + strings.Repeat("(", n) + "true" + strings.Repeat(")", n) + " };" },
		"negations":       func(n int) string { return scope + strings.Repeat("!", 3) + strings.Repeat("true && !", n) + "true };" },
		"a text":          func(n int) string { return scope + `"` + strings.Repeat("x", 30*n) + `" == "" };` },
		"policies in one": func(n int) string { return strings.Repeat("permit (principal, action, resource);", n) },
		"no policy":       func(n int) string { return strings.Repeat("(", n) },
	} {
		growthtest.Linear(t, name, 50, func(n int) {
			_, _ = checker.Check("", []policy.Statement{{ID: "a", Mode: policy.Enforce, Text: text(n)}})
		})
	}
	growthtest.Linear(t, "policies", 50, func(n int) {
		all := make([]policy.Statement, n)
		for i := range all {
			all[i] = policy.Statement{ID: "a", Mode: policy.Enforce, Text: scope + "true };"}
		}
		_, _ = checker.Check("", all)
	})
}

// annotated returns n annotations that look like typos.
func annotated(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("@approva" + string(rune('a'+i%25)) + strings.Repeat("x", i/25) + "(\"x\") ")
	}
	return b.String()
}
