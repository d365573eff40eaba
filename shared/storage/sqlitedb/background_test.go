package sqlitedb_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"orgops/shared/storage/sqlitedb"
	"orgops/shared/testkit/errtest"
)

// TestDB_Background lets one piece of work run at a time, and the next one wait for 19 times as long while units of Write keep coming.
func TestDB_Background(t *testing.T) {
	t.Parallel()
	work := func(t *testing.T, db *sqlitedb.DB) (took, waited time.Duration) {
		t.Helper()
		var end time.Time
		errtest.Must(t, db.Background(t.Context(), func() error {
			for start := time.Now(); took < time.Millisecond; end = time.Now() {
				took = time.Since(start)
			}
			return nil
		}))
		errtest.Must(t, db.Background(t.Context(), func() error { waited = time.Since(end); return nil }))
		return took, waited
	}
	t.Run("units of Write keep coming", func(t *testing.T) {
		t.Parallel()
		db := open(t, filepath.Join(t.TempDir(), "x.db"))
		db.Press(time.Now().Add(time.Hour))
		if took, waited := work(t, db); waited < 19*took {
			t.Errorf("the next one began after %v, want %v at least", waited, 19*took)
		}
	})
	t.Run("none comes", func(t *testing.T) {
		t.Parallel()
		db := open(t, filepath.Join(t.TempDir(), "x.db"))
		db.Press(time.Now().Add(-time.Hour))
		before := time.Now()
		for range 100 {
			work(t, db)
		}
		if took, rests := time.Since(before), 100*19*time.Millisecond; took >= rests {
			t.Errorf("100 pieces of 1 ms took %v, want less than their rests, %v", took, rests)
		}
	})
	t.Run("at once", func(t *testing.T) {
		t.Parallel()
		db := open(t, filepath.Join(t.TempDir(), "x.db"))
		running := 0 // the turn guards it
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				_ = db.Background(context.Background(), func() error {
					if running++; running != 1 {
						t.Errorf("%d pieces run at once, want one", running)
					}
					running--
					return nil
				})
			})
		}
		all.Wait()
	})
	t.Run("the context ends", func(t *testing.T) {
		t.Parallel()
		db := open(t, filepath.Join(t.TempDir(), "x.db"))
		ctx, stop := context.WithCancel(t.Context())
		errtest.Must(t, db.Background(t.Context(), func() error {
			stop()
			if err := db.Background(ctx, func() error { t.Error("work began after its context had ended"); return nil }); !errors.Is(err, context.Canceled) {
				t.Errorf("Background = %v, want %v", err, context.Canceled)
			}
			return nil
		}))
	})
	t.Run("the work fails", func(t *testing.T) {
		t.Parallel()
		db := open(t, filepath.Join(t.TempDir(), "x.db"))
		if err := db.Background(t.Context(), func() error { return errRefused }); !errors.Is(err, errRefused) {
			t.Errorf("Background = %v, want %v", err, errRefused)
		}
	})
}
