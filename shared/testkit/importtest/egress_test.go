package importtest_test

import (
	"go/ast"
	"go/types"
	"slices"
	"testing"
)

// TestSources_Egress checks that the service makes HTTP clients and transports in package outbound alone. Its Client applies the egress
// rules, and sends every address as a valid request line.
func TestSources_Egress(t *testing.T) {
	t.Parallel()
	own := []string{
		"shared/webhook/outbound",
		"shared/base/awsclient", // calls AWS, at addresses of the environment
	}
	senders := []string{"http.Client", "http.Transport", "http.DefaultClient", "http.DefaultTransport", "http.Get", "http.Post", "http.PostForm", "http.Head"}
	found := false
	for _, s := range sources(t) {
		if s.test || slices.Contains([]string{"infra", "local", "testkit"}, groupOf(s.pkg)) {
			continue
		}
		made := func(n ast.Node, what ast.Expr) {
			if !slices.Contains(senders, types.ExprString(what)) {
				return
			}
			if found = true; !slices.Contains(own, s.pkg) {
				t.Errorf("%s:%d: %s is not bound by the egress rules; use the outbound.Client", s.file, s.at(n), types.ExprString(what))
			}
		}
		ast.Inspect(s.tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CompositeLit:
				if n.Type != nil {
					made(n, n.Type)
				}
			case *ast.CallExpr:
				made(n, n.Fun)
				for _, argument := range n.Args {
					made(n, argument)
				}
			case *ast.AssignStmt:
				for _, value := range n.Rhs {
					made(n, value)
				}
			case *ast.KeyValueExpr:
				made(n, n.Value)
			}
			return true
		})
	}
	if !found {
		t.Error("no HTTP client is made anywhere, want those of package outbound")
	}
}
