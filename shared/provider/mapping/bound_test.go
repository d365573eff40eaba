package mapping_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/domain/integration"
	"orgops/shared/provider/mapping"
	"orgops/shared/testkit/errtest"
)

// The promise: no expression that passes the check takes more. The race detector makes code slower.
const (
	maxTime   = raceFactor * 100 * time.Millisecond
	maxMemory = 64 << 20
)

// repeat returns n copies of s, separated by commas.
func repeat(s string, n int) string { return strings.TrimSuffix(strings.Repeat(s+",", n), ",") }

// hostile returns payloads that make expressions expensive, by what they hold. Each is about as large as a payload may be.
func hostile() map[string]string {
	return map[string]string{
		"numbers": `{"a":[` + repeat("1", 45_000) + `],"s":"x"}`,
		"lists":   `{"a":[` + repeat("[]", 22_000) + `],"s":"x"}`,
		"objects": `{"a":[` + repeat(`{"a":1}`, 20_000) + `],"s":"x"}`,
		"members": `{"a":{` + members(40_000) + `},"s":"x"}`,
		"texts":   `{"a":[` + repeat(`"abcdefgh, abcdefgh"`, 40_000) + `],"s":"x"}`,
		"a text":  `{"a":[1,2,3],"s":"` + strings.Repeat("a", 1_000_000) + `"}`,
		"escapes": `{"a":[1,2,3],"s":"` + strings.Repeat(`\u0001`, 160_000) + `"}`,
		"both":    `{"a":[` + repeat("1", 40_000) + `],"s":"` + strings.Repeat("a, ", 250_000) + `"}`,
		"levels":  `{"a":` + strings.Repeat("[", 90) + repeat("1", 40_000) + strings.Repeat("]", 90) + `,"s":"x"}`,
		"digits":  `{"a":[` + repeat(strings.Repeat("9", 60), 15_000) + `],"s":"x"}`,
	}
}

func members(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(`"name%d":%d`, i, i)
	}
	return strings.Join(all, ",")
}

// chain repeats a step of a pipe as often as an expression has levels for.
func chain(start, step string) string {
	levels := 1 + strings.Count(step, "|")
	return start + strings.Repeat(" | "+step, min(85/levels, (1900-len(start))/(len(step)+3)))
}

// nest wraps an expression in n calls.
func nest(before, inner, after string, n int) string {
	return strings.Repeat(before, n) + inner + strings.Repeat(after, n)
}

// expensive lists expressions that would take far too much time or memory without a bound.
func expensive() []string {
	return []string{
		// products
		`{a: .payload.a[], b: .payload.a[], c: .payload.a[]}`,
		`[.payload.a[], .payload.a[] | [.] | .[]]`,
		`[{a: .payload.a[], b: .payload.a[]} | tostring] | length`,
		`[(.payload.a[]) == (.payload.a[])] | any(not)`,
		`[.payload.a[] | .payload?] | length`,
		`"\(.payload.a[])\(.payload.a[])\(.payload.a[])"`,
		chain(".payload.a", "map([.])"),
		chain(".payload.a", "map({a: ., b: .})"),
		chain(".payload.a", "{a: ., b: .[]?}"),
		chain("{s: .payload.s, i: .payload.a[]}", "{s: .s, i: .s}") + " | .s | length",
		// errors that are caught, whose texts quote the value
		`[{s: .payload.s, i: .payload.a[]} | .s.x?, .s[]?, .s[0]?, (.s | tonumber?)] | length`,
		`[{s: .payload, i: .payload.a[]} | .s[0]?, .s[1:]?, (.s.a | test("x")?, ascii_downcase?)] | length`,
		// trees that are larger than their memory
		chain(".payload", "{a: ., b: .}") + " | tostring",
		chain(".payload", "[., .]") + " | tostring | length",
		chain(".payload", "[., .]") + " | . == .",
		chain(".payload", "[., .]") + " | \"\\(.)\"",
		chain("{a: .payload, b: .payload}", "{a: {a: .a, b: .a}, b: {a: .b, b: .b}}") + " | .a == .b",
		chain(".payload", "[., .]") + " | [.[] == .[]] | any(.)",
		// texts that grow
		chain(".payload.s", `"\(.)\(.)"`),
		chain(".payload.s", `[., .] | join(.[0])`),
		chain(".payload.s", `[., ., ., .] | join("")`),
		chain(".payload.s", "tostring | [.] | tostring"),
		`[{s: .payload.s, i: .payload.a[]} | .s | ascii_downcase] | length`,
		`[{s: .payload.s, i: .payload.a[]} | .s | split("")] | length`,
		`[{s: .payload.s, i: .payload.a[]} | .s[1:]] | length`,
		`[{s: .payload.s, i: .payload.a[]} | "\(.s)\(.i)"] | length`,
		`[{s: .payload.s, i: .payload.a[]} | [.s] | tostring] | length`,
		`.payload.s | split("") | map(split("")) | map(map([.]))`,
		`.payload.s | split(", ") | join(", ") | split(",") | join("----------------------------------------")`,
		// work without memory
		`[{s: .payload.s, i: .payload.a[]} | .s | length, startswith("b"), endswith("b")] | length`,
		`[{s: .payload.s, i: .payload.a[]} | .s == "\(.s)"] | all`,
		`[{s: .payload.s, t: "\(.payload.s)", i: .payload.a[]} | .s == .t, .s < .t, (.s | startswith(.))] | all`,
		`[{s: .payload.s, i: .payload.a[]} | .s | test("(a|aa)+$")] | all`,
		`.payload.s | test("(x?){9}(a*)*(b|[^c]+)*d.{0,20}e")`,
		`[.payload.a[] | tostring | tonumber?] | all(. > 99999999999999999999)`,
		`[.payload.a[] | any(.payload; .)] | length`,
		`first(.payload.a[] | select(false)) // all(.payload.a[]; . == [.])`,
		// computed names, which the interpreter hashes
		`[{(.payload.s): .payload.a[]}] | length`,
		`[{` + repeat("(.payload.s): 1", 20) + `, a: .payload.a[]}] | length`,
		// many levels, which make each instruction slower
		nest("any(.payload.a[]; ", ". == 0", ")", 45),
		nest("[.payload.a[] | ", ".payload?", "]", 30),
		nest("first(.payload.a[] | select(", "false", "))", 20),
		nest("(.payload.a[] == ", "0", ")", 30),
		`[.payload.a[]?[]?[]?] | map(.[]?) | map(.[]?) | any(.x?)`,
	}
}

