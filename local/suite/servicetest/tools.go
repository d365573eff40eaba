package servicetest

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"orgops/shared/testkit/errtest"
)

// Root is the path of the repository from a folder of local, where the tests run.
const Root = "../../.."

// Full skips a test with go test -short, which runs what needs Go alone. needs names what else the test takes.
func Full(t *testing.T, needs string) {
	t.Helper()
	if testing.Short() {
		t.Skipf("needs %s: run the test without -short", needs)
	}
}

// Installed returns the full path of what make tools installs. With -short it skips the test.
func Installed(t *testing.T, path string) string {
	t.Helper()
	Full(t, path)
	full, err := filepath.Abs(filepath.Join(Root, path))
	errtest.Must(t, err)
	if _, err := os.Stat(full); err != nil {
		t.Fatalf("%s is missing: run make tools", path)
	}
	return full
}

// Command runs a program to its end and returns its output. A failure ends the test and shows the output.
func Command(t *testing.T, within time.Duration, prepare func(*exec.Cmd), name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = 30 * time.Second
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if prepare != nil {
		prepare(cmd)
	}
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v (%v)\n%s", filepath.Base(name), err, ctx.Err(), output.String())
	}
	return output.String()
}
