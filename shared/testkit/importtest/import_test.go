package importtest_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"orgops/shared/testkit/errtest"
)

const (
	module = "orgops"
	root   = "../../.."
)

// source describes one file of the module.
type source struct {
	file      string // relative to the module's root
	pkg       string // its folder, with slashes: the import path without the module
	name      string // of the package clause
	test      bool
	documents bool // it has a package comment
	imports   []string
	inits     int
	lines     int
	tree      *ast.File
	positions *token.FileSet
}

// at returns the line of a node.
func (s source) at(n ast.Node) int { return s.positions.Position(n.Pos()).Line }

// sources returns the module's Go files for all systems, except those in hidden folders and testdata. All tests look at the same trees.
func sources(t *testing.T) []source {
	t.Helper()
	all, err := parsed()
	errtest.Must(t, err)
	if len(all) < 50 {
		t.Fatalf("%d files found, want at least 50", len(all))
	}
	return all
}

var parsed = sync.OnceValues(func() (all []source, err error) {
	names, err := walk(".go")
	for _, file := range names {
		s, failed := read(file)
		all, err = append(all, s), errors.Join(err, failed)
	}
	return all, err
})

// files lists the project's own files whose name ends so.
func files(t *testing.T, suffix string) []string {
	t.Helper()
	all, err := walk(suffix)
	errtest.Must(t, err)
	return all
}

func walk(suffix string) (all []string, err error) {
	err = filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && file != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "node_modules" || d.Name() == "cdk.out"):
			return fs.SkipDir
		case !d.IsDir() && strings.HasSuffix(file, suffix):
			all = append(all, file)
		}
		return nil
	})
	return all, err
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
		lines: files.Position(f.FileEnd).Line - 1, tree: f, positions: files,
	}
	for _, i := range f.Imports {
		imported, _ := strconv.Unquote(i.Path.Value) // the parser has checked that it is a string
		s.imports = append(s.imports, imported)
	}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
			s.inits++
		}
	}
	return s, err
}

func TestGroups(t *testing.T) {
	t.Parallel()
	var known []string
	for _, g := range groups() {
		for _, to := range g.may {
			if !slices.Contains(known, to) {
				t.Errorf("%s may import %s, which is not in a row above it", g.name, to)
			}
		}
		known = append(known, g.name)
	}
	for _, s := range sources(t) {
		from := groupOf(s.pkg)
		if !slices.Contains(known, from) {
			t.Errorf("%s is in no group; add its folder to the table of groups", s.file)
		}
		if s.test {
			continue // tests may combine any groups
		}
		may := mayImport(from)
		if isSuite(s.pkg) {
			may = append(may, "testkit")
		}
		for _, imported := range s.imports {
			pkg, own := strings.CutPrefix(imported, module+"/")
			if own && !slices.Contains(may, groupOf(pkg)) {
				t.Errorf("%s imports %s, but %s may import only %q", s.file, pkg, from, may)
			}
		}
	}
}

func TestLayers(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		i := slices.IndexFunc(layers, func(l layer) bool { return among(l.in, s.pkg) })
		if i < 0 || s.test {
			continue
		}
		for _, imported := range s.imports {
			pkg, own := strings.CutPrefix(imported, module+"/")
			if own && !among(append(layers[i].may, s.pkg+"/..."), pkg) {
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
				t.Errorf("%s imports %s: tests of shared packages must not import the packages that use them", s.file, imported)
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
					t.Errorf("%s imports %s, but only %q may: %s", s.file, imported, h.in, h.why)
				}
			}
		}
	}
}

func TestContracts_Imports(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		contract := slices.Contains([]string{"shared/base/fault", "shared/storage/store", "shared/storage/queue"}, s.pkg) && !s.test
		for _, imported := range s.imports {
			if contract && strings.Contains(strings.Split(imported, "/")[0], ".") {
				t.Errorf("%s imports %s, but contracts may use only the standard library", s.file, imported)
			}
		}
	}
}

func TestSuites_Imports(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if s.test || isSuite(s.pkg) {
			continue
		}
		for _, imported := range s.imports {
			if own, ok := strings.CutPrefix(imported, module+"/"); ok && isSuite(own) {
				t.Errorf("%s imports %s, a suite for tests only", s.file, imported)
			}
			if among(testOnly, imported) {
				t.Errorf("%s imports %s, which is for tests only", s.file, imported)
			}
		}
	}
}

func TestPackages_Comments(t *testing.T) {
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

// onePackage is the only group that is itself a package.
const onePackage = "shared/web"

func TestNamespaces_NoGo(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		namespace := s.pkg == "." || s.pkg == "shared" || path.Dir(s.pkg) == "shared" && s.pkg != onePackage
		if namespace {
			t.Errorf("%s: %s is a namespace; move the file into a package", s.file, s.pkg)
		}
		if strings.HasPrefix(s.pkg, "events") {
			t.Errorf("%s: %s holds samples; move the file into a package", s.file, s.pkg)
		}
	}
}

func TestPackages_NoInit(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if s.inits > 0 {
			t.Errorf("%s has an init function; pass in what it sets up", s.file)
		}
	}
}

// maxMain limits the lines of a Lambda's program. It only composes parts; logic belongs in a package.
const maxMain = 40

func TestMains_Lines(t *testing.T) {
	t.Parallel()
	mains := map[string]bool{}
	for _, s := range sources(t) {
		if !matches("functions/*/lambda", s.pkg) || s.test {
			continue
		}
		if path.Base(filepath.ToSlash(s.file)) != "main.go" {
			t.Errorf("%s: a Lambda's program is one file, main.go", s.file)
		}
		mains[s.pkg] = true
		if s.lines > maxMain {
			t.Errorf("%s has %d lines, want at most %d", s.file, s.lines, maxMain)
		}
	}
	if len(mains) < 14 {
		t.Errorf("%d programs found, want at least 14", len(mains))
	}
}
