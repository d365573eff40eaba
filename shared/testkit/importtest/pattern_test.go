package importtest_test

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"testing"
)

// TestSources_Patterns checks that no program of the service compiles a regular expression while it starts. Each of them would pay for
// the expressions of every package that it is made of. A text.Pattern is compiled when it is first used.
func TestSources_Patterns(t *testing.T) {
	t.Parallel()
	looked := 0
	for _, s := range sources(t) {
		if s.test || slices.Contains([]string{"infra", "testkit"}, groupOf(s.pkg)) {
			continue
		}
		for _, d := range s.tree.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.VAR {
				continue
			}
			looked++
			ast.Inspect(g, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok && types.ExprString(call.Fun) == "regexp.MustCompile" {
					t.Errorf("%s:%d: compiled at each start of a program; make it a text.Pattern", s.file, s.at(call))
				}
				return true
			})
		}
	}
	if looked < 100 {
		t.Errorf("%d declarations of variables looked at, want at least 100", looked)
	}
}
