// Package queuetest tests that every driver of queue.Queue behaves alike. It uses only the contract and the real clock, and
// asks for delays and leases in whole seconds, as SQS does.
package queuetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"orgops/shared/storage/queue"
)

// Harness gives the suite a driver.
type Harness struct {
	// Open returns an empty queue. The tests run in parallel, each with its own queue.
	Open func(t *testing.T) queue.Queue
}

const (
	// long is a lease that outlasts every test.
	long = 5 * time.Minute
	// patience limits how long a due message may take to arrive.
	patience = 30 * time.Second
)

// Run tests the driver.
func Run(t *testing.T, h Harness) {
	tests := []struct {
		name string
		run  func(t *testing.T, s suite)
	}{
		{"Receive", testReceive},
		{"ReceiveWaits", testReceiveWaits},
		{"Delay", testDelay},
		{"Lease", testLease},
		{"Ack", testAck},
		{"Defer", testDefer},
		{"Release", testRelease},
		{"Bury", testBury},
		{"Limits", testLimits},
		{"Concurrency", testConcurrency},
		{"Cancelled", testCancelled},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.run(t, suite{h.Open(t)})
		})
	}
}

type suite struct{ queue.Queue }

// varies ignores the fields of a received message that vary between drivers.
var varies = cmpopts.IgnoreFields(queue.Received{}, "Receipt", "Message.Due")

func text(body string) queue.Message { return queue.Message{Body: []byte(body), Group: "g"} }

func (s suite) send(t *testing.T, messages ...queue.Message) {
	t.Helper()
	if err := s.Send(t.Context(), messages...); err != nil {
		t.Fatalf("send: %v", err)
	}
}

// take waits for n messages and returns them by body.
func (s suite) take(t *testing.T, n int, lease time.Duration) map[string]queue.Received {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	got := make(map[string]queue.Received)
	for len(got) < n {
		batch, err := s.Receive(ctx, min(n-len(got), queue.MaxBatch), lease)
		if err != nil {
			t.Fatalf("receive: %v", err)
		}
		if len(batch) == 0 {
			t.Fatalf("received %d messages, want %d", len(got), n)
		}
		for _, r := range batch {
			if _, twice := got[string(r.Body)]; twice {
				t.Fatalf("%q received twice", r.Body)
			}
			got[string(r.Body)] = r
		}
	}
	return got
}

// only sends a marker and expects no other message to be due.
func (s suite) only(t *testing.T, marker string) {
	t.Helper()
	s.send(t, text(marker))
	got := s.take(t, 1, long)
	r, ok := got[marker]
	if !ok {
		t.Fatalf("got %v, want only %q", got, marker)
	}
	s.ack(t, r)
}

func (s suite) ack(t *testing.T, received ...queue.Received) {
	t.Helper()
	if err := s.Ack(t.Context(), received...); err != nil {
		t.Fatalf("ack: %v", err)
	}
}

// dead lists the dead letters.
func (s suite) dead(t *testing.T, most int) []queue.DeadLetter {
	t.Helper()
	letters, err := s.DeadLetters(t.Context(), most)
	if err != nil {
		t.Fatalf("dead letters: %v", err)
	}
	return letters
}

// redrive expects Redrive to send want messages again.
func (s suite) redrive(t *testing.T, want int) {
	t.Helper()
	got, err := s.Redrive(t.Context())
	if err != nil {
		t.Fatalf("redrive: %v", err)
	}
	if got != want {
		t.Fatalf("redrive of %d messages, want %d", got, want)
	}
}

func testReceive(t *testing.T, s suite) {
	body := make([]byte, 256) // any bytes
	for i := range body {
		body[i] = byte(i)
	}
	messages := []queue.Message{{Body: body, Group: "tenant-1"}, {Body: []byte("b"), Group: "tenant-2"}, {Body: []byte("c")}}
	s.send(t, messages...)
	got := s.take(t, 3, long)
	for _, m := range messages {
		r := got[string(m.Body)]
		if diff := cmp.Diff(queue.Received{Message: m, Receives: 1}, r, varies); diff != "" {
			t.Errorf("received message (-want +got):\n%s", diff)
		}
		if r.Receipt == "" {
			t.Errorf("message of group %q has no receipt, want one", m.Group)
		}
	}
	s.only(t, "last")
}

func testReceiveWaits(t *testing.T, s suite) {
	type answer struct {
		got []queue.Received
		err error
	}
	answers := make(chan answer, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		got, err := s.Receive(ctx, 1, long)
		answers <- answer{got, err}
	}()
	s.send(t, text("a"))
	a := <-answers
	if a.err != nil {
		t.Fatalf("receive: %v", a.err)
	}
	if diff := cmp.Diff([]queue.Received{{Message: text("a"), Receives: 1}}, a.got, varies); diff != "" {
		t.Errorf("received messages (-want +got):\n%s", diff)
	}
}

