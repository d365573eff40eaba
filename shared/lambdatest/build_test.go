package lambdatest_test

import (
	"crypto/sha256"
	"os"
	"path/filepath"
	"testing"

	"orgops/shared/lambdatest"
)

// maxSize is what a program may have, in bytes: what is larger takes longer to load at each cold start.
const maxSize = 12_000_000

// functions are the names of those that have a program.
func functions(t testing.TB) []string {
	t.Helper()
	folders, err := filepath.Glob("../../functions/*/lambda")
	if err != nil || len(folders) < 14 {
		t.Fatalf("%d functions were found: %v", len(folders), err)
	}
	names := make([]string, 0, len(folders))
	for _, f := range folders {
		names = append(names, filepath.Base(filepath.Dir(f)))
	}
	return names
}

// TestBuild: every program that is deployed is small enough, and depends on the source alone, not on where it is built.
func TestBuild(t *testing.T) {
	t.Parallel()
	source, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := filepath.Join(t.TempDir(), "a-folder-of-another-name")
	if err := os.Symlink(source, elsewhere); err != nil {
		t.Fatal(err)
	}
	for _, name := range functions(t) {
		t.Run(name, func(t *testing.T) {
			one, other := deployed(t, source, name), deployed(t, elsewhere, name)
			if one.sum != other.sum {
				t.Errorf("two builds differ: %x, %x", one.sum, other.sum)
			}
			if one.size > maxSize {
				t.Errorf("%d bytes, more than %d", one.size, maxSize)
			}
		})
	}
}

type program struct {
	size int
	sum  [sha256.Size]byte
}

func deployed(t *testing.T, from, name string) program {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bootstrap")
	if err := lambdatest.Compile(t.Context(), from, "./functions/"+name+"/lambda", path, "GOOS=linux", "GOARCH=arm64", "PWD="+from); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return program{len(text), sha256.Sum256(text)}
}
