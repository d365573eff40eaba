package importtest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	module = "orgops"
	root   = "../.."
)

// source is one file of the module.
type source struct {
	file      string // relative to the module's root
	pkg       string // its folder, with slashes: the import path without the module
	name      string // of the package clause
	test      bool
	documents bool // it carries a package comment
	imports   []string
	inits     int
	lines     int
}

// module's files, whatever system they are for. Hidden folders and testdata are no part of it.
func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			skip := file != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "node_modules" || d.Name() == "cdk.out")
			if skip {
				return fs.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(file, ".go") {
			s, err := read(file)
			all = append(all, s)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 50 {
		t.Fatalf("only %d files were found: the rules would hold for nothing", len(all))
	}
	return all
}

func read(file string) (source, error) {
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, file, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return source{}, err
	}
	relative, err := filepath.Rel(root, file)
	s := source{
		file: relative, pkg: path.Dir(filepath.ToSlash(relative)), name: f.Name.Name,
		test: strings.HasSuffix(file, "_test.go"), documents: f.Doc.Text() != "",
		lines: files.Position(f.FileEnd).Line - 1,
	}
	for _, i := range f.Imports {
		imported, _ := strconv.Unquote(i.Path.Value) // the parser has seen that it is a string
		s.imports = append(s.imports, imported)
	}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
			s.inits++
		}
	}
	return s, err
}

// isSuite reports whether a package is made for tests.
func isSuite(pkg string) bool { return strings.HasSuffix(path.Base(pkg), "test") }

func TestLayers(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		i := slices.IndexFunc(layers, func(l layer) bool { return among(l.in, s.pkg) })
		if i < 0 {
			t.Errorf("%s is in no layer: Go code lives under functions, shared, infra or local", s.file)
			continue
		}
		if s.test {
			continue // tests put parts together; the homes below hold for them where it matters
		}
		for _, imported := range s.imports {
			pkg, own := strings.CutPrefix(imported, module+"/")
			if own && !among(layers[i].may, pkg) {
				t.Errorf("%s imports %s, but %s may import only %q: %s", s.file, pkg, layers[i].name, layers[i].may, layers[i].why)
			}
		}
	}
}

func TestLayers_Tests(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		for _, imported := range s.imports {
			if s.test && strings.HasPrefix(s.pkg, "shared/") && among([]string{"orgops/functions/...", "orgops/local/...", "orgops/infra/..."}, imported) {
				t.Errorf("%s imports %s: even the tests of what is shared do not know who shares it", s.file, imported)
			}
		}
	}
}

func TestHomes(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		for _, imported := range s.imports {
			for _, h := range homes {
				if among(h.imports, imported) && !among(h.in, s.pkg) {
					t.Errorf("%s imports %s, whose place is %q: %s", s.file, imported, h.in, h.why)
				}
			}
		}
	}
}

func TestContractsImportStandardLibraryOnly(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		contract := slices.Contains([]string{"shared/fault", "shared/store", "shared/queue"}, s.pkg) && !s.test
		for _, imported := range s.imports {
			if contract && strings.Contains(strings.Split(imported, "/")[0], ".") {
				t.Errorf("%s imports %s: contracts need the standard library alone", s.file, imported)
			}
		}
	}
}

func TestSuitesAreForTests(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if s.test || isSuite(s.pkg) {
			continue
		}
		for _, imported := range s.imports {
			if own, ok := strings.CutPrefix(imported, module+"/"); ok && isSuite(own) || among(testOnly, imported) {
				t.Errorf("%s imports %s, which is for tests", s.file, imported)
			}
		}
	}
}

func TestEveryPackageHasOneComment(t *testing.T) {
	t.Parallel()
	comments := map[string][]string{}
	for _, s := range sources(t) {
		if strings.HasSuffix(s.name, "_test") {
			continue
		}
		if _, seen := comments[s.pkg]; !seen {
			comments[s.pkg] = nil
		}
		if s.documents {
			comments[s.pkg] = append(comments[s.pkg], s.file)
		}
	}
	for pkg, files := range comments {
		if len(files) != 1 {
			t.Errorf("%s has %d package comments %q, want one", pkg, len(files), files)
		}
	}
}

func TestNamespacesHoldNoGo(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if s.pkg == "shared" || s.pkg == "." || strings.HasPrefix(s.pkg, "events") {
			t.Errorf("%s: %s is a namespace or holds samples, never a package", s.file, s.pkg)
		}
	}
}

func TestNoInit(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if s.inits > 0 {
			t.Errorf("%s has an init function: what is needed is passed in", s.file)
		}
	}
}

// maxMain is how many lines the program of a Lambda may have: it puts parts together, and what has rules of its own is a
// part.
const maxMain = 25

func TestMainsAreShort(t *testing.T) {
	t.Parallel()
	mains := map[string]bool{}
	for _, s := range sources(t) {
		if !matches("functions/*/lambda", s.pkg) {
			continue
		}
		if path.Base(filepath.ToSlash(s.file)) != "main.go" || mains[s.pkg] {
			t.Errorf("%s: a Lambda's program is one file, main.go", s.file)
		}
		mains[s.pkg] = true
		if s.lines > maxMain {
			t.Errorf("%s has %d lines, more than %d", s.file, s.lines, maxMain)
		}
	}
	if len(mains) < 14 {
		t.Errorf("only %d programs were found", len(mains))
	}
}
