package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	oci "github.com/opencontainers/image-spec/specs-go/v1"
)

// user is the user and group that the image's program runs as.
const user = 65532

// blobs holds the files of an OCI image layout by name.
type blobs map[string][]byte

// image writes an OCI image layout as one tar file, with an image for each architecture. Programs such as skopeo, podman and crane
// read it, and push it to a registry.
func (r release) image(to string, programs map[string][]byte) error {
	files := blobs{}
	var images []oci.Descriptor
	for _, arch := range slices.Sorted(maps.Keys(programs)) {
		d, err := r.imageOf(files, arch, programs[arch])
		if err != nil {
			return err
		}
		images = append(images, d)
	}
	index, err := files.document(oci.MediaTypeImageIndex, oci.Index{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: oci.MediaTypeImageIndex, Manifests: images,
	})
	if err != nil {
		return err
	}
	index.Annotations = map[string]string{oci.AnnotationRefName: r.version}
	top := oci.Index{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: oci.MediaTypeImageIndex, Manifests: []oci.Descriptor{index}}
	if files[oci.ImageIndexFile], err = json.Marshal(top); err != nil {
		return err
	}
	if files[oci.ImageLayoutFile], err = json.Marshal(oci.ImageLayout{Version: oci.ImageLayoutVersion}); err != nil {
		return err
	}
	return create(to, files.write)
}

// imageOf adds the blobs of one architecture's image, and returns the descriptor of its manifest.
func (r release) imageOf(files blobs, arch string, program []byte) (oci.Descriptor, error) {
	content, err := layer(program)
	if err != nil {
		return oci.Descriptor{}, err
	}
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return oci.Descriptor{}, err
	}
	if _, err := z.Write(content); err != nil {
		return oci.Descriptor{}, err
	}
	if err := z.Close(); err != nil {
		return oci.Descriptor{}, err
	}
	config, err := files.document(oci.MediaTypeImageConfig, r.config(arch, digest.FromBytes(content)))
	if err != nil {
		return oci.Descriptor{}, err
	}
	d, err := files.document(oci.MediaTypeImageManifest, oci.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: oci.MediaTypeImageManifest, Config: config,
		Layers: []oci.Descriptor{files.add(oci.MediaTypeImageLayerGzip, packed.Bytes())},
	})
	d.Platform = &oci.Platform{OS: "linux", Architecture: arch}
	return d, err
}

// config returns the configuration of one architecture's image.
func (r release) config(arch string, content digest.Digest) oci.Image {
	at := then()
	return oci.Image{
		Created: &at, Platform: oci.Platform{OS: "linux", Architecture: arch},
		RootFS: oci.RootFS{Type: "layers", DiffIDs: []digest.Digest{content}}, History: []oci.History{{Created: &at, CreatedBy: "make release"}},
		Config: oci.ImageConfig{
			User: "65532:65532", Entrypoint: []string{"/orgops"}, WorkingDir: "/", ExposedPorts: map[string]struct{}{"4000/tcp": {}},
			Env: []string{"ORGOPS_DATA=/data", "ORGOPS_ADDR=:4000"}, Volumes: map[string]struct{}{"/data": {}},
			Labels: map[string]string{
				oci.AnnotationVersion: r.version, oci.AnnotationRevision: r.commit, oci.AnnotationLicenses: "Apache-2.0",
			},
		},
	}
}

// layer returns the files of the image: the program, the folder of its data, and one for SQLite's temporary files.
func layer(program []byte) ([]byte, error) {
	var out bytes.Buffer
	t := tar.NewWriter(&out)
	for _, h := range []*tar.Header{
		{Name: "data/", Typeflag: tar.TypeDir, Mode: 0o700, Uid: user, Gid: user},
		{Name: "tmp/", Typeflag: tar.TypeDir, Mode: 0o1777},
		{Name: "orgops", Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(program))},
	} {
		h.ModTime, h.Format = then(), tar.FormatUSTAR
		if err := t.WriteHeader(h); err != nil {
			return nil, err
		}
	}
	_, err := t.Write(program)
	err = errors.Join(err, t.Close())
	return out.Bytes(), err
}

// document adds a document as a blob.
func (b blobs) document(mediaType string, of any) (oci.Descriptor, error) {
	text, err := json.Marshal(of)
	return b.add(mediaType, text), err
}

// add adds a blob under its digest.
func (b blobs) add(mediaType string, content []byte) oci.Descriptor {
	d := digest.FromBytes(content)
	b[oci.ImageBlobsDir+"/"+d.Algorithm().String()+"/"+d.Encoded()] = content
	return oci.Descriptor{MediaType: mediaType, Digest: d, Size: int64(len(content))}
}

// write writes the files as a tar file, in the order of their names.
func (b blobs) write(w io.Writer) error {
	t := tar.NewWriter(w)
	for _, name := range slices.Sorted(maps.Keys(b)) {
		h := &tar.Header{Name: name, Mode: 0o644, Size: int64(len(b[name])), ModTime: then(), Format: tar.FormatUSTAR}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if _, err := t.Write(b[name]); err != nil {
			return err
		}
	}
	return t.Close()
}

// then is the time of every file in an archive, so that the archive does not depend on when it is made. A zip archive cannot have
// an earlier time.
func then() time.Time { return time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC) }
