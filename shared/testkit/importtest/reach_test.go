package importtest_test

import (
	"path"
	"slices"
	"strings"
	"testing"
)

// link lists the only functions whose programs may link a library.
type link struct {
	imports   []string // import paths, as in homes
	functions []string
	why       string
}

func links() []link {
	return []link{
		{[]string{"github.com/cedar-policy/..."}, []string{"dispatcher", "executives", "inbound", "integrations", "mcp", "operations", "retrier", "syncer"}, "only a program that decides on actions links Cedar"},
		{[]string{"github.com/coreos/go-oidc/...", "github.com/crewjam/..."}, []string{"sso"}, "only a program that signs users in links the protocols"},
		{[]string{"github.com/cedar-policy/cedar-go/x/exp/schema/..."}, []string{"operations"}, "only the program that checks policies links Cedar's validator"},
		{[]string{"github.com/itchyny/gojq"}, []string{"dispatcher", "inbound", "integrations", "retrier", "syncer"}, "only a program that maps or filters links the interpreter"},
	}
}

// TestLinks follows the imports of every function's program. A function that is listed must reach the library, so that the
// list stays true.
func TestLinks(t *testing.T) {
	t.Parallel()
	imports := map[string][]string{}
	for _, s := range sources(t) {
		if !s.test {
			imports[s.pkg] = append(imports[s.pkg], s.imports...)
		}
	}
	for pkg := range imports {
		if ok, _ := path.Match("functions/*/lambda", pkg); !ok {
			continue
		}
		reached := reach(imports, pkg)
		function := path.Base(path.Dir(pkg))
		for _, l := range links() {
			reaches := slices.ContainsFunc(reached, func(imported string) bool { return among(l.imports, imported) })
			if want := slices.Contains(l.functions, function); reaches != want {
				t.Errorf("%s links one of %q: %t, want %t: %s", function, l.imports, reaches, want, l.why)
			}
		}
	}
}

// reach lists the imports of a package and of every package of this module that it reaches.
func reach(imports map[string][]string, from string) []string {
	var all []string
	seen := map[string]bool{}
	for next := []string{from}; len(next) > 0; {
		pkg := next[0]
		next = next[1:]
		for _, imported := range imports[pkg] {
			if seen[imported] {
				continue
			}
			seen[imported] = true
			all = append(all, imported)
			if own, ok := strings.CutPrefix(imported, module+"/"); ok {
				next = append(next, own)
			}
		}
	}
	return all
}
