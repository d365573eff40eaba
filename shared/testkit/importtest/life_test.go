package importtest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"orgops/shared/testkit/errtest"
)

// TestLife checks that each function that ARCHITECTURE.md names in the life of a delivery is in the file next to it.
func TestLife(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	errtest.Must(t, err)
	_, after, _ := strings.Cut(string(content), "## The life of a delivery\n")
	life, _, _ := strings.Cut(after, "\n## ")
	row := regexp.MustCompile(`(?m)^\|[^|]*\|([^|]*)\| \[[^\]]*\]\(([^)]*)\) \|$`)
	name := regexp.MustCompile("`([^`]+)`")
	named := 0
	for _, cells := range row.FindAllStringSubmatch(life, -1) {
		has := functions(t, cells[2])
		for _, one := range name.FindAllStringSubmatch(cells[1], -1) {
			named++
			if !has[one[1]] {
				t.Errorf("ARCHITECTURE.md says that %s is in %s; name a function that is", one[1], cells[2])
			}
		}
	}
	if named < 30 {
		t.Errorf("%d functions named, want at least 30", named)
	}
}

// functions returns the functions of a file, and its methods as Type.Method.
func functions(t *testing.T, file string) map[string]bool {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, parser.SkipObjectResolution)
	errtest.Must(t, err)
	found := map[string]bool{}
	for _, d := range parsed.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		of := ""
		if f.Recv != nil {
			receiver := f.Recv.List[0].Type
			if pointer, ok := receiver.(*ast.StarExpr); ok {
				receiver = pointer.X
			}
			if named, ok := receiver.(*ast.Ident); ok {
				of = named.Name + "."
			}
		}
		found[of+f.Name.Name] = true
	}
	return found
}
