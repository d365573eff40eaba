package mapping_test

import (
	"encoding/json"
	"strings"
	"testing"

	"orgops/shared/provider/mapping"
	"orgops/shared/testkit/growthtest"
)

// TestPayload_Linear decodes a payload that is four times as long with about four times the work, in each direction in which a payload may grow.
func TestPayload_Linear(t *testing.T) { //nolint:paralleltest // it measures the allocations of the process
	list := func(item string) func(n int) string {
		return func(n int) string { return "[" + strings.Repeat(item+",", n) + item + "]" }
	}
	nested := func(n int) string { return strings.Repeat(`{"a":`, n/100) + "1" + strings.Repeat("}", n/100) }
	for name, payload := range map[string]func(n int) string{
		"values": list("1"), "texts": list(`"\n\u0041x"`), "objects": list(`{"a":{"b":[]}}`), "levels": nested,
		"one text":               func(n int) string { return `"` + strings.Repeat(`\"`, 20*n) + `"` },
		"names":                  func(n int) string { return `{` + strings.Repeat(`"a":1,`, n) + `"b":1}` },
		"a lone surrogate late":  func(n int) string { return list(`{"a":1}`)(n)[1:] + `\ud800"` },
		"lone surrogates":        list(`"\ud800"`),
		"surrogates inside":      func(n int) string { return nested(n) + list(`"\ud800"`)(n) },
		"digits":                 list(strings.Repeat("1", 60)),
		"ends in the middle":     func(n int) string { return `[` + strings.Repeat(`"x",`, n) },
		"beyond the limit":       func(n int) string { return list("1")(100 * n) },
		"text behind the end":    func(n int) string { return list("1")(n) + strings.Repeat(" ", n) + "x" },
		"escapes without an end": func(n int) string { return `"` + strings.Repeat(`\\`, n) },
	} {
		growthtest.Linear(t, name, 2000, func(n int) { _, _ = mapping.Payload([]byte(payload(n))) })
	}
}

// TestParse_Linear checks a mapping that is four times as long with about four times the work.
func TestParse_Linear(t *testing.T) { //nolint:paralleltest // it measures the allocations of the process
	expression := func(text string) string {
		all, err := json.Marshal(map[string]any{"rules": []any{map[string]any{
			"when": text, "action": "memory.upsert", "with": map[string]string{"externalId": ".payload.id", "kind": `"issue"`, "title": text},
		}}})
		if err != nil {
			t.Fatal(err)
		}
		return string(all)
	}
	for name, text := range map[string]func(n int) string{
		"a path":         func(n int) string { return ".payload" + strings.Repeat(".a", n) },
		"a text":         func(n int) string { return `"` + strings.Repeat("x", 10*n) + `"` },
		"interpolations": func(n int) string { return `"` + strings.Repeat(`\(.payload.a)`, n) + `"` },
		"alternatives":   func(n int) string { return strings.Repeat(".payload.a // ", n/4) + "1" },
		"comparisons":    func(n int) string { return strings.Repeat(".payload.a == 1 and ", n/4) + "true" },
		"conditions": func(n int) string {
			return strings.Repeat("if .payload.a then 1 else ", n/4) + "2" + strings.Repeat(" end", n/4)
		},
		"brackets":      func(n int) string { return strings.Repeat("(", n/4) + "1" + strings.Repeat(")", n/4) },
		"no expression": func(n int) string { return strings.Repeat("[", n) },
		"patterns":      func(n int) string { return strings.Repeat(`(.payload.a | test("a+")) and `, n/4) + "true" },
	} {
		growthtest.Linear(t, name, 100, func(n int) { _, _ = mapping.Parse(json.RawMessage(expression(text(n)))) })
	}
	growthtest.Linear(t, "rules", 20, func(n int) {
		_, _ = mapping.Parse(json.RawMessage(`{"rules":[` + strings.TrimSuffix(strings.Repeat(`{"when":"true","action":"memory.upsert","with":{"externalId":".payload.id","title":".payload.t"}},`, n), ",") + `]}`))
	})
}
