// Package cloud deploys the CDK app into an AWS on this machine, without Docker and without an account: the same template,
// the same programs. What stands in for AWS is the emulator in the folder beside it, LocalStack with its gaps mended.
//
// It is for correctness, never for speed: a request takes about 100 ms. What the emulator does not do: ask IAM whether a
// role may, count a plan's requests, write access logs, traces and alarms, end a request after 29 seconds, work on several
// batches of a shard at once, rotate the signing key again by itself.
//
// It needs what `make tools` installs under .tools, and a system of the Unix kind.
package cloud

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// Options say how a stack is started. The zero value is fine.
type Options struct {
	Log io.Writer // is told what takes long, and how long it took; nil: nobody
}

// Stack is a deployed stack, in an AWS of its own.
type Stack struct {
	URL      string // of the API: URL+"/auth/login" is a route
	Endpoint string // of every AWS service
	Home     string // folder of all that the emulator writes; it goes with the stack
	Outputs  map[string]string

	emulator *process
}

// Start starts an emulator and deploys the stack into it. Cancelling ctx ends a start under way, and the stack. The caller
// closes it; should it die first, everything that was started ends by itself.
func Start(ctx context.Context, o Options) (*Stack, error) {
	if o.Log == nil {
		o.Log = io.Discard
	}
	t, err := findTools()
	if err != nil {
		return nil, err
	}
	home, err := os.MkdirTemp("", "orgops-cloud-")
	if err != nil {
		return nil, err
	}
	s := &Stack{Home: home}
	err = os.Mkdir(s.temporary(), 0o700)
	if err == nil {
		err = s.start(ctx, t, o.Log)
	}
	if err != nil {
		return nil, errors.Join(err, s.evidence(), s.Close())
	}
	return s, nil
}

func (s *Stack) start(ctx context.Context, t tools, log io.Writer) error {
	built := make(chan error, 1)
	go func() { built <- step(log, "building the functions", func() error { return t.build(ctx) }) }()
	prepared := s.prepare(ctx, t, log)
	if err := errors.Join(prepared, <-built); err != nil {
		return err
	}
	return step(log, "deploying the stack", func() error { return s.deploy(ctx, t) })
}

// prepare makes an AWS that can be deployed into.
func (s *Stack) prepare(ctx context.Context, t tools, log io.Writer) error {
	err := step(log, "starting the emulator", func() (err error) {
		s.emulator, s.Endpoint, err = t.emulate(ctx, s.Home)
		return err
	})
	if err != nil {
		return err
	}
	return step(log, "bootstrapping the account", func() error { return t.bootstrap(ctx, s) })
}

// step says what is done, and how long it took.
func step(log io.Writer, what string, do func() error) error {
	begun := time.Now()
	err := do()
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	fmt.Fprintf(log, "%-26s %5.1f s\n", what, time.Since(begun).Seconds())
	return nil
}

// Wait waits until ctx is done, and returns nil, or until the emulator has ended by itself.
func (s *Stack) Wait(ctx context.Context) error {
	select {
	case <-s.emulator.ended:
		return s.emulator.exited()
	case <-ctx.Done():
		return nil
	}
}

// Close ends everything and removes the stack's home.
func (s *Stack) Close() error {
	if s.emulator != nil {
		s.emulator.end()
	}
	return os.RemoveAll(s.Home)
}

// Where every resource is, as far as the emulator is concerned.
const (
	account = "000000000000"
	region  = "us-east-1"
)

// Environment is what a client of AWS, or awsclient.Read, reads to reach the emulator, as NAME=value.
func (s *Stack) Environment() []string {
	return []string{
		"AWS_ENDPOINT_URL=" + s.Endpoint, "AWS_ENDPOINT_URL_S3=" + s.Endpoint, "AWS_REGION=" + region, "AWS_DEFAULT_REGION=" + region,
		"AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test",
	}
}

// temporary is the folder for temporary files, which the emulator uses as well.
func (s *Stack) temporary() string { return filepath.Join(s.Home, "tmp") }

// LogFolder holds a folder for each function that has run, named like it, with a file for each of its sandboxes; the log
// of the emulator itself is emulator.log in Home.
func (s *Stack) LogFolder() string { return filepath.Join(s.Home, "logs") }
