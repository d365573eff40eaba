package importtest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"testing"

	"orgops/shared/testkit/errtest"
)

// TestTests_Conditions checks that tests, and the packages that support them, report each failed check on its own: a
// condition that joins two checks with || does not say which one failed. The two bounds of one expression may be joined.
func TestTests_Conditions(t *testing.T) {
	t.Parallel()
	looked := 0
	for _, s := range sources(t) {
		if !s.test && groupOf(s.pkg) != "testkit" {
			continue
		}
		looked++
		ast.Inspect(s.tree, func(n ast.Node) bool {
			if i, ok := n.(*ast.IfStmt); ok && joins(i.Cond) && reports(i.Body) {
				t.Errorf("%s:%d: the condition joins two checks; compare one value, or check each on its own", s.file, s.at(i))
			}
			return true
		})
	}
	if looked < 100 {
		t.Errorf("%d files looked at, want at least 100", looked)
	}
}

// joins reports whether a condition joins checks with ||, other than the two bounds of one expression.
func joins(condition ast.Expr) bool {
	or, ok := ast.Unparen(condition).(*ast.BinaryExpr)
	return ok && or.Op == token.LOR && !isRange(or)
}

// isRange reports whether both sides bound the same expression, as in x < a || x > b.
func isRange(or *ast.BinaryExpr) bool {
	one, ok := ast.Unparen(or.X).(*ast.BinaryExpr)
	if !ok {
		return false
	}
	other, ok := ast.Unparen(or.Y).(*ast.BinaryExpr)
	return ok && bound(one.Op)*bound(other.Op) == -1 && types.ExprString(one.X) == types.ExprString(other.X)
}

// bound returns -1 for an operator that compares with a lower bound, 1 for an upper one, and 0 for any other.
func bound(operator token.Token) int {
	switch operator {
	case token.LSS, token.LEQ:
		return -1
	case token.GTR, token.GEQ:
		return 1
	}
	return 0
}

// reports reports whether a statement of a block fails the test.
func reports(block *ast.BlockStmt) bool {
	return slices.ContainsFunc(block.List, func(s ast.Stmt) bool {
		statement, ok := s.(*ast.ExprStmt)
		if !ok {
			return false
		}
		call, ok := statement.X.(*ast.CallExpr)
		if !ok {
			return false
		}
		method, ok := call.Fun.(*ast.SelectorExpr)
		return ok && slices.Contains([]string{"Error", "Errorf", "Fatal", "Fatalf"}, method.Sel.Name)
	})
}

func TestJoins(t *testing.T) {
	t.Parallel()
	for condition, want := range map[string]bool{
		`a != 1 || b != 2`: true, `a == 1 || a == 2`: true, `err != nil || a < 1 || a > 2`: true, `(a || b)`: true,
		`a < 1 || b > 2`: true, `a != 1`: false, `a && b`: false, `a && (b || c)`: false, `x.y() < 1 || x.y() >= 2`: false,
		`a > 2 || a < 1`: false,
	} {
		parsed, err := parser.ParseExpr(condition)
		errtest.Must(t, err)
		if got := joins(parsed); got != want {
			t.Errorf("joins(%s) = %t, want %t", condition, got, want)
		}
	}
}
