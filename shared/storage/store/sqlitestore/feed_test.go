package sqlitestore_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/base/id"
	"orgops/shared/storage/sqlitedb"
	"orgops/shared/storage/store"
	"orgops/shared/storage/store/sqlitestore"
	"orgops/shared/testkit/errtest"
)

// consume runs a consumer until it has received the change of key last. It returns the changes as "sequence key", with a *
// for a replay.
func consume(t *testing.T, s *sqlitestore.Store, name, last string) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var got []string
	found := false
	err := s.Consume(ctx, name, func(_ context.Context, b store.Batch, done func(error)) {
		mark := map[bool]string{true: "*"}[b.Replay]
		for _, c := range b.Changes {
			got = append(got, fmt.Sprintf("%s %s%s", c.Sequence, c.Key, mark))
			found = c.Key == last
		}
		done(nil)
		if found {
			cancel()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if !found {
		t.Fatalf("received %q, want %s as the last", got, last)
	}
	return got
}

func commit(t *testing.T, s store.Store, ops ...store.Op) {
	t.Helper()
	if err := s.Commit(t.Context(), ops...); err != nil {
		t.Fatal(err)
	}
}

// TestStore_Behind lets a consumer fall behind the changes that the feed keeps in memory.
func TestStore_Behind(t *testing.T) {
	t.Parallel()
	const rounds = 60
	s := openStore(t, openFile(t, filepath.Join(t.TempDir(), "x.db")), sqlitestore.Options{Consumers: []string{"alpha"}, Unfinished: 10})
	c := store.For(s, id.New())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	first, blocked := make(chan struct{}), make(chan struct{})
	ended := make(chan error, 1)
	var seen []string
	go func() {
		ended <- s.Consume(ctx, "alpha", func(_ context.Context, b store.Batch, done func(error)) {
			if len(seen) == 0 {
				close(first)
				<-blocked
			}
			for _, change := range b.Changes {
				seen = append(seen, change.Key)
			}
			done(nil)
			if seen[len(seen)-1] == "LAST" {
				cancel()
			}
		})
	}()
	commit(t, s, c.Create("FIRST", "note", body))
	<-first
	want := []string{"FIRST"}
	for round := range rounds {
		var ops []store.Op
		for i := range store.MaxOps {
			key := fmt.Sprintf("N#%02d#%02d", round, i)
			want = append(want, key)
			ops = append(ops, c.Create(key, "note", body))
		}
		commit(t, s, ops...)
	}
	commit(t, s, c.Create("LAST", "note", body))
	want = append(want, "LAST")
	close(blocked)
	select {
	case err := <-ended:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the consumer does not catch up")
	}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

func TestStore_Reopen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	company := id.New()
	reopen := func() (*sqlitestore.Store, store.Company, func()) {
		db, err := sqlitedb.Open(t.Context(), path, sqlitedb.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s, err := sqlitestore.Open(t.Context(), db, sqlitestore.Options{Consumers: []string{"alpha"}})
		if err != nil {
			t.Fatal(err)
		}
		return s, store.For(s, company), func() { s.Close(); db.Close() }
	}
	s, c, end := reopen()
	commit(t, s, c.Create("A", "note", body))
	commit(t, s, c.Create("B", "note", body))
	if diff := cmp.Diff([]string{"1 A*", "2 B*"}, consume(t, s, "alpha", "B")); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	commit(t, s, c.Create("C", "note", body))
	end()

	s, c, end = reopen()
	defer end()
	item, err := c.Get(t.Context(), "C", nil)
	errtest.Must(t, err)
	if item.Version != 1 {
		t.Errorf("C at version %d after reopening, want 1", item.Version)
	}
	if diff := cmp.Diff([]string{"3 C*"}, consume(t, s, "alpha", "C")); diff != "" {
		t.Errorf("changes after reopening (-want +got):\n%s", diff)
	}
}

// TestStore_OtherProcess commits through a second handle on the file, as the admin command does.
func TestStore_OtherProcess(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	s := openStore(t, openFile(t, path), sqlitestore.Options{Consumers: []string{"alpha"}, Notice: 5 * time.Millisecond})
	admin := openStore(t, openFile(t, path), sqlitestore.Options{})
	company := id.New()
	ours, theirs := store.For(s, company), store.For(admin, company)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	commit(t, s, ours.Create("A", "note", body))
	var seen []string
	err := s.Consume(ctx, "alpha", func(_ context.Context, b store.Batch, done func(error)) {
		for _, c := range b.Changes {
			seen = append(seen, c.Key)
		}
		done(nil)
		next := map[int]store.Op{1: theirs.Create("B", "note", body), 2: ours.Create("C", "note", body), 3: theirs.Create("D", "note", body)}
		if op, more := next[len(seen)]; more {
			by := s
			if len(seen) != 2 {
				by = admin
			}
			if err := by.Commit(ctx, op); err != nil {
				t.Error(err)
			}
		} else {
			cancel()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"A", "B", "C", "D"}, seen); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

func TestStore_Trim(t *testing.T) {
	t.Parallel()
	now := time.Now().UTC()
	db := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	o := sqlitestore.Options{Consumers: []string{"alpha", "beta"}, Now: func() time.Time { return now }, Upkeep: -1}
	s := openStore(t, db, o)
	c := store.For(s, id.New())
	for i := range 250 {
		commit(t, s, c.Create(fmt.Sprintf("N#%03d", i), "note", body))
	}
	trim := func(s *sqlitestore.Store, name string, want int) {
		t.Helper()
		n, err := s.Trim(t.Context())
		errtest.Must(t, err)
		if n != want {
			t.Errorf("%s: removed %d, want %d", name, n, want)
		}
	}
	consume(t, s, "alpha", "N#249")
	now = now.Add(48 * time.Hour)
	trim(s, "one consumer has not started", 0)
	consume(t, s, "beta", "N#249")
	now = now.Add(-25 * time.Hour)
	trim(s, "all consumers past, changes 23 h old", 0)
	now = now.Add(2 * time.Hour)
	trim(openStore(t, db, sqlitestore.Options{Now: o.Now, Upkeep: -1}), "a store without consumers", 0)
	trim(s, "all consumers past, changes 25 h old", 249)
	trim(s, "the newest change stays", 0)

	commit(t, s, c.Create("NEXT", "note", body))
	if diff := cmp.Diff([]string{"251 NEXT*"}, consume(t, s, "alpha", "NEXT")); diff != "" {
		t.Errorf("changes after the trim (-want +got):\n%s", diff)
	}
}

func TestStore_Upkeep(t *testing.T) {
	t.Parallel()
	s := openStore(t, openFile(t, filepath.Join(t.TempDir(), "x.db")), sqlitestore.Options{
		Consumers: []string{"alpha"}, Upkeep: 5 * time.Millisecond,
	})
	c := store.For(s, id.New())
	var ops []store.Op
	for i := range store.MaxOps - 1 {
		ops = append(ops, c.Create(fmt.Sprintf("N#%d", i), "note", body).Quietly().Until(time.Now().Add(-time.Hour)))
	}
	commit(t, s, append(ops, c.Create("LAST", "note", body).Until(time.Now().Add(-time.Minute)))...)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	gone := false
	err := s.Consume(ctx, "alpha", func(_ context.Context, b store.Batch, done func(error)) {
		for _, change := range b.Changes {
			if change.Key != "LAST" {
				t.Errorf("received the quiet change of %s", change.Key)
			}
			gone = gone || change.Old != nil && change.New == nil
		}
		done(nil)
		if gone {
			cancel()
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if !gone {
		t.Error("removal of the expired item not received")
	}
}

func TestStore_ConsumeRefused(t *testing.T) {
	t.Parallel()
	s := openStore(t, openFile(t, filepath.Join(t.TempDir(), "x.db")), sqlitestore.Options{Consumers: []string{"alpha"}})
	nothing := func(_ context.Context, _ store.Batch, done func(error)) { done(nil) }
	if err := s.Consume(t.Context(), "stranger", nothing); err == nil {
		t.Error("unknown consumer accepted")
	}
	ctx, cancel := context.WithCancel(t.Context())
	begun, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- s.Consume(ctx, "alpha", func(_ context.Context, _ store.Batch, done func(error)) { done(nil); close(begun) })
	}()
	c := store.For(s, id.New())
	commit(t, s, c.Create("A", "note", body))
	<-begun
	if err := s.Consume(t.Context(), "alpha", nothing); err == nil {
		t.Error("second Consume under the same name accepted")
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestStore_Closed(t *testing.T) {
	t.Parallel()
	db := openFile(t, filepath.Join(t.TempDir(), "x.db"))
	s := openStore(t, db, sqlitestore.Options{})
	c := store.For(s, id.New())
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Commit(t.Context(), c.Create("A", "note", body)); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("commit: %v, want ErrUnavailable", err)
	}
	if _, err := c.Get(t.Context(), "A", nil); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("get: %v, want ErrUnavailable", err)
	}
}
