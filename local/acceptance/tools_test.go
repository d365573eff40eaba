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
)

const root = "../.."

// nodeModules is where make tools has put the packages from npm.
func nodeModules(t *testing.T) string {
	t.Helper()
	return installed(t, ".tools/node/node_modules")
}

// python runs in the environment that make tools has made.
func python(t *testing.T) string {
	t.Helper()
	return installed(t, ".tools/python/bin/python")
}

func installed(t *testing.T, path string) string {
	t.Helper()
	full, err := filepath.Abs(filepath.Join(root, path))
	must(t, err)
	if _, err := os.Stat(full); err != nil {
		t.Fatalf("%s is missing: run make tools", path)
	}
	return full
}

// command runs a program to its end and returns what it wrote; a failure ends the test and shows it.
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

// node runs a script of testdata with the packages from npm at hand: a script that comes from standard input takes
// its imports from the folder it runs in.
func node(t *testing.T, script string, env ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", script))
	must(t, err)
	modules := nodeModules(t)
	return command(t, time.Minute, func(cmd *exec.Cmd) {
		cmd.Dir, cmd.Stdin = filepath.Dir(modules), strings.NewReader(string(text))
		cmd.Env = append(os.Environ(), env...)
	}, "node", "--input-type=module", "-")
}
