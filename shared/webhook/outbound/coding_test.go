package outbound_test

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"orgops/shared/testkit/errtest"
	"orgops/shared/webhook/outbound"
)

const maxBody = 4 << 10

func gzipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	return packed(t, &b, gzip.NewWriter(&b), text)
}

func packed(t *testing.T, into *bytes.Buffer, w io.WriteCloser, text string) string {
	t.Helper()
	_, err := io.WriteString(w, text)
	errtest.Must(t, err)
	errtest.Must(t, w.Close())
	return into.String()
}

// document fetches a document that a server answers with a coding and a body.
func document(t *testing.T, coding, body string) (text string, accepted string, err error) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		accepted = r.Header.Get("Accept-Encoding")
		if coding != "" {
			w.Header().Set("Content-Encoding", coding)
		}
		_, _ = io.WriteString(w, body)
	}))
	defer server.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
	errtest.Must(t, err)
	resp, err := outbound.New(outbound.Options{AllowLoopback: true}).Document(req, maxBody)
	if err != nil {
		return "", accepted, err
	}
	defer resp.Body.Close()
	got, err := outbound.ReadBody(resp, maxBody)
	return string(got), accepted, err
}

func TestClient_Document(t *testing.T) {
	t.Parallel()
	const said = `[{"id":1}]`
	var z, f bytes.Buffer
	zipped := packed(t, &z, zlib.NewWriter(&z), said)
	raw, err := flate.NewWriter(&f, flate.DefaultCompression)
	errtest.Must(t, err)
	deflated := packed(t, &f, raw, said)
	bomb := gzipped(t, strings.Repeat("0", 100*maxBody))
	damaged := []byte(gzipped(t, said))
	damaged[len(damaged)-8] ^= 0xff // of the checksum

	tests := []struct {
		name, coding, body string
		want               error
		text               string
	}{
		{name: "as it is", body: said, text: said},
		{name: "identity", coding: "identity", body: said, text: said},
		{name: "gzip", coding: "gzip", body: gzipped(t, said), text: said},
		{name: "gzip in capitals", coding: "X-GZIP", body: gzipped(t, said), text: said},
		{name: "zlib", coding: "deflate", body: zipped, text: said},
		{name: "bare deflate", coding: "deflate", body: deflated, text: said},
		{name: "twice", coding: "deflate, gzip", body: gzipped(t, zipped), text: said},
		{name: "no body", coding: "gzip"},
		{name: "a bomb", coding: "gzip", body: bomb, want: outbound.ErrTooLarge},
		{name: "a bomb in a bomb", coding: "gzip, gzip", body: gzipped(t, bomb), want: outbound.ErrTooLarge},
		{name: "a long body of empty members", coding: "gzip", body: strings.Repeat(gzipped(t, ""), maxBody), want: outbound.ErrTooLarge},
		{name: "not compressed", coding: "gzip", body: said, want: outbound.ErrDamaged},
		{name: "a wrong checksum", coding: "gzip", body: string(damaged), want: outbound.ErrDamaged},
		{name: "not deflated", coding: "deflate", body: "\xff\xff" + said, want: outbound.ErrDamaged},
		{name: "cut off", coding: "gzip", body: gzipped(t, said)[:20], want: io.ErrUnexpectedEOF},
		{name: "cut off in the header", coding: "gzip", body: "\x1f\x8b\x08\x00", want: io.ErrUnexpectedEOF},
		{name: "cut off in the header of deflate", coding: "deflate", body: "\x78", want: io.ErrUnexpectedEOF},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			text, accepted, err := document(t, tt.coding, tt.body)
			if !errors.Is(err, tt.want) {
				t.Fatalf("error %v, want %v", err, tt.want)
			}
			if err == nil && text != tt.text {
				t.Errorf("decoded as %q, want %q", text, tt.text)
			}
			if want := "gzip, deflate"; accepted != want {
				t.Errorf("accepts %q, want %q", accepted, want)
			}
		})
	}
}

func TestClient_Document_CodingError(t *testing.T) {
	t.Parallel()
	for coding, want := range map[string]string{
		"br":               `the content coding "br"`,
		"gzip, zstd":       `the content coding "zstd"`,
		"gzip, gzip, gzip": `the content coding "gzip, gzip, gzip"`,
	} {
		_, _, err := document(t, coding, "x")
		var unknown *outbound.CodingError
		if !errors.As(err, &unknown) {
			t.Fatalf("%s: error %v, want a CodingError", coding, err)
		}
		if got := outbound.Explain(err); !strings.Contains(got, want) {
			t.Errorf("%s: explained as %q, want %q in it", coding, got, want)
		}
	}
}

// TestClient_Document_ReadAgain gives the error of a damaged body to every read.
func TestClient_Document_ReadAgain(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write([]byte("not compressed"))
	}))
	defer server.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
	errtest.Must(t, err)
	resp, err := outbound.New(outbound.Options{AllowLoopback: true}).Document(req, maxBody)
	errtest.Must(t, err)
	defer resp.Body.Close()
	for n := range 3 {
		if _, err := resp.Body.Read(make([]byte, 8)); !errors.Is(err, outbound.ErrDamaged) {
			t.Errorf("read %d: error %v, want %v", n+1, err, outbound.ErrDamaged)
		}
	}
}

// TestClient_Document_Cancelled shows that the context also bounds the decoding.
func TestClient_Document_Cancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = io.WriteString(w, gzipped(t, strings.Repeat("text", 100))[:12])
		w.(http.Flusher).Flush()
		cancel()
		<-r.Context().Done()
	}))
	defer server.Close()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
	errtest.Must(t, err)
	resp, err := outbound.New(outbound.Options{AllowLoopback: true}).Document(req, maxBody)
	if err == nil {
		defer resp.Body.Close()
		_, err = outbound.ReadBody(resp, maxBody)
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}
}
