package sqlitestore_test

import (
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"orgops/shared/storage/store/sqlitestore"
	"orgops/shared/testkit/errtest"
)

// TestStore_Background lets work in the background go on without a rest while no caller writes.
func TestStore_Background(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "orgops.db")
	synctest.Test(t, func(t *testing.T) {
		db := openFile(t, path)
		openStore(t, db, sqlitestore.Options{Consumers: []string{"alpha"}})
		<-time.After(time.Minute)
		began := time.Now()
		for range 100 {
			errtest.Must(t, db.Background(t.Context(), func() error {
				<-time.After(100 * time.Millisecond)
				return nil
			}))
		}
		if took := time.Since(began); took != 10*time.Second {
			t.Errorf("work of 10 s took %v", took)
		}
	})
}
