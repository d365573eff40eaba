package sqlitequeue_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"orgops/shared/storage/queue"
	"orgops/shared/storage/queue/queuetest"
	"orgops/shared/storage/queue/sqlitequeue"
	"orgops/shared/storage/sqlitedb"
)

func openFile(t testing.TB) *sqlitedb.DB {
	t.Helper()
	return openFileAt(t, filepath.Join(t.TempDir(), "orgops.db"))
}

func openFileAt(t testing.TB, path string) *sqlitedb.DB {
	t.Helper()
	db, err := sqlitedb.Open(t.Context(), path, sqlitedb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func open(t testing.TB, db *sqlitedb.DB, name string, o sqlitequeue.Options) *sqlitequeue.Queue {
	t.Helper()
	q, err := sqlitequeue.Open(t.Context(), db, name, o)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func TestQueue(t *testing.T) {
	t.Parallel()
	// All queues share one file, and none gets another's messages.
	db := openFile(t)
	var mu sync.Mutex
	n := 0
	queuetest.Run(t, queuetest.Harness{Open: func(t *testing.T) queue.Queue {
		mu.Lock()
		defer mu.Unlock()
		n++
		return open(t, db, fmt.Sprint("queue-", n), sqlitequeue.Options{Notice: time.Hour})
	}})
}

func send(t testing.TB, q queue.Queue, group string, bodies ...string) {
	t.Helper()
	var messages []queue.Message
	for _, body := range bodies {
		messages = append(messages, queue.Message{Body: []byte(body), Group: group})
	}
	if err := q.Send(t.Context(), messages...); err != nil {
		t.Fatal(err)
	}
}

func receive(t testing.TB, q queue.Queue, most int) []queue.Received {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	got, err := q.Receive(ctx, most, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) == 0 {
		t.Fatal("no message received")
	}
	return got
}

func TestQueue_Fairness(t *testing.T) {
	t.Parallel()
	q := open(t, openFile(t), "q", sqlitequeue.Options{})
	var bulk []string
	for i := range 3000 {
		bulk = append(bulk, fmt.Sprintf("bulk %04d", i))
	}
	send(t, q, "m", bulk...)
	receive(t, q, 10) // only the large group has messages yet
	for _, group := range []string{"", "a", "z"} {
		send(t, q, group, "one", "two")
	}
	// Two receives of eight go round all four groups at least twice.
	got := make(map[string]int)
	for range 2 {
		for _, r := range receive(t, q, 8) {
			if r.Group != "m" {
				got[r.Group]++
			}
		}
	}
	if diff := cmp.Diff(map[string]int{"": 2, "a": 2, "z": 2}, got); diff != "" {
		t.Errorf("messages of the small groups (-want +got):\n%s", diff)
	}
	// Receives of one message go round the groups too.
	send(t, q, "b", "one")
	send(t, q, "c", "one")
	var groups []string
	for range 3 {
		groups = append(groups, receive(t, q, 1)[0].Group)
	}
	for _, want := range []string{"b", "c"} {
		if !slices.Contains(groups, want) {
			t.Errorf("three receives of one message saw groups %q, want %q among them", groups, want)
		}
	}
}

func TestQueue_EarliestFirst(t *testing.T) {
	t.Parallel()
	q := open(t, openFile(t), "q", sqlitequeue.Options{})
	now := time.Now()
	for _, minutes := range []int{3, 1, 2, 5, 4} {
		m := queue.Message{Body: fmt.Append(nil, minutes), Group: "g", Due: now.Add(-time.Duration(minutes) * time.Minute)}
		if err := q.Send(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	for i, r := range receive(t, q, 10) {
		if want := fmt.Sprint(5 - i); string(r.Body) != want {
			t.Errorf("message %d was due %s minutes ago, want %s", i, r.Body, want)
		}
	}
}

func TestQueue_Reclaim(t *testing.T) {
	t.Parallel()
	db := openFile(t)
	q, other := open(t, db, "q", sqlitequeue.Options{}), open(t, db, "other", sqlitequeue.Options{})
	send(t, q, "g", "leased")
	send(t, other, "g", "other's")
	if err := q.Send(t.Context(), queue.Message{Body: []byte("later"), Due: time.Now().Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	first := receive(t, q, 10)[0] // "leased"
	receive(t, other, 1)
	n, err := q.Reclaim(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n != 1 {
		t.Fatalf("reclaimed %d messages, want 1", n)
	}
	if err := q.Ack(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	want := []queue.Received{{Message: first.Message, Receives: 2}}
	if diff := cmp.Diff(want, receive(t, q, 10), cmpopts.IgnoreFields(queue.Received{}, "Receipt")); diff != "" {
		t.Errorf("redelivered messages (-want +got):\n%s", diff)
	}
}

// TestQueue_OtherProcess sends through a second handle, as the admin command does.
func TestQueue_OtherProcess(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "orgops.db")
	q := open(t, openFileAt(t, path), "q", sqlitequeue.Options{Notice: 10 * time.Millisecond})
	second, err := sqlitedb.Open(t.Context(), path, sqlitedb.Options{Readers: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	got := make(chan []queue.Received, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		r, err := q.Receive(ctx, 1, time.Hour)
		if err != nil {
			t.Error(err)
		}
		got <- r
	}()
	send(t, open(t, second, "q", sqlitequeue.Options{}), "g", "a")
	if r := <-got; len(r) != 1 {
		t.Error("message of another process not received")
	}
}

func FuzzQueue_Ack(f *testing.F) {
	q := open(f, openFile(f), "q", sqlitequeue.Options{})
	send(f, q, "g", "a")
	for _, seed := range []string{"", "-", "1-0", "1--1", "1-1", "zz-zz-zz", "1-9999999999999999"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, receipt string) {
		r := queue.Received{Receipt: receipt}
		for _, err := range []error{q.Ack(t.Context(), r), q.Defer(t.Context(), r, time.Time{}), q.Bury(t.Context(), r, "x")} {
			if err != nil {
				t.Errorf("unknown receipt: %v, want it ignored", err)
			}
		}
	})
}

// BenchmarkQueue sends, receives and acknowledges, 32 at a time.
func BenchmarkQueue(b *testing.B) {
	q := open(b, openFile(b), "q", sqlitequeue.Options{})
	m := queue.Message{Body: make([]byte, 500), Group: "g"}
	b.SetParallelism(16)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := q.Send(b.Context(), m); err != nil {
				b.Error(err)
			}
			got, err := q.Receive(b.Context(), 1, time.Hour)
			if err != nil {
				b.Error(err)
			}
			if err := q.Ack(b.Context(), got...); err != nil {
				b.Error(err)
			}
		}
	})
}
