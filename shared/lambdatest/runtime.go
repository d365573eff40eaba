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

	"orgops/shared/logtest"
)

// Function is a function's program, running under the Lambda Runtime API.
type Function struct {
	events  chan event
	results chan Result
	idle    chan struct{} // closed when the program first asks for an event
	begun   sync.Once
	asked   time.Time     // when it did
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

// Result is what became of one invocation.
type Result struct {
	Body   []byte // what the function answered
	Error  string // errorMessage, where the function failed
	Failed bool
}

// Deadline is how long an invocation may take, as the function is told.
const Deadline = time.Minute

// patience bounds what a program may take otherwise: until it asks for its first event, until it has ended. It takes
// milliseconds, but not on a busy machine.
const patience = time.Minute

// Start runs a program in an environment of NAME=value and nothing else, until the test ends.
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
		_ = cmd.Wait() // it is killed
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
		t.Fatalf("%s does not ask for events: %s", program, f.out)
	}
	return f
}

// Stop ends the program before the test does.
func (f *Function) Stop() { f.end() }

// Signal sends the program a signal that ends it. It is an error that it does not end.
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
		return fmt.Errorf("%v does not end it", signal)
	}
}

// Init is how long the program took from the start of its process to its first request for an event.
func (f *Function) Init() time.Duration { return f.init }

// CPU is the time that the program has had on a processor so far, which says more than a clock where others have some of
// the machine. It needs Linux.
func (f *Function) CPU(t testing.TB) time.Duration {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", f.process.Pid))
	if err != nil || len(threads) == 0 {
		t.Fatalf("no threads: %v", err)
	}
	var sum time.Duration
	for _, thread := range threads {
		var ran time.Duration
		text, err := os.ReadFile(thread)
		if err != nil {
			continue // it has ended
		}
		if _, err := fmt.Sscan(string(text), &ran); err != nil {
			t.Fatal(err)
		}
		sum += ran
	}
	return sum
}

// PeakMemory is the most that the process has had resident so far, in KiB. It needs Linux.
func (f *Function) PeakMemory(t testing.TB) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", f.process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_, peak, _ := strings.Cut(string(status), "VmHWM:")
	var kib int
	if _, err := fmt.Sscan(peak, &kib); err != nil {
		t.Fatalf("no peak in %s: %v", status, err)
	}
	return kib
}

// Log is what the program has written.
func (f *Function) Log() string { return f.out.String() }

// Invoke sends one event and waits for what becomes of it.
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

// ServeHTTP is the Runtime API, version 2018-06-01.
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
			_, _ = w.Write(e.payload) // a program that has gone shows in ended
		case <-r.Context().Done():
		}
	case strings.HasSuffix(path, "/response"):
		body, _ := io.ReadAll(r.Body) // what is cut off does not decode
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
