package lambdatest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"orgops/shared/testkit/logtest"
)

// Function runs a function's program under the Lambda Runtime API.
type Function struct {
	events  chan event
	results chan Result
	idle    chan struct{} // closed when the program first requests an event
	begun   sync.Once
	asked   time.Time     // when the program first requested an event
	init    time.Duration // from the start of the process to its first request for an event
	ended   chan struct{}
	out     *logtest.Log
	process *os.Process
	end     func()
}

type event struct {
	id      string
	payload []byte
}

// Result holds the result of one invocation.
type Result struct {
	Body   []byte // the function's answer
	Error  string // errorMessage, if the function failed
	Failed bool
}

// Deadline is the time limit of an invocation, as the Runtime API gives it to the function.
const Deadline = time.Minute

// patience limits how long a program takes to request its first event, or to end. A program needs milliseconds, or longer
// on a busy machine.
const patience = time.Minute

// Start runs a program with only these variables, each NAME=value, until the test ends.
func Start(t testing.TB, program string, environment ...string) *Function {
	t.Helper()
	f := &Function{
		events: make(chan event), results: make(chan Result, 1), idle: make(chan struct{}), ended: make(chan struct{}), out: &logtest.Log{},
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	server := httptest.NewServer(f)
	cmd := exec.CommandContext(ctx, program)
	cmd.Env = append([]string{"AWS_LAMBDA_RUNTIME_API=" + strings.TrimPrefix(server.URL, "http://")}, environment...)
	cmd.Stdout, cmd.Stderr = f.out, f.out
	started := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	f.process = cmd.Process
	go func() {
		_ = cmd.Wait() // its error says nothing, because stop kills the process
		close(f.ended)
	}()
	f.end = sync.OnceFunc(func() {
		stop()
		<-f.ended
		server.CloseClientConnections()
		server.Close()
		if t.Failed() {
			t.Logf("%s wrote: %s", filepath.Base(program), f.out)
		}
	})
	t.Cleanup(f.end)
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-f.idle:
		f.init = f.asked.Sub(started)
	case <-f.ended:
		t.Fatalf("%s ended: %s", program, f.out)
	case <-timer.C:
		t.Fatalf("%s requested no event within %v: %s", program, patience, f.out)
	}
	return f
}

// Stop ends the program before the end of the test.
func (f *Function) Stop() { f.end() }

// Signal sends the program a signal and waits for it to end. It returns an error if the program does not end.
func (f *Function) Signal(signal os.Signal) error {
	if err := f.process.Signal(signal); err != nil {
		return err
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-f.ended:
		return nil
	case <-timer.C:
		return fmt.Errorf("the program did not end within %v of signal %v", patience, signal)
	}
}

// Init returns the time from the start of the program's process to its first request for an event.
func (f *Function) Init() time.Duration { return f.init }

// CPU returns the CPU time of the program so far. It varies less than elapsed time on a shared machine. It needs Linux.
func (f *Function) CPU(t testing.TB) time.Duration {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", f.process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	if len(threads) == 0 {
		t.Fatalf("process %d has no threads", f.process.Pid)
	}
	var sum time.Duration
	for _, thread := range threads {
		var ran time.Duration
		text, err := os.ReadFile(thread)
		if err != nil {
			continue // the thread has ended
		}
		if _, err := fmt.Sscan(string(text), &ran); err != nil {
			t.Fatal(err)
		}
		sum += ran
	}
	return sum
}

// PeakMemory returns the process's peak resident memory so far, in KiB. It needs Linux.
func (f *Function) PeakMemory(t testing.TB) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", f.process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_, peak, _ := strings.Cut(string(status), "VmHWM:")
	var kib int
	if _, err := fmt.Sscan(peak, &kib); err != nil {
		t.Fatalf("no VmHWM in %s: %v", status, err)
	}
	return kib
}

// Log returns the program's output so far.
func (f *Function) Log() string { return f.out.String() }

// Invoke sends one event and waits for the result.
func (f *Function) Invoke(t testing.TB, payload []byte) Result {
	t.Helper()
	timer := time.NewTimer(Deadline + patience)
	defer timer.Stop()
	sent := f.events
	for {
		select {
		case sent <- event{strconv.FormatInt(time.Now().UnixNano(), 36), payload}:
			sent = nil
		case r := <-f.results:
			return r
		case <-f.ended:
			t.Fatalf("the function's process ended: %s", f.out)
		case <-timer.C:
			t.Fatalf("no answer: %s", f.out)
		}
	}
}

// ServeHTTP implements the Runtime API, version 2018-06-01.
func (f *Function) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/2018-06-01/runtime/")
	switch {
	case path == "invocation/next":
		f.begun.Do(func() {
			f.asked = time.Now()
			close(f.idle)
		})
		select {
		case e := <-f.events:
			h := w.Header()
			h.Set("Lambda-Runtime-Aws-Request-Id", e.id)
			h.Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(time.Now().Add(Deadline).UnixMilli(), 10))
			h.Set("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:eu-central-1:111122223333:function:test")
			h.Set("Content-Type", "application/json")
			_, _ = w.Write(e.payload) // fails only if the program has ended, and then ended is closed
		case <-r.Context().Done():
		}
	case strings.HasSuffix(path, "/response"):
		body, _ := io.ReadAll(r.Body) // a truncated body does not decode
		w.WriteHeader(http.StatusAccepted)
		f.results <- Result{Body: body}
	case strings.HasSuffix(path, "/error"):
		var failure struct {
			Message string `json:"errorMessage"`
		}
		_ = json.NewDecoder(r.Body).Decode(&failure)
		w.WriteHeader(http.StatusAccepted)
		f.results <- Result{Error: failure.Message, Failed: true}
	default:
		http.NotFound(w, r)
	}
}
