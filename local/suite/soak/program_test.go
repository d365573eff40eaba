package soak_test

import (
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"orgops/local/suite/servicetest"
	"orgops/shared/base/freeport"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/logtest"
	"orgops/shared/testkit/programtest"
)

// program runs the real program, and starts it again whenever it ends.
type program struct {
	t      *testing.T
	path   string
	url    string
	env    []string
	folder string // of the embedded backend
	log    *logtest.Log

	starts  atomic.Int64
	process atomic.Pointer[os.Process]
	closing chan struct{}
	closed  chan struct{}
}

// newProgram prepares the program with settings. run starts it.
func newProgram(t *testing.T, settings ...string) *program {
	t.Helper()
	port, err := freeport.Find(t.Context())
	errtest.Must(t, err)
	addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	p := &program{
		t: t, path: programtest.Orgops(t), url: "http://" + addr, folder: filepath.Join(t.TempDir(), "data"), log: &logtest.Log{},
		closing: make(chan struct{}), closed: make(chan struct{}),
	}
	p.env = append(append(os.Environ(), "ORGOPS_ADDR="+addr, "ORGOPS_DATA="+p.folder), settings...)
	return p
}

// run starts the program, and again each time that it ends, as a supervisor does, until the test ends.
func (p *program) run() {
	first := make(chan struct{})
	started := sync.OnceFunc(func() { close(first) })
	go func() {
		defer started()
		defer close(p.closed)
		for {
			cmd := exec.Command(p.path)
			cmd.Env, cmd.Stdout, cmd.Stderr = p.env, p.log, p.log
			if err := cmd.Start(); err != nil {
				p.t.Errorf("start the program: %v", err)
				return
			}
			p.process.Store(cmd.Process)
			p.starts.Add(1)
			started()
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			select {
			case <-ended:
			case <-p.closing:
				_ = cmd.Process.Kill()
				<-ended
				return
			}
		}
	}()
	<-first
	p.t.Cleanup(func() {
		close(p.closing)
		<-p.closed
		if p.t.Failed() {
			p.t.Logf("the program wrote at its end:\n%s", lastLines(p.log.String(), 60))
		}
	})
}

// kill kills the program with SIGKILL, which is as close to a power cut as a process can come, and waits until run has
// started it again.
func (p *program) kill() {
	running := p.process.Load()
	_ = running.Kill() // it may have ended
	for p.process.Load() == running {
		<-time.After(time.Millisecond)
	}
}

// admin runs a command of the operator and decodes what it prints.
func (p *program) admin(t *testing.T, into any, args ...string) {
	t.Helper()
	output := servicetest.Command(t, time.Minute, func(cmd *exec.Cmd) { cmd.Env = p.env }, p.path, append([]string{"admin"}, args...)...)
	start := strings.Index(output, "{")
	if start < 0 {
		t.Fatalf("admin %s printed %q, want JSON", strings.Join(args, " "), output)
	}
	errtest.Must(t, json.NewDecoder(strings.NewReader(output[start:])).Decode(into))
}

// exports runs a command of the operator that prints settings, and returns them.
func (p *program) exports(args ...string) (settings []string) {
	p.t.Helper()
	output := servicetest.Command(p.t, time.Minute, func(cmd *exec.Cmd) { cmd.Env = p.env }, p.path, append([]string{"admin"}, args...)...)
	for line := range strings.Lines(output) {
		if assignment, ok := strings.CutPrefix(strings.TrimSpace(line), "export "); ok {
			name, value, _ := strings.Cut(assignment, "=")
			settings = append(settings, name+"="+strings.Trim(value, "'"))
		}
	}
	return settings
}

func lastLines(text string, n int) string {
	lines := strings.Split(text, "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
