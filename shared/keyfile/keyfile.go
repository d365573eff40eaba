// Package keyfile keeps a secret in a file that only its owner may read. A file is there whole or not at all: it is made
// under another name, synced, and then put in its place.
package keyfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Load reads the file at path. One that its group or others may read is refused; one that is missing is fs.ErrNotExist.
func Load(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s has mode %04o; others may read it: chmod 600 it", path, info.Mode().Perm())
	}
	return os.ReadFile(path)
}

// LoadOrCreate is Load; a file that is missing is made of what create returns. Of several processes that start at once all
// get what the first one made.
func LoadOrCreate(path string, create func() ([]byte, error)) ([]byte, error) {
	content, err := Load(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return content, err
	}
	if content, err = create(); err != nil {
		return nil, err
	}
	// A link never replaces.
	if err := place(path, content, os.Link); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("create %s: %w", path, err)
	}
	return Load(path)
}

// Replace gives the file another content.
func Replace(path string, content []byte) error {
	if err := place(path, content, os.Rename); err != nil {
		return fmt.Errorf("replace %s: %w", path, err)
	}
	return nil
}

func place(path string, content []byte, put func(from, to string) error) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".key-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // after a rename there is nothing to remove
	_, err = f.Write(content)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return put(f.Name(), path)
}
