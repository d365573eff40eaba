package console

import (
	"bytes"
	"compress/gzip"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/web"
)

//go:embed dist
var dist embed.FS

// policy lets the page load its own files and call its own host, and nothing else. No script, style or handler is inline, and
// no text becomes markup.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; " +
	"form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// Files holds the console's files by name.
type Files map[string]*file

// file holds a file, ready to be sent.
type file struct {
	plain       []byte
	gzipped     func() []byte // compresses with the first call
	contentType string
	etag        string
}

// Embedded returns the files that were embedded when the program was built.
func Embedded() Files {
	entries, err := fs.ReadDir(dist, "dist")
	if err != nil {
		panic(fmt.Sprintf("console: read the embedded files: %v", err))
	}
	files := Files{}
	for _, e := range entries {
		content, err := dist.ReadFile("dist/" + e.Name())
		if err != nil {
			panic(fmt.Sprintf("console: read %s: %v", e.Name(), err))
		}
		files[e.Name()] = newFile(e.Name(), content)
	}
	return files
}

func newFile(name string, content []byte) *file {
	etag, err := web.ETagOf(content)
	if err != nil {
		panic(fmt.Sprintf("console: tag %s: %v", name, err))
	}
	return &file{
		plain: content, gzipped: sync.OnceValue(func() []byte { return compress(content) }),
		contentType: contentType(name), etag: "W/" + etag, // weak: the same for both encodings
	}
}

// contentType returns the media type of a file. The system's own table of types may lack some of them.
func contentType(name string) string {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	}
	return "text/plain; charset=utf-8"
}

func compress(content []byte) []byte {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		panic(fmt.Sprintf("console: %v", err))
	}
	w.Write(content) //nolint:errcheck // a buffer does not fail
	w.Close()        //nolint:errcheck // as above
	return b.Bytes()
}

// describe sets the headers of a file. Names are fixed, so a browser asks each time whether it holds the current content.
func (f *file) describe(ctx huma.Context) {
	for name, value := range map[string]string{
		"Cache-Control":                "no-cache",
		"Content-Security-Policy":      policy,
		"Content-Type":                 f.contentType,
		"Cross-Origin-Opener-Policy":   "same-origin",
		"Cross-Origin-Resource-Policy": "same-origin",
		"ETag":                         f.etag,
		"Permissions-Policy":           "camera=(), geolocation=(), microphone=()",
		"Referrer-Policy":              "no-referrer",
	} {
		ctx.SetHeader(name, value)
	}
	ctx.AppendHeader("Vary", "Accept-Encoding")
}

// accepts reports whether an Accept-Encoding header names the encoding without the weight 0.
func accepts(header, encoding string) bool {
	for option := range strings.SplitSeq(header, ",") {
		name, weight, _ := strings.Cut(strings.TrimSpace(option), ";")
		if strings.TrimSpace(name) == encoding {
			q, found := strings.CutPrefix(strings.ReplaceAll(weight, " ", ""), "q=")
			return !found || strings.Trim(q, "0.") != ""
		}
	}
	return false
}
