package blackbox_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const root = "../.."

// startLocal is the program as a newcomer runs it, on an empty folder.
func startLocal(t *testing.T) *target {
	return startProgram(t, build(t), "ORGOPS_DATA="+filepath.Join(t.TempDir(), "data"))
}

// build makes the program, as a user gets it.
func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "orgops")
	if built, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, root+"/local").CombinedOutput(); err != nil {
		t.Fatalf("build the program: %v\n%s", err, built)
	}
	return program
}

// startProgram runs the program with settings of its own. It ends with the test.
func startProgram(t *testing.T, program string, settings ...string) *target {
	t.Helper()
	addr := freeAddress(t)
	env := append(append(os.Environ(), "ORGOPS_ADDR="+addr, "ORGOPS_LOG=debug"), settings...)
	log := &output{}
	cmd := exec.CommandContext(context.Background(), program)
	cmd.Env, cmd.Stderr = env, log
	must(t, cmd.Start())
	t.Cleanup(func() { stop(t, cmd) })
	admin := func(ctx context.Context, password string, args ...string) (string, error) {
		return adminCommand(ctx, program, env, password, args...)
	}
	tg := &target{
		url: "http://" + addr, log: log.String, patience: 30 * time.Second, every: 25 * time.Millisecond,
		createCompany: func(ctx context.Context, name, email, password string) (string, error) {
			return admin(ctx, password, "company", "create", "--name", name, "--email", email)
		},
		addMember: func(ctx context.Context, company, email, password string) error {
			_, err := admin(ctx, password, "user", "add", "--company", company, "--email", email, "--role", "member")
			return err
		},
	}
	tg.awaitHealth(t)
	return tg
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	must(t, l.Close())
	return l.Addr().String()
}

// stop ends the program as an operator does, and finds that it goes.
func stop(t *testing.T, cmd *exec.Cmd) {
	_ = cmd.Process.Signal(os.Interrupt) // it may have ended
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("the program ended with %v", err)
		}
	case <-time.After(30 * time.Second):
		t.Error("the program did not end within 30 s of being told to")
		_ = cmd.Process.Kill()
		<-ended
	}
}

// adminCommand runs a command of the operator, and returns the company that it tells of.
func adminCommand(ctx context.Context, program string, env []string, password string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, append([]string{"admin"}, append(args, "--password-stdin")...)...)
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

// awaitHealth returns when the service answers.
func (tg *target) awaitHealth(t *testing.T) {
	t.Helper()
	client := newClient()
	err := poll(t.Context(), tg.patience, tg.every, func() (bool, error) {
		a, err := send(t.Context(), client, tg.url, get("/healthz"))
		return err == nil && a.status == http.StatusOK, nil
	})
	if err != nil {
		t.Fatalf("the service does not answer: %v\n%s", err, tail(tg.log()))
	}
}

var errLate = errors.New("it has not come about in time")

// poll asks until ok.
func poll(ctx context.Context, within, every time.Duration, ask func() (ok bool, err error)) error {
	deadline := time.NewTimer(within)
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
			return errLate
		case <-again.C:
		}
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
