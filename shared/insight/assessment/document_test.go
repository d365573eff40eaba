package assessment

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/testkit/errtest"
)

var update = flag.Bool("update", false, "write the tables into the README")

// TestDocument compares the tables of checks and rules in the README with the code; with -update it writes them.
func TestDocument(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"health": healthTable(), "readiness": readinessTable(), "rules": rulesTable()} {
		text, err := os.ReadFile("README.md")
		errtest.Must(t, err)
		begin, end := "<!-- "+name+": written by go test ./shared/insight/assessment -run TestDocument -update -->\n", "<!-- end of "+name+" -->\n"
		before, rest, begins := strings.Cut(string(text), begin)
		if !begins {
			t.Fatalf("the README lacks the line %q", begin)
		}
		got, after, ends := strings.Cut(rest, end)
		if !ends {
			t.Fatalf("the README lacks the line %q after %q", end, begin)
		}
		want = "\n" + want + "\n"
		if *update {
			errtest.Must(t, os.WriteFile("README.md", []byte(before+begin+want+end+after), 0o600))
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("table %s; run with -update (-want +got):\n%s", name, diff)
		}
	}
}

func healthTable() string {
	var b strings.Builder
	b.WriteString("| check | title | weight | applies to | warn | fail |\n|---|---|---|---|---|---|\n")
	for _, r := range healthRules() {
		fmt.Fprintf(&b, "| %s | %s | %g | %s |\n", r.id, r.title, r.severity.weight(), strings.Join(r.about[:], " | "))
	}
	return b.String()
}

func readinessTable() string {
	var b strings.Builder
	b.WriteString("| level | check | title | fails if |\n|---|---|---|---|\n")
	for _, level := range ladder(HealthScore{}) {
		for _, r := range level.rules {
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", level.title, r.id, r.title, r.about[2])
		}
	}
	return b.String()
}

func rulesTable() string {
	var b strings.Builder
	b.WriteString("| rule | raised when |\n|---|---|\n")
	for _, a := range advice() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", a.rule, a.when)
	}
	return b.String()
}

// TestAdvisedBy names rules that exist.
func TestAdvisedBy(t *testing.T) {
	t.Parallel()
	for _, check := range healthRules() {
		for _, rule := range advisedBy(check.id) {
			if !slices.Contains(Rules(), rule) {
				t.Errorf("%s is advised by %s, want a rule of %v", check.id, rule, Rules())
			}
		}
	}
}
