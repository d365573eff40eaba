// Package keyfile stores a secret in a file that only its owner may read. It writes files atomically: under another name,
// synced, then moved into place.
package keyfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Load reads the file at path. It refuses a file readable by the group or others; for a missing file it returns fs.ErrNotExist.
func Load(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // opening a pipe would wait
		return nil, fmt.Errorf("%s is no regular file; move it away", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil { // of the file that is read; path may lead elsewhere by now
		return nil, err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s has mode %04o, so others may read it: chmod 600 it", path, info.Mode().Perm())
	}
	return io.ReadAll(f)
}

// LoadOrCreate does the same as Load, but creates a missing file with the result of create. If several processes start at
// once, all of them get the content that the first one created.
func LoadOrCreate(path string, create func() ([]byte, error)) ([]byte, error) {
	content, err := Load(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return content, err
	}
	if content, err = create(); err != nil {
		return nil, err
	}
	// Unlike a rename, a link never replaces an existing file.
	if err := write(path, content, os.Link); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("create %s: %w", path, err)
	}
	return Load(path)
}

// Replace atomically replaces the file's content.
func Replace(path string, content []byte) error {
	if err := write(path, content, os.Rename); err != nil {
		return fmt.Errorf("replace %s: %w", path, err)
	}
	return nil
}

func write(path string, content []byte, put func(from, to string) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".key-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // no-op after a rename
	_, err = f.Write(content)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return put(f.Name(), path)
}
