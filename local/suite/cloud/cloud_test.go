package cloud

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"orgops/local/suite/servicetest"
	"orgops/shared/testkit/errtest"
)

// The black-box tests cover the stack itself; they start it once.

// TestEmulator runs the emulator's own tests.
func TestEmulator(t *testing.T) {
	t.Parallel()
	servicetest.Full(t, "what make tools installs")
	found, err := findTools()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 3*time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, found.python, "-m", "unittest", "discover",
		"--start-directory", "emulator", "--top-level-directory", ".", "--pattern", "*_test.py")
	cmd.Env = append(withoutAWS(os.Environ()), "TMPDIR="+t.TempDir())
	output, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	var ran int
	if _, after, found := bytes.Cut(output, []byte("\nRan ")); found {
		ran, _ = strconv.Atoi(string(bytes.Fields(after)[0])) // 0, which fails below
	}
	if ran < 40 {
		t.Errorf("%d tests ran, want at least 40:\n%s", ran, output)
	}
}

// TestProcess_End ends a process: its children end too.
func TestProcess_End(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "log")
	p, err := begin(t.Context(), command{log: log, program: "/bin/sh", args: []string{"-c", "sleep 600 & echo $!; wait"}})
	if err != nil {
		t.Fatal(err)
	}
	grandchild := eventually(t, func() (int, bool) {
		pid, err := strconv.Atoi(strings.TrimSpace(string(p.tail())))
		return pid, err == nil
	})
	if !runs(grandchild) {
		t.Fatalf("process %d does not run", grandchild)
	}
	p.end()
	eventually(t, func() (int, bool) { return 0, !runs(grandchild) })
}

// TestProcess_Orphan closes the process's pipes, as the death of its parent does: everything that it started ends.
func TestProcess_Orphan(t *testing.T) {
	t.Parallel()
	p, err := begin(t.Context(), command{program: "/bin/sh", args: []string{"-c", "sleep 600 & echo $!; wait"}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.end()
	grandchild := eventually(t, func() (int, bool) {
		pid, err := strconv.Atoi(strings.TrimSpace(string(p.tail())))
		return pid, err == nil
	})
	p.alive.Close()
	<-p.ended
	eventually(t, func() (int, bool) { return 0, !runs(grandchild) })
}

func runs(pid int) bool {
	// A zombie, whose parent has not waited for it yet, does not run.
	state, err := exec.Command("ps", "-o", "stat=", "-p", strconv.Itoa(pid)).Output()
	return err == nil && !strings.HasPrefix(strings.TrimSpace(string(state)), "Z")
}

func eventually[T any](t *testing.T, what func() (T, bool)) T {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(time.Minute)
	for {
		if v, ok := what(); ok {
			return v
		}
		select {
		case <-deadline:
			t.Fatal("condition not met within a minute")
		case <-tick.C:
		}
	}
}

func TestRun_Failure(t *testing.T) {
	t.Parallel()
	err := tools{}.run(t.Context(), t.TempDir(), nil, "/bin/sh", "-c", "echo because; exit 4")
	wantError(t, err, "exit status 4", "because")
}

func wantError(t *testing.T, err error, holds ...string) {
	t.Helper()
	for _, want := range holds {
		if got := errtest.Message(err); !strings.Contains(got, want) {
			t.Errorf("error %q, want one with %q", got, want)
		}
	}
}

func TestStack_Refusals(t *testing.T) {
	t.Parallel()
	s := &Stack{Home: t.TempDir()}
	all, err := s.Refusals()
	errtest.Must(t, err)
	if len(all) != 0 {
		t.Errorf("refusals = %v, want none before the first", all)
	}
	file := filepath.Join(s.Home, "refusals.jsonl")
	lines := `{"role":"a","action":"sqs:SendMessage","resource":"q","reason":"because"}` + "\n" + `{"role":"b","action":"x","resource":"*","reason":"y"}` + "\n"
	errtest.Must(t, os.WriteFile(file, []byte(lines), 0o600))
	all, err = s.Refusals()
	errtest.Must(t, err)
	want := []Refusal{{"a", "sqs:SendMessage", "q", "because"}, {"b", "x", "*", "y"}}
	if !slices.Equal(all, want) {
		t.Errorf("refusals = %v, want %v", all, want)
	}
	errtest.Must(t, os.WriteFile(file, []byte("{"), 0o600))
	if _, err := s.Refusals(); err == nil {
		t.Error("an incomplete line was accepted")
	}
}

func TestStack_Drops(t *testing.T) {
	t.Parallel()
	s := &Stack{Home: t.TempDir()}
	errtest.Must(t, os.WriteFile(filepath.Join(s.Home, "dropped.jsonl"), []byte(`{"function":"retrier","event":"{}"}`+"\n"), 0o600))
	all, err := s.Drops()
	errtest.Must(t, err)
	if want := []Drop{{"retrier", "{}"}}; !slices.Equal(all, want) {
		t.Errorf("drops = %v, want %v", all, want)
	}
}

func TestStack_Evidence(t *testing.T) {
	t.Parallel()
	s := &Stack{Home: t.TempDir()}
	if err := s.evidence(); err != nil {
		t.Errorf("without a log: %v", err)
	}
	folder := filepath.Join(s.LogFolder(), "Orgops-EventsrotatorFunctionC39-8c4c01ab")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	lines := "{\"level\":\"INFO\",\"msg\":\"began\"}\n{\"level\":\"ERROR\",\"msg\":\"no key\"}\n"
	if err := os.WriteFile(filepath.Join(folder, "1.log"), []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	err := s.evidence()
	wantError(t, err, "rotator", "no key")
	if got := errtest.Message(err); strings.Contains(got, "began") {
		t.Errorf("error %q, want one without lines of other levels", got)
	}
}