func testDelay(t *testing.T, s suite) {
	due := time.Now().Add(2 * time.Second)
	s.send(t, queue.Message{Body: []byte("later"), Group: "g", Due: due}, queue.Message{Body: []byte("past"), Group: "g", Due: due.Add(-time.Hour)})
	s.ack(t, s.take(t, 1, long)["past"])
	s.only(t, "now")
	got := s.take(t, 1, long)["later"]
	if early := time.Until(due); early > time.Millisecond {
		t.Errorf("received %v early, want when due", early)
	}
	if diff := got.Due.Sub(due).Abs(); diff > time.Second {
		t.Errorf("due %v, want %v", got.Due, due)
	}
}

func testLease(t *testing.T, s suite) {
	s.send(t, text("a"))
	start := time.Now()
	first := s.take(t, 1, 2*time.Second)["a"]
	s.only(t, "b")
	second := s.take(t, 1, long)["a"]
	if took := time.Since(start); took < 2*time.Second-time.Millisecond {
		t.Errorf("redelivered after %v, want at least the lease of 2s", took)
	}
	if second.Receives != 2 {
		t.Errorf("%d receives after a redelivery, want 2", second.Receives)
	}
	if second.Receipt == first.Receipt {
		t.Errorf("receipt %q of both leases, want another for the second", second.Receipt)
	}
	s.ack(t, second)
	s.only(t, "c")
}

func testRelease(t *testing.T, s suite) {
	s.send(t, text("a"))
	first := s.take(t, 1, long)["a"]
	start := time.Now()
	if err := s.Release(t.Context(), first, 2*time.Second); err != nil {
		t.Fatal(err)
	}
	s.only(t, "b")
	second := s.take(t, 1, long)["a"]
	if took := time.Since(start); took < 2*time.Second-time.Millisecond {
		t.Errorf("redelivered after %v, want at least 2s", took)
	}
	if second.Receives != 2 {
		t.Errorf("%d receives after a release, want 2", second.Receives)
	}
	if err := s.Release(t.Context(), first, 0); err != nil {
		t.Errorf("release with the receipt of an earlier lease: %v, want no error", err)
	}
	s.only(t, "c")
	s.ack(t, second)
}

func testAck(t *testing.T, s suite) {
	s.send(t, text("a"), text("b"), text("c"))
	got := s.take(t, 3, long)
	s.ack(t, got["a"], got["b"], got["c"])
	s.ack(t, got["a"]) // a second Ack of a message is no error
	s.ack(t)
	s.only(t, "last")
}

func testDefer(t *testing.T, s suite) {
	s.send(t, text("a"), text("b"))
	got := s.take(t, 2, long)
	due := time.Now().Add(2 * time.Second)
	for body, at := range map[string]time.Time{"a": due, "b": {}} {
		if err := s.Defer(t.Context(), got[body], at); err != nil {
			t.Fatal(err)
		}
	}
	b := s.take(t, 1, long)["b"]
	if b.Receives != 1 {
		t.Errorf("%d receives after a deferral, want 1", b.Receives)
	}
	s.ack(t, got["b"]) // the receipt from before the deferral
	s.only(t, "c")
	a := s.take(t, 1, long)["a"]
	if early := time.Until(due); early > time.Millisecond {
		t.Errorf("received %v early, want when due", early)
	}
	if a.Receives != 1 {
		t.Errorf("%d receives after a deferral by 2s, want 1", a.Receives)
	}
	if err := s.Defer(t.Context(), b, time.Time{}); err != nil {
		t.Fatal(err)
	}
	if got := s.take(t, 1, long)["b"]; got.Receives != 1 { // the ack with the old receipt has not removed it
		t.Errorf("%d receives after a second deferral, want 1", got.Receives)
	}
}

