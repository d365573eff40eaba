package keyfile_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"orgops/shared/base/keyfile"
)

func TestLoadOrCreate_AtOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "one.key")
	got := make([]string, 8)
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() {
			content, err := keyfile.LoadOrCreate(path, func() ([]byte, error) { return fmt.Append(nil, "made by ", i), nil })
			if err != nil {
				t.Error(err)
			}
			got[i] = string(content)
		})
	}
	wg.Wait()
	for _, content := range got {
		if content == "" || content != got[0] {
			t.Fatalf("different keys: %q", got)
		}
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "one.key")
	if _, err := keyfile.Load(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	for _, content := range []string{"first", "second"} {
		if err := keyfile.Replace(path, []byte(content)); err != nil {
			t.Fatal(err)
		}
		if got, err := keyfile.Load(path); err != nil || string(got) != content {
			t.Errorf("got %q, %v, want %q", got, err, content)
		}
	}
	for _, mode := range []os.FileMode{0o640, 0o604} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := keyfile.LoadOrCreate(path, func() ([]byte, error) { t.Error("create called for an existing file"); return nil, nil }); err == nil {
			t.Errorf("file of mode %o accepted", mode)
		}
	}
}

func TestLoadOrCreate_Fails(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "one.key")
	want := errors.New("no randomness")
	if _, err := keyfile.LoadOrCreate(path, func() ([]byte, error) { return nil, want }); !errors.Is(err, want) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("file created: %v", err)
	}
}
