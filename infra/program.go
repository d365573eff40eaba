package main

import (
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"

	"orgops/infra/api"
)

// built names the folder where `make build-lambdas` puts the programs.
const built = "build"

// workers lists the functions that are not route groups.
func workers() []string {
	return []string{"authorizer", "projector", "dispatcher", "retrier", "syncer", "notifier", "ticker", "rotator", "provisioner"}
}

func functionNames(groups []api.Group) []string {
	names := workers()
	for _, g := range groups {
		names = append(names, g.Name)
	}
	return names
}

// machine names a processor as the CDK, Go and a program's header do.
type machine struct {
	arch, goarch string
	header       elf.Machine
}

func (s settings) machine() machine {
	if s.Architecture == awslambda.Architecture_X86_64() {
		return machine{"x86_64", "amd64", elf.EM_X86_64}
	}
	return machine{"arm64", "arm64", elf.EM_AARCH64}
}

// programs returns an error if a function could not start, because its program is missing or made for another processor. A
// folder that the context names may hold programs for another system than Linux, because an emulator on this machine runs
// them.
func (s settings) programs(functions []string) error {
	found := map[string][]string{} // functions by the kind of their program
	for _, name := range functions {
		header, err := machineOf(filepath.Join(s.Assets, name, "bootstrap"))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			found["no program"] = append(found["no program"], name)
		case err != nil && s.Assets != built:
		case err != nil:
			found["no Linux program"] = append(found["no Linux program"], name)
		case header != s.machine().header:
			other := "a program of " + strings.TrimPrefix(header.String(), "EM_")
			found[other] = append(found[other], name)
		}
	}
	if len(found) == 0 {
		return nil
	}
	var wrong []string
	for _, what := range slices.Sorted(maps.Keys(found)) {
		wrong = append(wrong, fmt.Sprintf("%s for %s", what, strings.Join(found[what], ", ")))
	}
	return fmt.Errorf("%s/<function>/bootstrap cannot run on %s: %s. Run make build-lambdas LAMBDA_ARCH=%s, or make deploy, which builds first",
		s.Assets, s.machine().arch, strings.Join(wrong, "; "), s.machine().goarch)
}

func machineOf(file string) (elf.Machine, error) {
	program, err := elf.Open(file)
	if err != nil {
		return 0, err
	}
	return program.Machine, program.Close()
}
