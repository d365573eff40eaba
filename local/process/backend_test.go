package process_test

import (
	"bytes"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"orgops/local/process"
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
		if len(key) != 32 || !bytes.Equal(key, keys[0]) {
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
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if info, err := entry.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", entry.Name(), info.Mode(), err)
		}
	}
	if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o700 {
		t.Error(info.Mode(), err)
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
