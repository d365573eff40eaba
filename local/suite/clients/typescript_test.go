package clients_test

import (
	"os"
	"path/filepath"
	"testing"

	"orgops/local/suite/servicetest"
	"orgops/shared/testkit/errtest"
)

// typescript generates the types with openapi-typescript and compiles the program, which uses them with openapi-fetch.
func typescript(t *testing.T, folder string) []string {
	t.Helper()
	modules := servicetest.Installed(t, ".tools/clients-node/node_modules")
	errtest.Must(t, os.Symlink(modules, filepath.Join(folder, "node_modules")))
	copyTo(t, folder, "typescript/program.mts", "typescript/tsconfig.json")
	run(t, folder, nil, "node_modules/.bin/openapi-typescript", "openapi.json", "--output", "schema.d.ts")
	run(t, folder, nil, "node", "node_modules/typescript-compiler/bin/tsc")
	return []string{"node", "built/program.mjs"}
}
