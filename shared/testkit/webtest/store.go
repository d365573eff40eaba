package webtest

import (
	"context"
	"path/filepath"
	"testing"

	"orgops/shared/storage/sqlitedb"
	"orgops/shared/storage/store/sqlitestore"
	"orgops/shared/testkit/errtest"
)

// Consumer names the only consumer of the harness's change feed.
const Consumer = "test"

// OpenStore opens a real store in the test's own directory, and closes it at the end of the test.
func OpenStore(t testing.TB) *sqlitestore.Store {
	t.Helper()
	db, err := sqlitedb.Open(context.Background(), filepath.Join(t.TempDir(), "orgops.db"), sqlitedb.Options{})
	errtest.Must(t, err)
	s, err := sqlitestore.Open(context.Background(), db, sqlitestore.Options{Consumers: []string{Consumer}})
	errtest.Must(t, err)
	t.Cleanup(func() {
		errtest.Must(t, s.Close())
		errtest.Must(t, db.Close())
	})
	return s
}
