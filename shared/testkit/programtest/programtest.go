// Package programtest builds the programs that tests start.
package programtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"orgops/shared/testkit/errtest"
)

// Build writes the program of a package to a file. Go keeps the programs that go run starts in its cache, until something in them
// changes, so the program is taken from there: it is linked once for all tests. from is a folder of the module ("" for the current one).
// environment adds variables such as GOARCH=arm64. As in a release and in a deployment, no program has C in it.
func Build(ctx context.Context, from, pkg, file string, environment []string, flags ...string) error {
	cmd := exec.CommandContext(ctx, "go", append(append([]string{"run"}, flags...), "-exec=cp", pkg, file)...)
	cmd.Dir = from
	cmd.Env = append(append(os.Environ(), "CGO_ENABLED=0"), environment...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w: %s", pkg, err, out)
	}
	return nil
}

// Orgops builds the program that an operator starts, and returns its path. The file goes with the test.
func Orgops(t testing.TB) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "orgops")
	errtest.Must(t, Build(t.Context(), "", "orgops/local", file, nil))
	return file
}
