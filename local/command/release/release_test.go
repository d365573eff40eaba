package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	oci "github.com/opencontainers/image-spec/specs-go/v1"

	"orgops/shared/base/version"
	"orgops/shared/testkit/errtest"
)

func example() release {
	return release{version: "1.2.3", commit: strings.Repeat("a", 40)}
}

// twice calls write with two files and returns the content, which must be the same.
func twice(t *testing.T, write func(path string) error) []byte {
	t.Helper()
	var contents [2][]byte
	for n := range contents {
		path := filepath.Join(t.TempDir(), "file")
		errtest.Must(t, write(path))
		var err error
		contents[n], err = os.ReadFile(path)
		errtest.Must(t, err)
	}
	if !bytes.Equal(contents[0], contents[1]) {
		t.Error("two runs give different bytes, want the same")
	}
	return contents[0]
}

// files returns the content of a tar file by name.
func files(t *testing.T, archive io.Reader) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for in := tar.NewReader(archive); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		errtest.Must(t, err)
		content, err := io.ReadAll(in)
		errtest.Must(t, err)
		all[h.Name] = content
	}
}

// TestArchive packs the program with its documents, for each platform in its own form.
func TestArchive(t *testing.T) {
	t.Chdir("../../..")
	program := filepath.Join(t.TempDir(), "orgops")
	errtest.Must(t, os.WriteFile(program, []byte("program"), 0o755))
	pack := func(p platform, ending string) []byte {
		return twice(t, func(path string) error {
			return errors.Join(archive(path, p, program), os.Rename(path+ending, path))
		})
	}
	z, err := gzip.NewReader(bytes.NewReader(pack(platform{"linux", "amd64"}, ".tar.gz")))
	errtest.Must(t, err)
	content := files(t, z)
	if got := string(content["orgops"]); got != "program" {
		t.Errorf("orgops is %q, want program", got)
	}
	if got := len(content); got != 4 {
		t.Errorf("%d files, want 4", got)
	}
	text := pack(platform{"windows", "amd64"}, ".zip")
	in, err := zip.NewReader(bytes.NewReader(text), int64(len(text)))
	errtest.Must(t, err)
	var names []string
	for _, f := range in.File {
		names = append(names, f.Name)
	}
	if diff := cmp.Diff([]string{"orgops.exe", "CHANGELOG.md", "LICENSE", "README.md"}, names); diff != "" {
		t.Errorf("files differ (-want +got):\n%s", diff)
	}
}

// TestImage follows the index of the image to the program of each architecture. Every blob has the digest of its name.
func TestImage(t *testing.T) {
	t.Parallel()
	programs := map[string][]byte{"amd64": []byte("program of amd64"), "arm64": []byte("program of arm64")}
	all := files(t, bytes.NewReader(twice(t, func(path string) error { return example().image(path, programs) })))
	for name, content := range all {
		if base, ok := strings.CutPrefix(name, "blobs/sha256/"); ok {
			if sum := sha256.Sum256(content); base != hex.EncodeToString(sum[:]) {
				t.Errorf("%s has the digest %x", name, sum)
			}
		}
	}
	read := func(d oci.Descriptor, into any) {
		t.Helper()
		errtest.Must(t, json.Unmarshal(all["blobs/sha256/"+d.Digest.Encoded()], into))
	}
	var top, index oci.Index
	errtest.Must(t, json.Unmarshal(all["index.json"], &top))
	read(top.Manifests[0], &index)
	var architectures []string
	for _, d := range index.Manifests {
		var m oci.Manifest
		var config oci.Image
		read(d, &m)
		read(m.Config, &config)
		architectures = append(architectures, d.Platform.Architecture)
		z, err := gzip.NewReader(bytes.NewReader(all["blobs/sha256/"+m.Layers[0].Digest.Encoded()]))
		errtest.Must(t, err)
		content, err := io.ReadAll(z)
		errtest.Must(t, err)
		sum := sha256.Sum256(content)
		if got, want := config.RootFS.DiffIDs[0].Encoded(), hex.EncodeToString(sum[:]); got != want {
			t.Errorf("%s: diff id %s, want %s", d.Platform.Architecture, got, want)
		}
		if got, want := string(files(t, bytes.NewReader(content))["orgops"]), "program of "+config.Architecture; got != want {
			t.Errorf("%s: the program is %q, want %q", d.Platform.Architecture, got, want)
		}
		if got := config.Config.User; got != "65532:65532" {
			t.Errorf("%s: runs as %q, want a user without rights", d.Platform.Architecture, got)
		}
	}
	if diff := cmp.Diff([]string{"amd64", "arm64"}, architectures); diff != "" {
		t.Errorf("architectures differ (-want +got):\n%s", diff)
	}
}

// TestMaterials lists the modules of a program with their checksums: here of this test.
func TestMaterials(t *testing.T) {
	t.Parallel()
	program, err := os.Executable()
	errtest.Must(t, err)
	var bom struct {
		SpecVersion string
		Components  []struct {
			Name, Version, Purl string
			Hashes              []struct{ Content string }
		}
	}
	errtest.Must(t, json.Unmarshal(twice(t, func(path string) error { return example().materials(path, program) }), &bom))
	at := -1
	for n, c := range bom.Components {
		if c.Name == "github.com/opencontainers/image-spec" {
			at = n
		}
	}
	if at < 0 {
		t.Fatalf("components %v, want image-spec among them", bom.Components)
	}
	found := bom.Components[at]
	if got, want := found.Purl, "pkg:golang/github.com/opencontainers/image-spec@"+found.Version; got != want {
		t.Errorf("purl = %s, want %s", got, want)
	}
	if got := len(found.Hashes[0].Content); got != 64 {
		t.Errorf("the checksum has %d digits, want 64", got)
	}
}

func TestRelease_Check(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	tests := []struct {
		want string
		args []string
	}{
		{"--version", []string{"--commit", strings.Repeat("a", 40)}},
		{"--version", []string{"--version", "v1", "--commit", strings.Repeat("a", 40)}},
		{"--version: the source is", []string{"--version", "99.0.0", "--commit", strings.Repeat("a", 40)}},
		{"--commit", []string{"--version", version.Release, "--commit", "abc-dirty"}},
		{"--out", []string{"--version", version.Release, "--commit", strings.Repeat("a", 40), "--out", folder}},
	}
	for _, tt := range tests {
		if got := errtest.Message(run(t.Context(), tt.args)); !strings.HasPrefix(got, tt.want) {
			t.Errorf("%q: err = %q, want one about %s", tt.args, got, tt.want)
		}
	}
	systems := []string{}
	for _, p := range platforms() {
		systems = append(systems, p.os)
	}
	if diff := cmp.Diff([]string{"darwin", "linux", "windows"}, slices.Compact(slices.Sorted(slices.Values(systems)))); diff != "" {
		t.Errorf("systems differ (-want +got):\n%s", diff)
	}
}
