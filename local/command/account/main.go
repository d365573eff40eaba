// Command account compares a synthesized stack with the limits and quotas of the AWS account that it is to be deployed to. It
// prints a line for each limit: what fits, what is tight, and what does not fit, with the context value or the quota request
// that helps. `make deploy` runs it before it changes anything.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"orgops/shared/base/awsclient"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Getenv, os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "account:", err)
		os.Exit(1)
	}
}

// errTooSmall ends the command if the account cannot hold the stack.
var errTooSmall = errors.New("the account does not hold this stack; the lines above say what to change or to ask for. LIMITS=--anyway deploys regardless")

// run reads the stack, asks the account and prints the findings.
func run(ctx context.Context, args []string, getenv func(string) string, out io.Writer) error {
	f := flag.NewFlagSet("account", flag.ContinueOnError)
	app := f.String("app", "cdk.out", "the folder of the synthesized app")
	anyway := f.Bool("anyway", false, "report what does not fit, and succeed")
	if err := f.Parse(args); err != nil {
		return err
	}
	s, err := readStack(*app)
	if err != nil {
		return err
	}
	access, err := awsclient.Read(getenv)
	if err != nil {
		return err
	}
	refused := false
	for _, found := range judge(ctx, open(access), s) {
		fmt.Fprintln(out, found)
		refused = refused || found.verdict == refuses
	}
	if refused && !*anyway {
		return errTooSmall
	}
	return nil
}
