package acceptance_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"orgops/shared/testkit/errtest"
)

const root = "../.."

// nodeModules returns the folder where make tools installs the npm packages.
func nodeModules(t *testing.T) string {
	t.Helper()
	return installed(t, ".tools/node/node_modules")
}

// python returns the interpreter of the environment that make tools creates.
func python(t *testing.T) string {
	t.Helper()
	return installed(t, ".tools/python/bin/python")
}

func installed(t *testing.T, path string) string {
	t.Helper()
	full, err := filepath.Abs(filepath.Join(root, path))
	errtest.Must(t, err)
	if _, err := os.Stat(full); err != nil {
		t.Fatalf("%s is missing: run make tools", path)
	}
	return full
}

// command runs a program to its end and returns its output. A failure ends the test and shows the output.
func command(t *testing.T, within time.Duration, prepare func(*exec.Cmd), name string, args ...string) string {
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

// node runs a script of testdata with the npm packages. Node resolves the imports of a script from standard input in its
// working folder.
func node(t *testing.T, script string, env ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", script))
	errtest.Must(t, err)
	modules := nodeModules(t)
	return command(t, time.Minute, func(cmd *exec.Cmd) {
		cmd.Dir, cmd.Stdin = filepath.Dir(modules), strings.NewReader(string(text))
		cmd.Env = append(os.Environ(), env...)
	}, "node", "--input-type=module", "-")
}
