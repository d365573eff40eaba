package lambdatest

import (
	"context"
	"path/filepath"

	"orgops/shared/testkit/programtest"
)

// Build builds a function's program for this machine into folder, with the flags of a deployment, and returns its path.
func Build(ctx context.Context, function, folder string) (string, error) {
	program := filepath.Join(folder, function)
	return program, Compile(ctx, "", "orgops/functions/"+function+"/lambda", program)
}

// Flags are those of `make build-lambdas`.
var Flags = []string{"-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-tags", "lambda.norpc"}

// Compile builds a program with the flags of `make build-lambdas`, from a folder of the module ("" for the current one).
// environment adds variables such as GOARCH=arm64.
func Compile(ctx context.Context, from, pkg, program string, environment ...string) error {
	return programtest.Build(ctx, from, pkg, program, environment, Flags...)
}
