package clients_test

import (
	"path/filepath"
	"testing"

	"orgops/local/suite/servicetest"
)

// python generates the client with openapi-python-client, and checks it and the program with mypy.
func python(t *testing.T, folder string) []string {
	t.Helper()
	bin := servicetest.Installed(t, ".tools/clients-python/bin")
	copyTo(t, folder, "python/program.py", "python/config.yml")
	run(t, folder, nil, filepath.Join(bin, "openapi-python-client"), "generate", "--fail-on-warning",
		"--path", "openapi.json", "--config", "config.yml", "--output-path", "client", "--meta", "none")
	// mypy keeps what it knows of the libraries next to them.
	run(t, folder, nil, filepath.Join(bin, "mypy"), "--cache-dir", filepath.Join(filepath.Dir(bin), "mypy"), "--strict", "client", "program.py")
	return []string{filepath.Join(bin, "python"), "program.py"}
}
