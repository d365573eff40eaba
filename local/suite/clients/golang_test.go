package clients_test

import (
	"testing"

	"orgops/local/suite/servicetest"
)

// golang generates the client with oapi-codegen, and builds and vets it with the program.
func golang(t *testing.T, folder string) []string {
	t.Helper()
	generator := servicetest.Installed(t, ".tools/clients-go/oapi-codegen")
	copyTo(t, folder, "golang/go.mod", "golang/go.sum", "golang/main.go", "golang/oapi-codegen.yaml")
	run(t, folder, nil, generator, "-config", "oapi-codegen.yaml", "openapi.json")
	// make tools has downloaded the modules.
	offline := []string{"GOPROXY=off", "GOWORK=off"}
	run(t, folder, offline, "go", "build", "-o", "program", ".")
	run(t, folder, offline, "go", "vet", "./...")
	return []string{"./program"}
}
