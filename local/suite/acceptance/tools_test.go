package acceptance_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"orgops/local/suite/servicetest"
	"orgops/shared/testkit/errtest"
)

// nodeModules returns the folder where make tools installs the npm packages.
func nodeModules(t *testing.T) string {
	t.Helper()
	return servicetest.Installed(t, ".tools/node/node_modules")
}

// python returns the interpreter of the environment that make tools creates.
func python(t *testing.T) string {
	t.Helper()
	return servicetest.Installed(t, ".tools/python/bin/python")
}

// node runs a script of testdata with the npm packages. Node resolves the imports of a script from standard input in its
// working folder.
func node(t *testing.T, script string, env ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", script))
	errtest.Must(t, err)
	modules := nodeModules(t)
	return servicetest.Command(t, time.Minute, func(cmd *exec.Cmd) {
		cmd.Dir, cmd.Stdin = filepath.Dir(modules), strings.NewReader(string(text))
		cmd.Env = append(os.Environ(), env...)
	}, "node", "--input-type=module", "-")
}
