package main

import (
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"

	"orgops/infra/api"
)

// built is where `make build-lambdas` puts the programs.
const built = "build"

// workers are the functions that are no route groups.
func workers() []string {
	return []string{"authorizer", "projector", "dispatcher", "retrier", "syncer", "ticker", "rotator", "provisioner"}
}

func functionNames(groups []api.Group) []string {
	names := workers()
	for _, g := range groups {
		names = append(names, g.Name)
	}
	return names
}

// machine is a processor, as the CDK, Go and the header of a program call it.
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

// programs refuses functions that could not start: those without a program, or with one for another processor. What is no
// program of Linux may be in a folder that the context names, for an emulator on another system.
func (s settings) programs(functions []string) error {
	var missing, foreign []string
	for _, name := range functions {
		file := filepath.Join(s.Assets, name, "bootstrap")
		header, err := machineOf(file)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			missing = append(missing, file)
		case err != nil && s.Assets != built:
		case err != nil:
			foreign = append(foreign, fmt.Sprintf("%s is no program of Linux", file))
		case header != s.machine().header:
			foreign = append(foreign, fmt.Sprintf("%s is for %s", file, header))
		}
	}
	build := fmt.Sprintf("run make build-lambdas LAMBDA_ARCH=%s, or make deploy, which does that first", s.machine().goarch)
	switch {
	case len(missing) > 0:
		return fmt.Errorf("%s missing: %s", strings.Join(missing, ", "), build)
	case len(foreign) > 0:
		return fmt.Errorf("%s, and the functions are to run on %s: %s", strings.Join(foreign, ", "), s.machine().arch, build)
	}
	return nil
}

func machineOf(file string) (elf.Machine, error) {
	program, err := elf.Open(file)
	if err != nil {
		return 0, err
	}
	return program.Machine, program.Close()
}