// wantBounded evaluates a mapping and checks what it takes. The time of the evaluation's deadline stands still, so that fuel
// alone bounds it, on a busy machine too.
func wantBounded(t *testing.T, name string, m *mapping.Mapping, d mapping.Arrival) (took time.Duration, made uint64, err error) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	synctest.Test(t, func(t *testing.T) {
		took = cpuTime(t, func() { _, err = m.Apply(t.Context(), d) })
	})
	runtime.ReadMemStats(&after)
	made = after.TotalAlloc - before.TotalAlloc
	if took > maxTime {
		t.Errorf("%s: took %v, want at most %v", name, took, maxTime)
	}
	if made > maxMemory {
		t.Errorf("%s: allocated %d MiB, want at most %d", name, made>>20, maxMemory>>20)
	}
	if k := fault.KindOf(err); err != nil && k != fault.Invalid {
		t.Errorf("%s: err = %v, want an invalid arrival", name, err)
	}
	return took, made, err
}

// TestMapping_Apply_Bounded evaluates each expensive expression on each hostile payload. It is not parallel, because it
// measures the memory of the process.
func TestMapping_Apply_Bounded(t *testing.T) { //nolint:paralleltest // see above
	stopped := 0
	var slowest time.Duration
	var largest uint64
	for kind, payload := range hostile() {
		d := arrival(t, payload)
		for _, expression := range expensive() {
			m, err := mapping.New(note(expression))
			if err != nil {
				t.Fatalf("%s: %v", expression, err)
			}
			took, made, err := wantBounded(t, kind+": "+expression, m, d)
			if slowest, largest = max(slowest, took), max(largest, made); took == slowest || made == largest {
				t.Logf("%v, %.1f MiB, err=%v: %s: %.80s", took, float64(made)/(1<<20), err != nil, kind, expression)
			}
			if err != nil {
				stopped++
			}
		}
	}
	if stopped < 100 {
		t.Errorf("%d evaluations were stopped, want at least 100; the payloads are no test of the bounds", stopped)
	}
	t.Logf("the slowest took %v, the largest allocated %.1f MiB; %d were stopped", slowest, float64(largest)/(1<<20), stopped)
}

// TestMapping_Apply_Bounded_Rules bounds the rules of a mapping together.
func TestMapping_Apply_Bounded_Rules(t *testing.T) { //nolint:paralleltest // measures the memory of the process
	d := mapping.Document{}
	for range mapping.MaxRules {
		d.Rules = append(d.Rules, mapping.Rule{
			When: "[.payload.a[] | {a: .}] | length > 0", Continue: true, Action: integration.TimelineNote, With: map[string]string{"title": `"t"`},
		})
	}
	m, err := mapping.New(d)
	errtest.Must(t, err)
	_, _, err = wantBounded(t, "50 rules", m, arrival(t, hostile()["numbers"]))
	if got, want := strings.Join(problems(t, err), ""), "needs too much work for this arrival"; !strings.Contains(got, want) {
		t.Errorf("error %q, want one with %q", got, want)
	}
}
