package blackbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/logtest"
	"orgops/shared/testkit/programtest"
)

// startLocal starts the program as a new user does, on an empty folder.
func startLocal(t *testing.T) *target {
	program := programtest.Orgops(t)
	started := startProgram(t, program)
	started.checks = []check{
		{"a connected provider", func(t *testing.T, _ *world) { connected(t, program) }},
		{"people and machines are told", func(t *testing.T, _ *world) { told(t, program) }},
	}
	return started
}

// startProgram starts the program with settings, on a port that the program chooses. It ends with the test.
func startProgram(t *testing.T, program string, settings ...string) *target {
	t.Helper()
	env := append(append(os.Environ(), "ORGOPS_ADDR=127.0.0.1:0", "ORGOPS_LOG=debug", "ORGOPS_DATA="+filepath.Join(t.TempDir(), "data")), settings...)
	log := &logtest.Log{}
	cmd := exec.CommandContext(context.Background(), program)
	cmd.Env, cmd.Stderr = env, log
	errtest.Must(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() { stop(t, cmd.Process, ended) })
	admin := func(ctx context.Context, password string, args ...string) (string, error) {
		return adminCommand(ctx, program, env, password, args...)
	}
	return &target{
		url: servesAt(t, log, ended), program: program, log: log.String, every: 25 * time.Millisecond,
		createCompany: func(ctx context.Context, name, email, password string) (string, error) {
			return admin(ctx, password, "company", "create", "--name", name, "--email", email)
		},
		addMember: func(ctx context.Context, company, email, password string) error {
			_, err := admin(ctx, password, "user", "add", "--company", company, "--email", email, "--role", "member")
			return err
		},
		setPlan: func(ctx context.Context, company, plan string) error {
			_, err := admin(ctx, "", "company", "plan", "--company", company, "--plan", plan)
			return err
		},
	}
}

// servesAt waits until the program logs the url that it serves at, and returns it.
func servesAt(t *testing.T, log *logtest.Log, ended chan error) (url string) {
	t.Helper()
	err := pollRunning(t.Context(), 10*time.Millisecond, ended, func() bool {
		for line := range strings.Lines(log.String()) {
			if is := decode[struct{ Msg, URL string }]([]byte(line)); is.Msg == "serving" {
				url = is.URL
			}
		}
		return url != ""
	})
	if err != nil {
		t.Fatalf("start the program: %v\n%s", err, tail(log.String()))
	}
	return url
}

// stop interrupts the program as an operator does, and fails the test unless it ends well.
func stop(t *testing.T, program *os.Process, ended <-chan error) {
	_ = program.Signal(os.Interrupt) // it may have ended
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("the program ended with %v", err)
		}
	case <-time.After(patience):
		t.Errorf("the program did not end within %s of the interrupt", patience)
		_ = program.Kill()
		<-ended
	}
}

// adminCommand runs a command of the operator, and returns the id of the company that it prints. password is "" for a command
// that takes none.
func adminCommand(ctx context.Context, program string, env []string, password string, args ...string) (string, error) {
	if password != "" {
		args = append(args, "--password-stdin")
	}
	cmd := exec.CommandContext(ctx, program, append([]string{"admin"}, args...)...)
	var problems bytes.Buffer
	cmd.Env, cmd.Stdin, cmd.Stderr = env, strings.NewReader(password+"\n"), &problems
	printed, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("admin %s: %w: %s", strings.Join(args, " "), err, problems.String())
	}
	var made struct{ CompanyID string }
	err = json.Unmarshal(printed, &made)
	return made.CompanyID, err
}

// patience bounds how long the effects of a request may take: seconds, unless the machine is busy.
const patience = 2 * time.Minute

// poll asks at intervals until ok or an error. It gives up after patience.
func poll(ctx context.Context, every time.Duration, ask func() (ok bool, err error)) error {
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	again := time.NewTicker(every)
	defer again.Stop()
	for {
		if ok, err := ask(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-deadline.C:
			return fmt.Errorf("not within %s", patience)
		case <-again.C:
		}
	}
}

// pollRunning does what poll does, and gives up when the program ends.
func pollRunning(ctx context.Context, every time.Duration, ended chan error, ask func() bool) error {
	return poll(ctx, every, func() (bool, error) {
		select {
		case err := <-ended:
			ended <- err // for stop
			return false, errors.Join(errors.New("the program ended"), err)
		default:
			return ask(), nil
		}
	})
}
