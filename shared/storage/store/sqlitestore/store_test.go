package sqlitestore_test

import (
	"path/filepath"
	"testing"
	"time"

	"orgops/shared/storage/sqlitedb"
	"orgops/shared/storage/store/sqlitestore"
	"orgops/shared/storage/store/storetest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, storetest.Harness{
		Unfinished: 32, Shares: true,
		Open: func(t *testing.T, now func() time.Time) storetest.Driver {
			return openStore(t, openFile(t, filepath.Join(t.TempDir(), "orgops.db")), sqlitestore.Options{
				Now: now, Consumers: storetest.Consumers(), Unfinished: 32, Upkeep: -1,
			})
		},
		Sweep: func(t *testing.T, d storetest.Driver) {
			if err := d.(*sqlitestore.Store).Sweep(t.Context()); err != nil {
				t.Fatal(err)
			}
		},
	})
}

func openFile(t testing.TB, path string) *sqlitedb.DB {
	t.Helper()
	db, err := sqlitedb.Open(t.Context(), path, sqlitedb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func openStore(t testing.TB, db *sqlitedb.DB, o sqlitestore.Options) *sqlitestore.Store {
	t.Helper()
	s, err := sqlitestore.Open(t.Context(), db, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
