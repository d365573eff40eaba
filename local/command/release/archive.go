package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// documents lists the files that an archive has next to the program.
func documents() []string { return []string{"CHANGELOG.md", "LICENSE", "README.md"} }

// archive packs a program with the documents: as zip for Windows, as tar.gz otherwise.
func archive(base string, p platform, program string) error {
	files := map[string]string{p.program(): program}
	names := []string{p.program()}
	for _, name := range documents() {
		files[name] = name
		names = append(names, name)
	}
	if p.os == "windows" {
		return create(base+".zip", func(w io.Writer) error { return zipped(w, names, files) })
	}
	return create(base+".tar.gz", func(w io.Writer) error {
		z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
		if err != nil {
			return err
		}
		return errors.Join(tarred(z, names, files), z.Close())
	})
}

// create writes a file.
func create(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

func tarred(w io.Writer, names []string, files map[string]string) error {
	t := tar.NewWriter(w)
	for _, name := range names {
		content, err := os.ReadFile(files[name])
		if err != nil {
			return err
		}
		h := &tar.Header{Name: name, Mode: mode(name), Size: int64(len(content)), ModTime: then(), Format: tar.FormatUSTAR}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if _, err := t.Write(content); err != nil {
			return err
		}
	}
	return t.Close()
}

// mode returns a file's mode: only the program can be executed.
func mode(name string) int64 {
	if strings.HasPrefix(filepath.Base(name), "orgops") {
		return 0o755
	}
	return 0o644
}

func zipped(w io.Writer, names []string, files map[string]string) error {
	z := zip.NewWriter(w)
	for _, name := range names {
		content, err := os.ReadFile(files[name])
		if err != nil {
			return err
		}
		h := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: then()}
		h.SetMode(os.FileMode(mode(name)))
		entry, err := z.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := entry.Write(content); err != nil {
			return err
		}
	}
	return z.Close()
}

// sums writes the checksums of a folder's files, as sha256sum does.
func sums(dist string) error {
	entries, err := os.ReadDir(dist)
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(dist, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%x  %s\n", sha256.Sum256(content), e.Name())
	}
	return os.WriteFile(filepath.Join(dist, "SHA256SUMS"), []byte(text.String()), 0o644) //nolint:gosec // G306: a release is public
}