func testBury(t *testing.T, s suite) {
	if letters := s.dead(t, 10); len(letters) != 0 {
		t.Fatalf("dead letters %v, want none", letters)
	}
	s.redrive(t, 0)
	start := time.Now()
	for _, body := range []string{"a", "b", "c"} {
		m := queue.Message{Body: []byte(body), Group: "group of " + body}
		s.send(t, m)
		r := s.take(t, 1, long)[body]
		if err := s.Bury(t.Context(), r, "reason of "+body); err != nil {
			t.Fatal(err)
		}
	}
	s.only(t, "d")
	const slack = 2 * time.Second
	var got []string
	for _, l := range s.dead(t, 10) {
		got = append(got, fmt.Sprintf("%s, %s, %s", l.Body, l.Group, l.Reason))
		if age, most := time.Since(l.BuriedAt), time.Since(start)+slack; age < -slack || age > most {
			t.Errorf("buried %v ago, want between %v and %v", age, -slack, most)
		}
	}
	want := []string{"a, group of a, reason of a", "b, group of b, reason of b", "c, group of c, reason of c"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("dead letters (-want +got):\n%s", diff)
	}
	if n := len(s.dead(t, 2)); n != 2 {
		t.Errorf("listed %d letters, want 2", n)
	}

	s.redrive(t, 3)
	for body, r := range s.take(t, 3, long) {
		m := queue.Message{Body: []byte(body), Group: "group of " + body}
		if diff := cmp.Diff(queue.Received{Message: m, Receives: 1}, r, varies); diff != "" {
			t.Errorf("message sent again (-want +got):\n%s", diff)
		}
		s.ack(t, r)
	}
	if letters := s.dead(t, 10); len(letters) != 0 {
		t.Errorf("dead letters %v, want none", letters)
	}
	s.only(t, "e")
}

func testLimits(t *testing.T, s suite) {
	tests := []struct {
		name string
		size int
		ok   bool
	}{{"empty", 0, false}, {"largest", queue.MaxBody, true}, {"too large", queue.MaxBody + 1, false}}
	for _, tt := range tests {
		err := s.Send(t.Context(), queue.Message{Body: bytes.Repeat([]byte{0xff}, tt.size), Group: "g"})
		if ok := err == nil; ok != tt.ok {
			t.Errorf("%s: sent %t, want %t: %v", tt.name, ok, tt.ok, err)
		}
		if errors.Is(err, queue.ErrUnavailable) {
			t.Errorf("%s: %v, want it refused as invalid", tt.name, err)
		}
	}
	for _, r := range s.take(t, 1, long) {
		s.ack(t, r)
	}
	if err := s.Send(t.Context()); err != nil {
		t.Errorf("send without messages: %v", err)
	}
	var many []queue.Message
	for i := range 2*queue.MaxBatch + 5 {
		many = append(many, text(fmt.Sprint(i)))
	}
	s.send(t, many...)
	got, err := s.Receive(t.Context(), 10*queue.MaxBatch, long)
	if err != nil {
		t.Fatalf("receive: %v", err)
	}
	if n := len(got); n < 1 || n > queue.MaxBatch {
		t.Fatalf("%d messages, want 1 to %d", n, queue.MaxBatch)
	}
	want := len(many) - len(got)
	if rest := s.take(t, want, long); len(rest) != want {
		t.Errorf("then received %d messages, want %d", len(rest), want)
	}
	if _, err := s.Receive(t.Context(), 0, long); err == nil {
		t.Error("receive of 0 messages: no error, want one")
	}
}

// testConcurrency sends and receives from many goroutines, and expects every message once.
func testConcurrency(t *testing.T, s suite) {
	const workers, each = 6, 30
	ctx, cancel := context.WithTimeout(context.Background(), 3*patience)
	defer cancel()
	var mu sync.Mutex
	seen := make(map[string]int)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range each {
				m := queue.Message{Body: fmt.Appendf(nil, "%d/%d", w, i), Group: fmt.Sprint(w)}
				// A worker may receive the last messages, and end ctx, before their Send returns.
				if err := s.Send(context.WithoutCancel(ctx), m); err != nil {
					t.Error(err)
				}
			}
		})
		wg.Go(func() {
			for ctx.Err() == nil {
				got, err := s.Receive(ctx, 4, long)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				for _, r := range got {
					seen[string(r.Body)]++
				}
				if len(seen) == workers*each {
					cancel()
				}
				mu.Unlock()
				if err := s.Ack(context.WithoutCancel(ctx), got...); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if len(seen) != workers*each {
		t.Errorf("received %d messages, want %d", len(seen), workers*each)
	}
	for body, n := range seen {
		if n != 1 {
			t.Errorf("%s received %d times, want once", body, n)
		}
	}
}

func testCancelled(t *testing.T, s suite) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	for range 3 { // during and after the deadline
		// A driver may lease a message to a receive whose caller has gone. With this lease, the message is due again soon.
		got, err := s.Receive(ctx, 1, time.Second)
		if err != nil {
			t.Errorf("receive under a cancelled context: %v, want no error", err)
		}
		if len(got) != 0 {
			t.Errorf("received %v under a cancelled context, want nothing", got)
		}
	}
	s.only(t, "a")
}
