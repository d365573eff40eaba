package mapping_test

import (
	"strings"
	"testing"

	"orgops/shared/provider/mapping"
)

// FuzzExpression evaluates any text that passes the check on a hostile payload.
func FuzzExpression(f *testing.F) {
	for n, expression := range expensive() {
		f.Add(expression, byte(n))
	}
	f.Add(`"\(.payload.a)\("x" | "\(.)")" // {"a": 1, (.payload.s): [.[1:-1]?]} | .a[]?.b."c"`, byte(0))
	f.Add(`if .payload.s | test("^a") then -1 elif . == null then [] else {} end`, byte(1))
	f.Add(".payload.a as [$x] ?// $y | reduce .. as $z (0; $x)", byte(2))
	payloads := decoded(f)
	f.Fuzz(func(t *testing.T, expression string, payload byte) {
		m, err := mapping.New(note(expression))
		if err != nil {
			return
		}
		wantBounded(t, expression, m, payloads[int(payload)%len(payloads)])
	})
}

// FuzzExpression_Grammar evaluates expressions that are made from the language's own parts, so that almost every input
// passes the check.
func FuzzExpression_Grammar(f *testing.F) {
	for n := range 8 {
		f.Add([]byte(strings.Repeat(string(rune('a'+7*n)), 40+n)), byte(n))
	}
	f.Add([]byte("\x0b\x0b\x01\x05\x02\x05\x0c\x06\x05\x04\x00\x10\x11\x12\x13\x14"), byte(3))
	payloads := decoded(f)
	f.Fuzz(func(t *testing.T, choices []byte, payload byte) {
		g := grammar{choices: choices}
		expression := g.expression(0)
		m, err := mapping.New(note(expression))
		if err != nil {
			for _, problem := range problems(t, err) {
				if !strings.Contains(problem, "bytes and may have") && !strings.Contains(problem, "levels") {
					t.Errorf("%s: %s, want it accepted", expression, problem)
				}
			}
			return
		}
		wantBounded(t, expression, m, payloads[int(payload)%len(payloads)])
	})
}

// decoded returns the hostile payloads in order of their names.
func decoded(t testing.TB) []mapping.Arrival {
	t.Helper()
	all := hostile()
	var out []mapping.Arrival
	for _, name := range []string{"numbers", "lists", "objects", "members", "texts", "a text", "escapes", "both", "levels", "digits"} {
		out = append(out, arrival(t, all[name]))
	}
	return out
}

// grammar makes an expression of a list of choices.
type grammar struct{ choices []byte }

func (g *grammar) next(n int) int {
	if len(g.choices) == 0 {
		return 0
	}
	c := g.choices[0]
	g.choices = g.choices[1:]
	return int(c) % n
}

// forms lists the ways to make an expression; % stands for another expression.
var forms = []string{
	".payload.a", ".", ".payload.s", ".payload", ".[]?", "1", `"x"`, "null", ".a?", ".s?", ".[0]?", ".[1:]?",
	"(% | %)", "(%, %)", "[%]", "{a: %, b: %}", "{(% | tostring): %}", "(% // %)", "(% and %)", "(% or %)", "(% == %)", "(% < %)",
	`"\(%)-\(%)"`, "(if % then % else % end)", "(% | map(%))", "(% | any(%))", "(% | all(%))", "select(%)", "first(%)", "(% | join(%))",
	"(% | split(%))", "(% | startswith(%))", "(% | endswith(%))", `(% | test("(a|b,?)*$")?)`, "(% | ascii_downcase?)", "(% | tostring)",
	"(% | tonumber?)", "(% | length?)", "(% | not)", "[% | .[]?]", "{s: %, i: .payload.a[]}",
}

func (g *grammar) expression(level int) string {
	n := len(forms)
	if level > 12 {
		n = 12 // those without a part
	}
	parts := strings.Split(forms[g.next(n)], "%")
	out := parts[0]
	for _, part := range parts[1:] {
		out += g.expression(level+1) + part
	}
	return out
}
