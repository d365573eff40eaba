package lambdatest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Build builds a function's program for this machine into folder, with the flags of a deployment, and returns its path.
func Build(ctx context.Context, function, folder string) (string, error) {
	program := filepath.Join(folder, function)
	return program, Compile(ctx, "", "orgops/functions/"+function+"/lambda", program)
}

// Compile builds a program with the flags of `make build-lambdas`, from a folder of the module ("" for the current one).
// environment adds variables such as GOARCH=arm64.
func Compile(ctx context.Context, from, pkg, program string, environment ...string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-tags", "lambda.norpc", "-o", program, pkg)
	cmd.Dir = from
	cmd.Env = append(append(os.Environ(), "CGO_ENABLED=0"), environment...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w: %s", pkg, err, out)
	}
	return nil
}
