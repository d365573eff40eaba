package sqlitedb_test

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"zombiezen.com/go/sqlite"

	"orgops/shared/storage/sqlitedb"
	"orgops/shared/testkit/errtest"
)

// TestDB_GrowLog lets the log grow while two processes commit to it. Every commit must be in the files as a power loss would leave
// them, and the log must have its full length.
func TestDB_GrowLog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	link := filepath.Join(dir, "link.db")
	errtest.Must(t, os.Symlink(filepath.Join(dir, "x.db"), link))
	errtest.Must(t, os.WriteFile(filepath.Join(dir, "x.db"), nil, 0o600))
	a, b := open(t, link), open(t, filepath.Join(dir, "x.db"))
	const writes = 400
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := a.GrowLog(t.Context()); err != nil {
			t.Error(err)
		}
	})
	for i, db := range []*sqlitedb.DB{a, b} {
		wg.Go(func() {
			for n := range int64(writes) {
				if err := db.Write(t.Context(), &insert{id: n*2 + int64(i)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()

	copied := t.TempDir()
	for _, name := range []string{"x.db", "x.db-wal"} {
		content, err := os.ReadFile(filepath.Join(dir, name))
		errtest.Must(t, err)
		errtest.Must(t, os.WriteFile(filepath.Join(copied, name), content, 0o600))
		if size := len(content) >> 20; name == "x.db-wal" && size != 34 {
			t.Errorf("the log has %d MiB, want 34", size)
		}
	}
	after := open(t, filepath.Join(copied, "x.db"))
	if got := count(t, after); got != 2*writes {
		t.Errorf("%d rows in the copy, want %d acknowledged ones", got, 2*writes)
	}
	errtest.Must(t, after.Read(t.Context(), func(conn *sqlite.Conn) error {
		stmt, err := conn.Prepare("PRAGMA integrity_check")
		errtest.Must(t, err)
		if _, err := stmt.Step(); err != nil {
			return err
		}
		if got := stmt.ColumnText(0); got != "ok" {
			t.Errorf("integrity check of the copy: %s", got)
		}
		return stmt.Reset()
	}))
}

func TestDB_GrowLog_Ends(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	db := open(t, path)
	ended, stop := context.WithCancel(t.Context())
	stop()
	errtest.Must(t, db.GrowLog(ended))
	info, err := os.Stat(path + "-wal")
	errtest.Must(t, err)
	if info.Size() >= 1<<20 {
		t.Errorf("the log grew to %d bytes after the end of the context", info.Size())
	}
}
