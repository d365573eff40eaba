package sqlitedb_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"zombiezen.com/go/sqlite"

	"orgops/shared/storage/sqlitedb"
)

// TestDB_ReadWarm reads while many goroutines write, and closes the database in between. Each read must see the write before it, or
// end with ErrClosed.
func TestDB_ReadWarm(t *testing.T) {
	t.Parallel()
	for range 5 {
		db := open(t, filepath.Join(t.TempDir(), "x.db"))
		var wg sync.WaitGroup
		for worker := range int64(8) {
			wg.Go(func() { writeAndRead(t, db, worker<<32) })
		}
		wg.Go(func() {
			for id := int64(-200); id < 0; id++ {
				if err := db.Write(t.Context(), &insert{id: id}); err != nil {
					t.Error(err)
				}
			}
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
		wg.Wait()
	}
}

// writeAndRead adds rows and reads each, until the database is closed.
func writeAndRead(t *testing.T, db *sqlitedb.DB, first int64) {
	for id := first; ; id++ {
		if err := db.Write(t.Context(), &insert{id: id}); errors.Is(err, sqlitedb.ErrClosed) {
			return
		} else if err != nil {
			t.Errorf("write: %v", err)
			return
		}
		var found []bool // of each run of the read
		err := db.ReadWarm(t.Context(), func(conn *sqlite.Conn) error {
			ok, err := has(conn, id)
			found = append(found, ok)
			return err
		})
		if errors.Is(err, sqlitedb.ErrClosed) {
			return
		}
		if err != nil {
			t.Errorf("read of row %d: %v", id, err)
			return
		}
		if !slices.Equal(found, []bool{true}) {
			t.Errorf("read of row %d: found %t, want true in one run", id, found)
			return
		}
	}
}

func has(conn *sqlite.Conn, id int64) (bool, error) {
	stmt, err := conn.Prepare("SELECT 1 FROM thing WHERE id = ?")
	if err != nil {
		return false, err
	}
	stmt.BindInt64(1, id)
	found, err := stmt.Step()
	return found, errors.Join(err, stmt.Reset())
}

func TestDB_ReadWarm_Cancelled(t *testing.T) {
	t.Parallel()
	db := open(t, filepath.Join(t.TempDir(), "x.db"))
	ended, stop := context.WithCancel(t.Context())
	stop()
	if err := db.ReadWarm(ended, func(*sqlite.Conn) error { return errors.New("the read ran") }); !errors.Is(err, context.Canceled) {
		t.Errorf("read after the end of its context: %v", err)
	}
}
