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

// TestLife_Phases checks that the table in the comment of package courier has each phase of a task.
func TestLife_Phases(t *testing.T) {
	t.Parallel()
	const folder = "shared/webhook/courier/"
	comment, err := os.ReadFile(filepath.Join(root, folder+"courier.go"))
	errtest.Must(t, err)
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, folder+"run.go"), nil, parser.SkipObjectResolution)
	errtest.Must(t, err)
	phases := 0
	for _, d := range parsed.Decls {
		constants, ok := d.(*ast.GenDecl)
		if !ok || constants.Tok != token.CONST {
			continue
		}
		for _, one := range constants.Specs {
			spec, ok := one.(*ast.ValueSpec)
			if !ok {
				continue
			}
			phase := spec.Names[0].Name
			phases++
			if !strings.Contains(string(comment), "\n//\t"+phase+" ") {
				t.Errorf("the comment of package courier has no row for the phase %s; say what may happen in it, and what follows", phase)
			}
		}
	}
	if phases < 8 {
		t.Errorf("%d phases found, want at least 8", phases)
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
