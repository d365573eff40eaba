package main

import (
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/CycloneDX/cyclonedx-go"
)

// materials writes the bill of materials of a program: the modules that the linker has put into it, and the Go that built it. It
// has no serial number and no time, so that it depends on the program alone.
func (r release) materials(to, program string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	bom := cyclonedx.NewBOM()
	main := component("orgops", r.version, cyclonedx.ComponentTypeApplication)
	bom.Metadata = &cyclonedx.Metadata{Component: &main}
	all := []cyclonedx.Component{component("std", strings.TrimPrefix(info.GoVersion, "go"), cyclonedx.ComponentTypeLibrary)}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		c := component(m.Path, m.Version, cyclonedx.ComponentTypeLibrary)
		if c.Hashes, err = hashOf(m); err != nil {
			return err
		}
		all = append(all, c)
	}
	refs := []string{}
	for _, c := range all {
		refs = append(refs, c.BOMRef)
	}
	slices.Sort(refs)
	bom.Components = &all
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: main.BOMRef, Dependencies: &refs}}
	return create(to, func(w io.Writer) error {
		return cyclonedx.NewBOMEncoder(w, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
	})
}

func component(path, version string, kind cyclonedx.ComponentType) cyclonedx.Component {
	purl := "pkg:golang/" + path + "@" + version
	return cyclonedx.Component{BOMRef: purl, Type: kind, Name: path, Version: version, PackageURL: purl}
}

// hashOf returns a module's checksum of go.sum: the SHA-256 over the list of its files' checksums.
func hashOf(m *debug.Module) (*[]cyclonedx.Hash, error) {
	text, ok := strings.CutPrefix(m.Sum, "h1:")
	if !ok {
		return nil, fmt.Errorf("module %s has no checksum; build from modules, not from a folder", m.Path)
	}
	sum, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("module %s: %w", m.Path, err)
	}
	return &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hex.EncodeToString(sum)}}, nil
}
