package mapping_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/integration"
	"orgops/shared/provider/mapping"
	"orgops/shared/testkit/errtest"
)

// TestExpression_Path gives for a path, which needs no interpreter, what the interpreter gives for the same path in parentheses.
func TestExpression_Path(t *testing.T) {
	t.Parallel()
	const payload = `{"o":{"y":2,"x":{"z":"deep"}},"s":"text","n":12345678901234567890,"f":1.50,"t":true,"no":false,"z":null,"l":[{"a":1}],"":{"a b":{"k":1}}}`
	for _, path := range []string{
		".payload", ".payload.o", ".payload.o.x", ".payload.o.x.z", `.payload["o"]["x"]`, `.payload.o."x"`, ".payload.s", ".payload.n", ".payload.f",
		".payload.t", ".payload.no", ".payload.z", ".payload.z.x.y", ".payload.missing", ".payload.missing.x", ".payload.l",
		`.payload[""]["a b"]`, ".payload.s.x", ".payload.n.x", ".payload.t.x.y", ".payload.l.a", ".payload.o.y.x",
		".headers", `.headers["x-event"]`, ".headers.missing", `.headers["x-event"].x`, ".item", ".item.o.x", ".config", ".config.events", ".other", ".other.x",
		`.payload.s == "text"`, `.payload.s == "Text"`, `.payload.s == ""`, `.payload.n == "12345678901234567890"`, `.payload.z == "null"`, `.payload.t == "true"`,
		`.payload.missing == "x"`, `.payload.o == "{}"`, `.payload.s.x == "x"`, `.headers["x-event"] == "issues"`, `.payload.o.x.z == "de\u0065p"`, `.item == "x"`,
		`.payload.s == "\(.payload.s)"`, `"text" == .payload.s`,
	} {
		for name, document := range map[string]func(expression string) mapping.Document{
			"details": func(expression string) mapping.Document { return document("true", `"t"`, expression) },
			"title":   func(expression string) mapping.Document { return document("true", expression, "{}") },
			"when":    func(expression string) mapping.Document { return document(expression, `"t"`, "{}") },
		} {
			m, err := mapping.New(document(path))
			interpreted, want := mapping.New(document("(" + path + ")"))
			if diff := cmp.Diff(errtest.Message(want), errtest.Message(err)); diff != "" {
				t.Fatalf("%s as %s: New differs (-interpreted +path):\n%s", path, name, diff)
			}
			if err != nil {
				continue
			}
			is, err := m.Apply(t.Context(), arrival(t, payload))
			was, want := interpreted.Apply(t.Context(), arrival(t, payload))
			if diff := cmp.Diff(errtest.Message(want), errtest.Message(err)); diff != "" {
				t.Errorf("%s as %s: error differs (-interpreted +path):\n%s", path, name, diff)
			}
			if diff := cmp.Diff(was, is); diff != "" {
				t.Errorf("%s as %s differs (-interpreted +path):\n%s", path, name, diff)
			}
		}
	}
}

func document(when, title, details string) mapping.Document {
	return mapping.Document{Rules: []mapping.Rule{{
		When: when, Action: integration.TimelineNote, With: map[string]string{"title": title, "details": details},
	}}}
}
