package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
)

// build compiles the service for a platform. The result depends on the source, the commit and the version of Go alone.
func (r release) build(ctx context.Context, p platform, to string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", //nolint:gosec // G204: the commit has been checked
		"-ldflags", "-s -w -buildid= -X orgops/shared/base/version.commit="+r.commit, "-o", to, "./local")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.os, "GOARCH="+p.arch, "GOAMD64=v1", "GOARM64=v8.0", "GOFLAGS=")
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	return cmd.Run()
}

// pack writes the parts of a release from the built programs.
func (r release) pack(dist string, built map[platform]string) error {
	if err := os.MkdirAll(dist, 0o755); err != nil { //nolint:gosec // G301: a release is public
		return err
	}
	for _, p := range platforms() {
		if err := archive(filepath.Join(dist, p.name()), p, built[p]); err != nil {
			return err
		}
	}
	linux := map[string][]byte{}
	for _, p := range platforms() {
		if p.os != "linux" {
			continue
		}
		content, err := os.ReadFile(built[p])
		if err != nil {
			return err
		}
		linux[p.arch] = content
	}
	if err := r.image(filepath.Join(dist, "orgops_image.tar"), linux); err != nil {
		return err
	}
	if err := r.materials(filepath.Join(dist, "orgops_sbom.cdx.json"), built[platform{"linux", "amd64"}]); err != nil {
		return err
	}
	return sums(dist)
}
