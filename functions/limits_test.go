package functions_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"orgops/functions"
	"orgops/shared/testkit/errtest"
)

var update = flag.Bool("update", false, "rewrite the table of limits in README.md")

// TestLimits_Document checks that the README and the OpenAPI document show the limits of the code. With -update it rewrites
// the README's table.
func TestLimits_Document(t *testing.T) {
	t.Parallel()
	const begin, end = "<!-- limits: written by go test ./functions -run TestLimits -update -->\n", "<!-- end of limits -->"
	content, err := os.ReadFile("README.md")
	errtest.Must(t, err)
	before, rest, found := strings.Cut(string(content), begin)
	shown, after, closed := strings.Cut(rest, end)
	if !found {
		t.Fatalf("README.md lacks %q", begin)
	}
	if !closed {
		t.Fatalf("README.md lacks %q", end)
	}
	table := limitsTable()
	if *update {
		errtest.Must(t, os.WriteFile("README.md", []byte(before+begin+table+end+after), 0o600))
		shown = table
	}
	if diff := cmp.Diff(table, shown); diff != "" {
		t.Errorf("the README's table differs; run the test with -update (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(functions.Limits(), document(t).Info.Extensions["x-limits"]); diff != "" {
		t.Errorf("the document's limits differ (-want +got):\n%s", diff)
	}
}

// TestLimits checks that each limit has a value and a name of its own.
func TestLimits(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, l := range functions.Limits() {
		if l.Value <= 0 {
			t.Errorf("limit %s is %d, want more than 0", l.ID, l.Value)
		}
		if seen[l.ID] {
			t.Errorf("two limits are named %s, want one", l.ID)
		}
		seen[l.ID] = true
	}
}

// notMet lists the constants that are no limit which a caller may meet.
func notMet() []string {
	return []string{
		"intake.MaxOpsPerAction", "token.MaxSize", "tokensecret.MaxAge", "parked.Kept", "parked.MaxLost", "rebuild.MaxTime", "projection.MaxTimeline",
	}
}

// TestLimits_Complete looks for limits in the source: the exported constants whose name says so. Each must be in the list of
// limits, or be known to be no limit that a caller may meet.
func TestLimits_Complete(t *testing.T) {
	t.Parallel()
	listed, err := os.ReadFile("limits.go")
	errtest.Must(t, err)
	limit := regexp.MustCompile(`^(Max.*|.*Kept|.*Lifetime|.*Timeout|.*Limit|Waits|Tolerance|CertifiedFor|RotationGrace|ClaimLasts|StaleAfter|OverdueAfter)$`)
	seen := 0
	for _, group := range []string{"domain", "identity", "insight", "provider", "web", "webhook"} {
		errtest.Must(t, filepath.WalkDir("../shared/"+group, func(file string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
				return err
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			errtest.Must(t, err)
			for _, name := range constants(parsed) {
				full := parsed.Name.Name + "." + name
				if !limit.MatchString(name) || slices.Contains(notMet(), full) {
					continue
				}
				seen++
				if !strings.Contains(strings.ReplaceAll(string(listed), "deliveries.", "delivery."), full) {
					t.Errorf("%s has the limit %s, which is not in the list of limits", file, full)
				}
			}
			return nil
		}))
	}
	if seen < 40 {
		t.Errorf("%d limits found in the source, want at least 40", seen)
	}
}

// constants lists the exported constants of a file.
func constants(f *ast.File) []string {
	var names []string
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, s := range g.Specs {
			for _, name := range s.(*ast.ValueSpec).Names {
				if name.IsExported() {
					names = append(names, name.Name)
				}
			}
		}
	}
	return names
}

// limitsTable returns the limits as a table in Markdown.
func limitsTable() string {
	var b strings.Builder
	b.WriteString("| limit of | at most |\n|---|---|\n")
	for _, l := range functions.Limits() {
		fmt.Fprintf(&b, "| %s | %s |\n", l.Of, amount(l))
	}
	return b.String()
}

// amount writes the value for people, in the largest unit that leaves no rest.
func amount(l functions.Limit) string {
	units := map[string][]struct {
		size int64
		name string
	}{
		"seconds": {{86400, "days"}, {3600, "hours"}, {60, "minutes"}},
		"bytes":   {{1 << 20, "MiB"}, {1 << 10, "KiB"}},
	}
	for _, u := range units[l.Unit] {
		if l.Value%u.size == 0 && l.Value > u.size || l.Value == u.size {
			return fmt.Sprintf("%d %s", l.Value/u.size, strings.TrimSuffix(u.name, singular(l.Value/u.size)))
		}
	}
	return fmt.Sprintf("%d %s", l.Value, l.Unit)
}

// singular returns the ending that a unit loses for a count of one.
func singular(n int64) string {
	if n == 1 {
		return "s"
	}
	return ""
}
