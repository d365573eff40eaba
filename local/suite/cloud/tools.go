package cloud

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// tools holds the paths of the programs under the module's .tools. All others come from the machine.
type tools struct {
	root                       string // of the module
	python, cdklocal, dynamodb string
}

// findTools finds the tools. Its error names everything that is missing.
func findTools() (tools, error) {
	root, err := moduleRoot()
	if err != nil {
		return tools{}, err
	}
	installed := filepath.Join(root, ".tools")
	t := tools{
		root: root, python: filepath.Join(installed, "cloud/bin/python"),
		cdklocal: filepath.Join(installed, "cdk/node_modules/.bin/cdklocal"), dynamodb: filepath.Join(installed, "java/dynamodb-local"),
	}
	var problems []error
	for _, file := range []string{filepath.Join(installed, "cloud/requirements.txt"), t.cdklocal, filepath.Join(t.dynamodb, "pom.xml")} {
		if _, err := os.Stat(file); err != nil {
			problems = append(problems, fmt.Errorf("%s is missing: run make tools", file))
		}
	}
	for _, program := range []string{"make", "go", "node", "java"} {
		if _, err := exec.LookPath(program); err != nil {
			problems = append(problems, fmt.Errorf("%s is missing: run make needs, which says how to install it", program))
		}
	}
	return t, errors.Join(problems...)
}

// moduleRoot returns the folder of go.mod, at or above the working folder.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("no go.mod in this folder or above; run it inside the module, because the stack is built from source")
		}
		dir = parent
	}
}

// functions returns the folder of the functions' programs for this machine. The folder persists between starts. The programs
// for AWS have another folder.
func (t tools) functions() string {
	return filepath.Join(t.root, "bin", "functions-"+runtime.GOOS+"-"+runtime.GOARCH)
}

func (t tools) build(ctx context.Context) error {
	return t.run(ctx, t.root, nil, "make", "--silent", "build-lambdas",
		"LAMBDA_OS="+runtime.GOOS, "LAMBDA_ARCH="+runtime.GOARCH, "LAMBDA_DIR="+t.functions())
}

// emulated returns the context values of a stack on this machine: its programs, and loopback as a network that deliveries may
// reach.
func (t tools) emulated() []string {
	arch := map[string]string{"amd64": "x86_64"}[runtime.GOARCH]
	if arch == "" {
		arch = runtime.GOARCH
	}
	return []string{
		"--context", "arch=" + arch, "--context", "assets=" + t.functions(), "--context", "emulator=true", "--context", "allowNetworks=127.0.0.0/8,::1/128",
		"--context", "planLimits=false", // the tests of a stack are faster than a plan allows
	}
}

// bootstrap prepares the account for the CDK. It runs outside the app's folder, because the CDK would synthesize the app
// first.
func (t tools) bootstrap(ctx context.Context, s *Stack) error {
	return t.run(ctx, s.Home, s.cdk(), t.cdklocal, "bootstrap", "aws://"+account+"/"+region)
}

// deploy deploys the stack with more context values, and writes its outputs to a file.
func (t tools) deploy(ctx context.Context, s *Stack, outputs string, values []string) error {
	output := filepath.Join(s.Home, "cdk.out")
	if err := t.keepZips(output); err != nil {
		return err
	}
	args := append([]string{
		"deploy", stackName, "--require-approval", "never", "--outputs-file", outputs, "--output", output,
	}, t.emulated()...)
	for _, value := range values {
		args = append(args, "--context", value)
	}
	return t.run(ctx, t.root, s.cdk(), t.cdklocal, args...)
}

// keepZips lets the CDK find what another stack has zipped today, under the digest of its content. To zip all programs takes 14 s of CPU
// time.
func (t tools) keepZips(output string) error {
	const kept = 24 * time.Hour
	zips := filepath.Join(t.root, "bin", "zips")
	if err := errors.Join(os.MkdirAll(zips, 0o700), os.MkdirAll(output, 0o700)); err != nil {
		return err
	}
	files, err := os.ReadDir(zips)
	if err != nil {
		return err
	}
	for _, f := range files {
		if info, err := f.Info(); err == nil && time.Since(info.ModTime()) > kept {
			os.Remove(filepath.Join(zips, f.Name()))
		}
	}
	if err := os.Symlink(zips, filepath.Join(output, ".cache")); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil // the stack is deployed again
}

// cdk returns the environment of the CDK. The CDK leaves temporary files behind, so they go to a folder that Close removes.
// The app is built as the functions are.
func (s *Stack) cdk() []string {
	return append(s.Environment(), "TMPDIR="+s.temporary(), "CGO_ENABLED=0")
}

// run runs a program to its end. Its error includes the end of the output.
func (t tools) run(ctx context.Context, dir string, env []string, program string, args ...string) error {
	p, err := begin(ctx, command{dir: dir, env: append(withoutAWS(os.Environ()), env...), program: program, args: args})
	if err != nil {
		return err
	}
	defer p.end()
	select {
	case <-p.ended:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if p.err != nil {
		return fmt.Errorf("%s: %w\n%s", filepath.Base(program), p.err, p.tail())
	}
	return nil
}

// withoutAWS returns env without the variables of an AWS account or the CDK.
func withoutAWS(env []string) []string {
	var kept []string
	for _, variable := range env {
		if !strings.HasPrefix(variable, "AWS_") && !strings.HasPrefix(variable, "CDK_") {
			kept = append(kept, variable)
		}
	}
	return kept
}
