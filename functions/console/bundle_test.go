package console_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/evanw/esbuild/pkg/api"

	"orgops/functions/console"
	"orgops/shared/testkit/errtest"
)

var update = flag.Bool("update", false, "write the bundled files")

// vendored maps the imports of the libraries to their files, which are as npm delivered them.
func vendored() map[string]string {
	alias := map[string]string{}
	for imported, file := range map[string]string{
		"preact": "preact", "preact/hooks": "hooks", "@preact/signals": "signals", "@preact/signals-core": "signals-core", "htm": "htm",
	} {
		alias[imported] = "./vendor/" + file + ".mjs"
	}
	return alias
}

// bundle makes the served files from the folder web.
func bundle(t *testing.T) map[string][]byte {
	t.Helper()
	folder, err := filepath.Abs("web")
	errtest.Must(t, err)
	files := map[string][]byte{"licenses.txt": licenses(t)}
	build(t, files, api.BuildOptions{AbsWorkingDir: folder, EntryPoints: []string{"app.js", "app.css"}, External: []string{"./operations.js", "./sso.js"}, Alias: vendored()})
	build(t, files, api.BuildOptions{AbsWorkingDir: folder, EntryPoints: []string{"pages/operations.js", "pages/sso.js"}, Plugins: []api.Plugin{shared()}})
	for _, name := range []string{"index.html", "icon.svg"} {
		files[name], err = os.ReadFile(filepath.Join(folder, name))
		errtest.Must(t, err)
	}
	return files
}

// build adds the files of one bundle.
func build(t *testing.T, files map[string][]byte, o api.BuildOptions) {
	t.Helper()
	o.Outdir, o.Bundle, o.Format, o.Target, o.Charset = "/", true, api.FormatESModule, api.ES2022, api.CharsetUTF8
	o.MinifySyntax, o.MinifyWhitespace, o.MinifyIdentifiers, o.LegalComments = true, true, true, api.LegalCommentsNone
	result := api.Build(o)
	for _, m := range result.Errors {
		t.Errorf("%+v: %s", m.Location, m.Text)
	}
	for _, f := range result.OutputFiles {
		files[filepath.Base(f.Path)] = f.Contents
	}
}

// shared lets the pages that are read later import what app.js exports, so that they hold no copy of it.
func shared() api.Plugin {
	return api.Plugin{Name: "shared", Setup: func(b api.PluginBuild) {
		b.OnResolve(api.OnResolveOptions{Filter: `^\.\./(lib|ui)/`}, func(api.OnResolveArgs) (api.OnResolveResult, error) {
			return api.OnResolveResult{Path: "./app.js", External: true}, nil
		})
	}}
}

// licenses joins the licenses of the libraries, which their authors want to be with each copy.
func licenses(t *testing.T) []byte {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("web", "vendor", "*.LICENSE"))
	errtest.Must(t, err)
	var all bytes.Buffer
	for _, path := range paths {
		text, err := os.ReadFile(path)
		errtest.Must(t, err)
		all.WriteString(strings.TrimSuffix(filepath.Base(path), ".LICENSE") + "\n\n" + strings.TrimSpace(string(text)) + "\n\n")
	}
	return all.Bytes()
}

// TestBundle bundles the console again and compares the bytes with the embedded files.
func TestBundle(t *testing.T) {
	t.Parallel()
	files := bundle(t)
	if *update {
		errtest.Must(t, os.RemoveAll("dist"))
		errtest.Must(t, os.Mkdir("dist", 0o750))
		for name, content := range files {
			errtest.Must(t, os.WriteFile(filepath.Join("dist", name), content, 0o600))
		}
		return
	}
	for name, want := range files {
		if got, err := os.ReadFile(filepath.Join("dist", name)); err != nil {
			t.Errorf("%v; run go generate ./functions/console", err)
		} else if !bytes.Equal(got, want) {
			t.Errorf("dist/%s has %d bytes, want the %d bytes of a new bundle: run go generate ./functions/console", name, len(got), len(want))
		}
	}
	entries, err := os.ReadDir("dist")
	errtest.Must(t, err)
	for _, e := range entries {
		if files[e.Name()] == nil {
			t.Errorf("dist/%s is not part of the bundle", e.Name())
		}
	}
}

// TestBundle_Shared checks that app.js exports each name that a page imports from it. A browser refuses the whole page otherwise.
func TestBundle_Shared(t *testing.T) {
	t.Parallel()
	files := console.Embedded()
	names := func(text, list string, part int) map[string]bool {
		all := map[string]bool{}
		for _, found := range regexp.MustCompile(list).FindAllStringSubmatch(text, -1) {
			for _, name := range strings.Split(found[1], ",") {
				words := strings.Fields(name)
				all[words[min(part, 1)*(len(words)-1)]] = true
			}
		}
		return all
	}
	text := func(name string) string {
		content, err := os.ReadFile(filepath.Join("dist", name))
		errtest.Must(t, err)
		return string(content)
	}
	exported := names(text("app.js"), `export\{([^}]*)\}`, 1)
	for name := range files {
		if name == "app.js" || filepath.Ext(name) != ".js" {
			continue
		}
		imported := names(text(name), `import\{([^}]*)\}from"\./app\.js"`, 0)
		if len(imported) == 0 {
			t.Errorf("%s imports nothing of app.js, want at least html", name)
		}
		for one := range imported {
			if !exported[one] {
				t.Errorf("%s imports %s, which app.js does not export", name, one)
			}
		}
	}
}
