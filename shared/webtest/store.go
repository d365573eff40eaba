package webtest

import (
	"context"
	"path/filepath"
	"testing"

	"orgops/shared/sqlitedb"
	"orgops/shared/store/sqlitestore"
)

// Consumer is the one name under which tests may consume the harness's change feed.
const Consumer = "test"

// openStore opens a real store in a directory of the test's own.
func openStore(t testing.TB) *sqlitestore.Store {
	t.Helper()
	db, err := sqlitedb.Open(context.Background(), filepath.Join(t.TempDir(), "orgops.db"), sqlitedb.Options{})
	must(t, err)
	s, err := sqlitestore.Open(context.Background(), db, sqlitestore.Options{Consumers: []string{Consumer}})
	must(t, err)
	t.Cleanup(func() {
		must(t, s.Close())
		must(t, db.Close())
	})
	return s
}
