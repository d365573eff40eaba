// Command emulate deploys the service to an AWS emulator on this machine, creates a company, prints how to use both, and runs
// until it is stopped.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"orgops/local/suite/cloud"
	"orgops/shared/domain/company"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Stdout)
	stop()
	if err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "emulate:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer) (err error) {
	stack, err := cloud.Start(ctx, cloud.Options{Log: out})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stack.Close()) }()
	made, err := stack.CreateCompany(ctx, "Demo", "founder@example.com", "")
	if err != nil {
		return err
	}
	guide(out, stack, made)
	return stack.Wait(ctx)
}

func guide(out io.Writer, s *cloud.Stack, c company.Provisioned) {
	fmt.Fprintf(out, `
API       %s
company   %s
founder   %s
password  %s
logs      %s

Log in:
  curl -s %s/auth/login -H 'Content-Type: application/json' -d '{"email":"%s","password":"%s"}'

Inspect the stack with the AWS CLI (version 1 is at .tools/cloud/bin/aws), for example aws sqs list-queues:
  export %s

Ctrl-C stops the stack and removes everything.
`, s.URL, c.CompanyID, c.Email, c.Password, s.LogFolder(), s.URL, c.Email, c.Password, strings.Join(s.Environment(), " "))
}
