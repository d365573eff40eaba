package keyfile_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"orgops/shared/base/keyfile"
	"orgops/shared/testkit/errtest"
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
	if all := slices.Compact(got); len(all) != 1 {
		t.Fatalf("keys %q, want one", all)
	}
	if got[0] == "" {
		t.Error("the key is empty")
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	errtest.Must(t, err)
	if len(entries) != 1 {
		t.Errorf("files %v, want only the key file", entries)
	}
	info, err := os.Stat(path)
	errtest.Must(t, err)
	if got := info.Mode().Perm(); got != 0o600 {
		t.Errorf("mode %o, want 600", got)
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "one.key")
	if _, err := keyfile.Load(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: %v, want %v", err, fs.ErrNotExist)
	}
	for _, content := range []string{"first", "second"} {
		if err := keyfile.Replace(path, []byte(content)); err != nil {
			t.Fatal(err)
		}
		got, err := keyfile.Load(path)
		errtest.Must(t, err)
		if string(got) != content {
			t.Errorf("loaded %q, want %q", got, content)
		}
	}
	for _, mode := range []os.FileMode{0o640, 0o604} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if _, err := keyfile.LoadOrCreate(path, func() ([]byte, error) { t.Error("create called for an existing file"); return nil, nil }); err == nil {
			t.Errorf("file of mode %o accepted, want it refused", mode)
		}
	}
}

func TestLoadOrCreate_Fails(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "one.key")
	want := errors.New("no randomness")
	if _, err := keyfile.LoadOrCreate(path, func() ([]byte, error) { return nil, want }); !errors.Is(err, want) {
		t.Errorf("error %v, want %v", err, want)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("stat of the file: %v, want %v", err, fs.ErrNotExist)
	}
}
