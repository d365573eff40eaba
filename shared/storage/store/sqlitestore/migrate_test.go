package sqlitestore_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"orgops/shared/storage/sqlitedb"
	"orgops/shared/storage/store"
	"orgops/shared/storage/store/sqlitestore"
	"orgops/shared/testkit/errtest"
)

// TestOpen_Migrates checks that a file of version 0.1.0, whose items have no row ids, keeps every item.
func TestOpen_Migrates(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db := openFile(t, filepath.Join(t.TempDir(), "orgops.db"))
	if err := db.Migrate(ctx, "store", sqlitestore.Steps()[:1]); err != nil {
		t.Fatal(err)
	}
	const items = 300
	at := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	if err := db.Write(ctx, oldItems(items, at)); err != nil {
		t.Fatal(err)
	}

	s := openStore(t, db, sqlitestore.Options{Now: func() time.Time { return at.Add(time.Minute) }, Upkeep: -1})
	c := store.For(s, "acme")
	item, err := c.Get(ctx, "NOTE#007", nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(store.Item{Key: "NOTE#007", Entity: "note", Version: 7, At: at, Body: []byte(`{"n":7}`)}, item); diff != "" {
		t.Errorf("item 7 (-want +got):\n%s", diff)
	}
	n := 0
	for item, err := range c.Items(ctx, store.Query{Prefix: "NOTE#"}) {
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("NOTE#%03d", n); item.Key != want {
			t.Fatalf("item %d has the key %s, want %s", n, item.Key, want)
		}
		n++
	}
	if n != items {
		t.Errorf("%d items, want %d", n, items)
	}
	if err := c.Commit(ctx, c.Create("NOTE#007", "note", struct{}{})); !errors.Is(err, store.ErrConflict) {
		t.Errorf("create an item that exists: %v, want ErrConflict", err)
	}
	if err := c.Commit(ctx, c.Save("NOTE#007", "note", 7, struct{}{})); err != nil {
		t.Errorf("replace an item: %v", err)
	}
}

// TestOpen_Migrates_Timers finds the timers of a former version, whose partitions were those of their hours.
func TestOpen_Migrates_Timers(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	db := openFile(t, filepath.Join(t.TempDir(), "orgops.db"))
	errtest.Must(t, db.Migrate(ctx, "store", sqlitestore.Steps()[:2]))
	errtest.Must(t, db.Write(ctx, sqlitedb.Do(func(conn *sqlite.Conn) error {
		return sqlitex.Execute(conn, `INSERT INTO item (pk, sk, entity, version, at, expires, quiet, body)
			VALUES ('DUE#2026112309#3', '2026-11-23T09:30:00.000Z#acme#kind#subject', 'timer', 1, 0, 0, 1, '{}')`, nil)
	})))
	s := openStore(t, db, sqlitestore.Options{Upkeep: -1})
	page, err := s.Query(ctx, store.Due(3), store.DueBy(time.Date(2026, 11, 23, 9, 30, 0, 0, time.UTC)))
	errtest.Must(t, err)
	if n := len(page.Items); n != 1 {
		t.Errorf("%d timers are due in the shard, want 1", n)
	}
}

// oldItems writes items as version 0.1.0 did, item n with version n, in no order.
func oldItems(n int, at time.Time) sqlitedb.Do {
	return func(conn *sqlite.Conn) error {
		for i := range n {
			i = (i*7 + 3) % n
			err := sqlitex.Execute(conn, `INSERT INTO item (pk, sk, entity, version, at, expires, quiet, body) VALUES (?, ?, 'note', ?, ?, 0, 0, ?)`,
				&sqlitex.ExecOptions{Args: []any{"C#acme", fmt.Sprintf("NOTE#%03d", i), i, at.UnixMilli(), []byte(fmt.Sprintf(`{"n":%d}`, i))}})
			if err != nil {
				return err
			}
		}
		return nil
	}
}
