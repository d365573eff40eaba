package outbound

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"orgops/shared/base/text"
)

// acceptedCodings lists the content codings that Document decodes.
const acceptedCodings = "gzip, deflate"

// maxCodings limits how often an answer may be encoded, and maxCoding the bytes of an unknown coding's name in an error.
const (
	maxCodings = 2
	maxCoding  = 40
)

// ErrDamaged reports a compressed body that cannot be decoded.
var ErrDamaged = errors.New("the answer's compression is damaged; check what the server, or a proxy in front of it, sends")

// CodingError reports an answer in a content coding that was not asked for.
type CodingError struct{ Coding string }

func (e *CodingError) Error() string {
	return fmt.Sprintf("the answer has the content coding %s, which the request does not accept; serve it as gzip, as deflate or as it is",
		strconv.QuoteToASCII(text.Truncate(e.Coding, maxCoding)))
}

// Document sends a request for a document as Do does. It accepts a compressed answer, and decodes its body (RFC 9110 §8.4). It
// returns a *CodingError for a coding that it did not ask for. Reading more than limit encoded bytes of a body returns
// ErrTooLarge. The caller limits the decoded bytes, with ReadBody, so a small body cannot become a large one.
func (c *Client) Document(req *http.Request, limit int64) (*http.Response, error) {
	req.Header.Set("Accept-Encoding", acceptedCodings)
	resp, err := c.Do(req)
	if err != nil {
		return nil, err
	}
	if err := decode(resp, limit); err != nil {
		resp.Body.Close()
		return nil, err
	}
	return resp, nil
}

func decode(resp *http.Response, limit int64) error {
	codings := Codings(resp.Header)
	if len(codings) > maxCodings {
		return &CodingError{strings.Join(codings, ", ")}
	}
	for _, coding := range codings {
		if decoders(coding) == nil {
			return &CodingError{coding}
		}
	}
	if len(codings) == 0 {
		return nil
	}
	var from io.Reader = &encoded{from: resp.Body, left: limit}
	for n := len(codings) - 1; n >= 0; n-- { // the last coding was applied last
		from = &decoding{from: bufio.NewReader(from), open: decoders(codings[n])}
	}
	resp.Body = decodedBody{from, resp.Body}
	resp.ContentLength = -1
	resp.Header.Del("Content-Encoding")
	return nil
}

// Codings lists the content codings of a message in lower case, in the order in which they were applied, without identity.
func Codings(header http.Header) (codings []string) {
	for _, line := range header["Content-Encoding"] {
		for coding := range strings.SplitSeq(line, ",") {
			if coding = strings.ToLower(strings.TrimSpace(coding)); coding != "" && coding != "identity" {
				codings = append(codings, coding)
			}
		}
	}
	return codings
}

// decoders returns what opens a body in a coding, or nil.
func decoders(coding string) func(*bufio.Reader) (io.Reader, error) {
	switch coding {
	case "gzip", "x-gzip":
		return func(r *bufio.Reader) (io.Reader, error) { return gzip.NewReader(r) }
	case "deflate":
		return inflate
	}
	return nil
}

// inflate opens a deflate body. The coding is the zlib format (RFC 9110 §8.4.1.2), but some servers send the bare compressed
// data.
func inflate(r *bufio.Reader) (io.Reader, error) {
	const deflated, multiple = 8, 31 // RFC 1950 §2.2: the method, and what the first two bytes are a multiple of
	head, err := r.Peek(2)
	if err == nil && head[0]&0x0f == deflated && (int(head[0])<<8|int(head[1]))%multiple == 0 {
		return zlib.NewReader(r)
	}
	return flate.NewReader(r), nil
}

// decoding reads a body in one coding. It opens the body with the first read, so that an answer without a body is no error.
type decoding struct {
	from   *bufio.Reader
	open   func(*bufio.Reader) (io.Reader, error)
	opened io.Reader
	failed error // to open the body; every later read returns it too
}

// Read implements io.Reader.
func (d *decoding) Read(p []byte) (n int, err error) {
	if d.failed != nil {
		return 0, d.failed
	}
	if d.opened == nil {
		if _, err := d.from.Peek(1); err != nil {
			return 0, err
		}
		opened, err := d.open(d.from)
		if errors.Is(err, io.EOF) { // the body ends within its header
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			d.failed = damaged(err)
			return 0, d.failed
		}
		d.opened = opened
	}
	n, err = d.opened.Read(p)
	return n, damaged(err)
}

// damaged returns ErrDamaged in place of a decoder's own error. The errors of the connection stay.
func damaged(err error) error {
	var corrupt flate.CorruptInputError
	switch {
	case errors.As(err, &corrupt), errors.Is(err, gzip.ErrHeader), errors.Is(err, gzip.ErrChecksum),
		errors.Is(err, zlib.ErrHeader), errors.Is(err, zlib.ErrChecksum), errors.Is(err, zlib.ErrDictionary):
		return ErrDamaged
	}
	return err
}

// encoded reads at most left bytes of a body.
type encoded struct {
	from io.Reader
	left int64
}

// Read implements io.Reader.
func (e *encoded) Read(p []byte) (int, error) {
	if e.left <= 0 {
		return 0, ErrTooLarge
	}
	n, err := e.from.Read(p[:min(int64(len(p)), e.left)])
	e.left -= int64(n)
	return n, err
}

type decodedBody struct {
	io.Reader
	io.Closer
}
