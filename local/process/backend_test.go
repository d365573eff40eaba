package process_test

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"orgops/local/process"
	"orgops/shared/testkit/errtest"
)

// TestOpenEmbedded_AtOnce runs operator's commands while the service starts for the first time: all use the same keys.
func TestOpenEmbedded_AtOnce(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "data")
	keys := make([][]byte, 4)
	var wg sync.WaitGroup
	for i := range keys {
		wg.Go(func() {
			e, err := process.OpenEmbedded(t.Context(), folder, false, time.Now)
			if err != nil {
				t.Error(err)
				return
			}
			keys[i] = e.CursorKey
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, key := range keys {
		if len(key) != 32 {
			t.Fatalf("a key has %d bytes, want 32", len(key))
		}
		if !bytes.Equal(key, keys[0]) {
			t.Fatal("the processes have different keys")
		}
	}
}

// TestOpenEmbedded_Modes refuses key files that other users can read: a reader could forge cursors and guess the contents of
// requests.
func TestOpenEmbedded_Modes(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "data")
	open := func() error {
		e, err := process.OpenEmbedded(t.Context(), folder, false, time.Now)
		if err != nil {
			return err
		}
		return e.Close()
	}
	if err := open(); err != nil {
		t.Fatal(err)
	}
	wantMode := func(path string, want os.FileMode) {
		t.Helper()
		info, err := os.Stat(path)
		errtest.Must(t, err)
		if got := info.Mode().Perm(); got != want {
			t.Errorf("mode of %s = %v, want %v", path, got, want)
		}
	}
	wantMode(folder, 0o700)
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		wantMode(filepath.Join(folder, entry.Name()), 0o600)
	}
	for _, name := range []string{"cursor.key", "vault.key", "token-keys.json"} {
		path := filepath.Join(folder, name)
		if err := os.Chmod(path, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := open(); err == nil {
			t.Errorf("%s was accepted although other users can read it", name)
		}
		if err := os.Chmod(path, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
