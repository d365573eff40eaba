package scheme

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Request holds an arrival as it was sent.
type Request struct {
	Method string
	URLs   []string // by which the provider may know the address, with the query of the request; some providers sign it
	Header http.Header
	Body   []byte

	Streamed *Streamed // nil: Body is whole; see Scheme.Stream
}

// maxDigits limits the digits of a time. The longest is of milliseconds in the year 9999.
const maxDigits = 15

// digits reads a number that consists of decimal digits alone.
func digits(text string) (n int64, ok bool) {
	if text == "" || len(text) > maxDigits || text[0] == '0' || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

// isForm reports whether the body is a form.
func (r Request) isForm() bool { return IsForm(r.Header) }

// IsForm reports whether the headers are of a form.
func IsForm(header http.Header) bool {
	media, _, _ := mime.ParseMediaType(header.Get("Content-Type")) // also of a malformed parameter
	return media == "application/x-www-form-urlencoded"
}

// form returns the names and values of a form, without separators: sorted, and each value of a name once, as Twilio signs them.
func (r Request) form() string {
	values, err := url.ParseQuery(string(r.Body))
	if err != nil || !r.isForm() {
		return ""
	}
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	var out strings.Builder
	for _, name := range names {
		slices.Sort(values[name])
		for _, value := range slices.Compact(values[name]) {
			out.WriteString(name + value)
		}
	}
	return out.String()
}

// namesBody reports whether an address holds the SHA-256 of the body. So Twilio signs what is no form.
func (r Request) namesBody(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	sum := sha256.Sum256(r.Body)
	return subtle.ConstantTimeCompare([]byte(strings.ToLower(u.Query().Get("bodySHA256"))), []byte(hex.EncodeToString(sum[:]))) == 1
}

// covers reports whether what the scheme signs of an arrival covers its body.
func (s Scheme) covers(r Request, address string) bool {
	if !s.has("form") {
		return true
	}
	return r.isForm() && !strings.Contains(address, "bodySHA256=") && r.form() != "" || r.namesBody(address)
}

// write writes what is signed: the template with its places filled.
func (s Scheme) write(w io.Writer, r Request, address, id, at string) {
	rest := s.Signed
	for rest != "" {
		text, place, found := strings.Cut(rest, "{")
		_, _ = io.WriteString(w, text) // a hash and a buffer take everything
		if !found {
			return
		}
		place, rest, _ = strings.Cut(place, "}")
		switch place {
		case "body":
			_, _ = w.Write(r.Body)
		case "time":
			_, _ = io.WriteString(w, at)
		case "id":
			_, _ = io.WriteString(w, id)
		case "method":
			_, _ = io.WriteString(w, r.Method)
		case "url":
			_, _ = io.WriteString(w, address)
		case "form":
			_, _ = io.WriteString(w, r.form())
		}
	}
}

// addresses returns the addresses that may be signed: one empty one if none is.
func (s Scheme) addresses(r Request) []string {
	if !s.has("url") || len(r.URLs) == 0 {
		return []string{""}
	}
	return r.URLs
}
