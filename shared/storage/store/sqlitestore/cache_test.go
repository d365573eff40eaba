package sqlitestore_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"orgops/shared/storage/sqlitedb"
	"orgops/shared/storage/store"
	"orgops/shared/storage/store/sqlitestore"
	"orgops/shared/testkit/errtest"
)

// TestStore_GetDuringWrites checks that, despite the cache, Get sees every commit that returned before the call.
func TestStore_GetDuringWrites(t *testing.T) {
	t.Parallel()
	c := store.For(open(t, filepath.Join(t.TempDir(), "db")), "acme")
	if err := c.Commit(t.Context(), c.Create("N", "n", map[string]int{"n": 1})); err != nil {
		t.Fatal(err)
	}
	var answered sync.Map
	answered.Store("version", int64(1))
	var readers sync.WaitGroup
	done := make(chan struct{})
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				least, _ := answered.Load("version")
				item, err := c.Get(t.Context(), "N", nil)
				if err != nil {
					t.Error(err)
					return
				}
				if item.Version < least.(int64) {
					t.Errorf("version %d, want at least %d", item.Version, least)
					return
				}
			}
		})
	}
	defer readers.Wait() // even when the test ends early: t.Error must not run after the test
	defer close(done)
	for v := int64(1); v < 200; v++ {
		if err := c.Commit(t.Context(), c.Replace("N", "n", v, map[string]int64{"n": v + 1})); err != nil {
			t.Fatal(err)
		}
		answered.Store("version", v+1)
	}
}

// TestStore_GetAfterAnotherProcess checks that Get sees commits of another process, for which a second handle stands.
func TestStore_GetAfterAnotherProcess(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "db")
	ours, theirs := store.For(open(t, path), "acme"), store.For(open(t, path), "acme")
	if err := ours.Commit(t.Context(), ours.Create("N", "n", map[string]int{"n": 1})); err != nil {
		t.Fatal(err)
	}
	if _, err := ours.Get(t.Context(), "N", nil); err != nil {
		t.Fatal(err)
	}
	if err := theirs.Commit(t.Context(), theirs.Replace("N", "n", 1, map[string]int{"n": 2}).Quietly()); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(10 * time.Second)
	for {
		var body struct{ N int }
		item, err := ours.Get(t.Context(), "N", &body)
		if err != nil {
			t.Fatal(err)
		}
		if item.Version == 2 && body.N == 2 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("still version %d and n %d, want 2 of both", item.Version, body.N)
		}
	}
}

// TestStore_GetMany reads more items than the cache holds, each twice, with writes and deletions between.
func TestStore_GetMany(t *testing.T) {
	t.Parallel()
	c := store.For(open(t, filepath.Join(t.TempDir(), "db")), "acme")
	text := make([]byte, 100<<10)
	for i := range text {
		text[i] = 'x'
	}
	for i := range 60 {
		key := fmt.Sprint("K", i)
		if err := c.Commit(t.Context(), c.Create(key, "n", map[string]string{"n": key, "text": string(text)})); err != nil {
			t.Fatal(err)
		}
	}
	get := func(key string) string {
		t.Helper()
		var body struct{ N string }
		_, err := c.Get(t.Context(), key, &body)
		errtest.Must(t, err)
		return body.N
	}
	for range 2 {
		for i := range 60 {
			key := fmt.Sprint("K", i)
			if n := get(key); n != key {
				t.Fatalf("%s: n %q, want %[1]q", key, n)
			}
		}
	}
	if err := c.Commit(t.Context(), c.Delete("K1", "n", 1), c.Replace("K2", "n", 1, json.RawMessage(`{"n":"new"}`))); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Get(t.Context(), "K1", nil); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("after a deletion: %v, want ErrNotFound", err)
	}
	if n := get("K2"); n != "new" {
		t.Errorf("after a replacement: n %q, want new", n)
	}
}

func open(t *testing.T, path string) *sqlitestore.Store {
	t.Helper()
	db, err := sqlitedb.Open(t.Context(), path, sqlitedb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	st, err := sqlitestore.Open(t.Context(), db, sqlitestore.Options{Notice: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(st.Close(), db.Close()); err != nil {
			t.Error(err)
		}
	})
	return st
}
