package lambdatest_test

import (
	"crypto/sha256"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// maxSize is what a program may have, in bytes: what is larger takes longer to load at each cold start.
const maxSize = 12 << 20

// TestBuild_Reproducible: the program that is deployed depends on the source alone, not on where or when it is built.
func TestBuild_Reproducible(t *testing.T) {
	t.Parallel()
	source, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := filepath.Join(t.TempDir(), "a-folder-of-another-name")
	if err := os.Symlink(source, elsewhere); err != nil {
		t.Fatal(err)
	}
	var sums [2][32]byte
	for i, from := range []string{source, elsewhere} {
		out := filepath.Join(t.TempDir(), "bootstrap")
		cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-tags", "lambda.norpc",
			"-o", out, "./functions/authorizer/lambda")
		cmd.Dir = from
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=arm64", "PWD="+from)
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		program, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		if len(program) > maxSize {
			t.Errorf("%d bytes, more than %d", len(program), maxSize)
		}
		sums[i] = sha256.Sum256(program)
	}
	if sums[0] != sums[1] {
		t.Errorf("two builds differ: %x, %x", sums[0], sums[1])
	}
}
