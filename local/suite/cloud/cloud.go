// Package cloud deploys the CDK app to an AWS emulator on this machine, without Docker and without an account. It uses the
// same template and the same programs. The emulator, in the folder emulator, is LocalStack with fixes for its gaps.
//
// Use it to test correctness, not speed: a request takes about 100 ms. The emulator checks the rights of the functions' roles. It
// does not count a plan's requests, write access logs, traces or alarms, end a request after 29 seconds, process several batches
// of a shard concurrently, or rotate the signing key on schedule.
//
// It needs what `make tools` installs under .tools, and a Unix system.
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

// Options configures a stack's start. The zero value works.
type Options struct {
	Log   io.Writer // receives each long step and its duration; nil discards them
	Slack *Slack    // nil: the operator has no Slack app
}

// Slack describes the operator's Slack app.
type Slack struct {
	URL    string // of a fake Slack
	Secret string // the app, as Secrets Manager keeps it
}

// Stack holds a deployed stack in an emulator of its own.
type Stack struct {
	URL      string // of the API: URL+"/auth/login" is a route
	Endpoint string // of every AWS service
	Home     string // folder with all of the emulator's files; Close removes it
	Outputs  map[string]string

	emulator *process
}

// Start starts an emulator and deploys the stack to it. The end of ctx stops the emulator and the deployment, even during
// the start. The caller closes the stack. If the calling process dies first, everything that it started ends too.
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
		err = s.start(ctx, t, o)
	}
	if err != nil {
		return nil, errors.Join(err, s.evidence(), s.Close())
	}
	return s, nil
}

func (s *Stack) start(ctx context.Context, t tools, o Options) error {
	log := o.Log
	built := make(chan error, 1)
	go func() { built <- step(log, "building the functions", func() error { return t.build(ctx) }) }()
	prepared := s.prepare(ctx, t, log)
	if err := errors.Join(prepared, <-built); err != nil {
		return err
	}
	return step(log, "deploying the stack", func() error {
		values, err := s.register(ctx, o.Slack)
		if err != nil {
			return err
		}
		return s.deploy(ctx, t, values...)
	})
}

// prepare starts the emulator and bootstraps its account.
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

// step runs a step and logs its duration.
func step(log io.Writer, what string, do func() error) error {
	begun := time.Now()
	err := do()
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	fmt.Fprintf(log, "%-26s %5.1f s\n", what, time.Since(begun).Seconds())
	return nil
}

// Wait returns nil when ctx ends, or an error when the emulator ends first.
func (s *Stack) Wait(ctx context.Context) error {
	select {
	case <-s.emulator.ended:
		return s.emulator.exited()
	case <-ctx.Done():
		return nil
	}
}

// Close ends all processes and removes the stack's home.
func (s *Stack) Close() error {
	if s.emulator != nil {
		s.emulator.end()
	}
	return os.RemoveAll(s.Home)
}

// The emulator keeps every resource in this account and region.
const (
	account = "000000000000"
	region  = "us-east-1"
)

// Environment returns the variables, as NAME=value, with which an AWS client or awsclient.Read reaches the emulator.
func (s *Stack) Environment() []string {
	return []string{
		"AWS_ENDPOINT_URL=" + s.Endpoint, "AWS_ENDPOINT_URL_S3=" + s.Endpoint, "AWS_REGION=" + region, "AWS_DEFAULT_REGION=" + region,
		"AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test",
	}
}

// temporary returns the folder for temporary files, which the emulator also uses.
func (s *Stack) temporary() string { return filepath.Join(s.Home, "tmp") }

// LogFolder returns the folder of the functions' logs. Each function that has run has a folder there, named like the
// function, with a file for each sandbox. The emulator's own log is emulator.log in Home.
func (s *Stack) LogFolder() string { return filepath.Join(s.Home, "logs") }
