// Command release builds what a release consists of: an archive of the service for each platform, an OCI image, a bill of
// materials (CycloneDX) and the checksums of all of them. Two runs on the same commit with the same Go give the same bytes.
//
// The image has no base image: the program is static, and brings its certificate authorities.
//
// This is our own program instead of GoReleaser, which calls Docker for an image and Syft for a bill of materials: with Go alone, the bytes
// of every file depend on the commit and on Go, and on no other program's release.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"orgops/shared/base/text"
	"orgops/shared/base/version"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("release", flag.ContinueOnError)
	r := release{}
	f.StringVar(&r.version, "version", "", "the version, as in shared/base/version (required)")
	f.StringVar(&r.commit, "commit", "", "the commit that is built (required)")
	f.StringVar(&r.out, "out", "dist", "the folder to write, which must not exist")
	if err := f.Parse(args); err != nil {
		return err
	}
	if err := r.check(); err != nil {
		return err
	}
	return r.make(ctx)
}

// release holds what a release is made from.
type release struct {
	version, commit, out string
}

const (
	versions text.Pattern = `^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`
	commits  text.Pattern = `^[0-9a-f]{40}$`
)

func (r release) check() error {
	if !versions.Matches(r.version) {
		return errors.New("--version: give a version of Semantic Versioning, such as 1.2.0")
	}
	if is := version.Get().Release; r.version != is {
		return fmt.Errorf("--version: the source is release %s; change shared/base/version and CHANGELOG.md first", is)
	}
	if !commits.Matches(r.commit) {
		return errors.New("--commit: give the 40 digits of a commit without uncommitted changes")
	}
	if _, err := os.Stat(r.out); err == nil {
		return fmt.Errorf("--out: %s exists; remove it first", r.out)
	}
	return nil
}

// platform names a target of the compiler.
type platform struct{ os, arch string }

func (p platform) name() string { return "orgops_" + p.os + "_" + p.arch }

// program returns the name of the executable.
func (p platform) program() string {
	if p.os == "windows" {
		return "orgops.exe"
	}
	return "orgops"
}

func platforms() []platform {
	return []platform{
		{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}, {"windows", "arm64"},
	}
}

// make builds everything into a folder that gets its name at the end, so that no part of a release passes for the whole.
func (r release) make(ctx context.Context) (err error) {
	parts, err := os.MkdirTemp(filepath.Dir(filepath.Clean(r.out)), ".release-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(parts)) }()
	programs := filepath.Join(parts, "programs")
	built := map[platform]string{}
	for _, p := range platforms() {
		built[p] = filepath.Join(programs, p.name(), p.program())
		if err := r.build(ctx, p, built[p]); err != nil {
			return fmt.Errorf("build for %s/%s: %w", p.os, p.arch, err)
		}
	}
	dist := filepath.Join(parts, "dist")
	if err := r.pack(dist, built); err != nil {
		return err
	}
	return os.Rename(dist, r.out)
}
