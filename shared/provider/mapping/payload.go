package mapping

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"

	"orgops/shared/base/fault"
	"orgops/shared/base/text"
)

// Limits of a payload. The size in bytes has its own limit, that of a request.
const (
	maxValues = 50_000
	density   = 20 // bytes a value: what a body of more than a million bytes may have
	maxDepth  = 100
	maxDigits = 64 // characters of a number
)

// Payload decodes the JSON of an arrival into the value that expressions read. It returns fault.Malformed for a body that
// is not one JSON document of valid Unicode, and fault.Invalid for one with more than 50,000 values and more than a value in 20 bytes,
// more than 100 levels, or a number of more than 64 characters.
func Payload(body []byte) (any, error) {
	if !text.IsUnicode(body) {
		refused := fault.New(fault.Malformed, "the body is not valid Unicode; see errors")
		refused.Problems = []fault.FieldError{{Pointer: text.NotUnicodeAt(body), Detail: text.NotUnicode}}
		return nil, refused
	}
	if problem := exceeds(body); problem != "" {
		return nil, fault.Refuse([]fault.FieldError{{Pointer: "", Detail: problem}})
	}
	body = bytes.TrimPrefix(body, []byte("\ufeff")) // a byte order mark says nothing (RFC 8259 §8.1)
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		return nil, fault.Wrap(fault.Malformed, "the body must be one JSON document", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, fault.New(fault.Malformed, "the body must be one JSON document, with nothing after it")
	}
	return v, nil
}

// exceeds says which limit a JSON document exceeds, or returns "". It counts before anything is decoded, because a value of
// two bytes can take a hundred times as much memory.
func exceeds(body []byte) string {
	values, depth, digits, most := 1, 0, 0, max(maxValues, len(body)/density)
	for i := 0; i < len(body); i++ {
		digits++
		switch c := body[i]; c {
		case '"':
			i, digits = endOfText(body, i), 0
		case '[', '{':
			values, digits = values+1, 0
			depth++
		case ']', '}':
			digits = 0
			depth--
		case ',':
			values, digits = values+1, 0
		case ':', ' ', '\t', '\r', '\n':
			digits = 0
		}
		switch {
		case values > most:
			return fmt.Sprintf("holds more than %d values", most)
		case depth > maxDepth:
			return fmt.Sprintf("has more than %d levels", maxDepth)
		case digits > maxDigits:
			return fmt.Sprintf("holds a number of more than %d characters", maxDigits)
		}
	}
	return ""
}

// endOfText returns the place of the quotation mark that ends the text that begins at i.
func endOfText(body []byte, i int) int {
	for i++; i < len(body) && body[i] != '"'; i++ {
		if body[i] == '\\' {
			i++
		}
	}
	return i
}

// Headers returns the headers that expressions read: lower-case names, and the values of a repeated header joined by a
// comma (RFC 9110 §5.3). It leaves out what may hold a credential or a signature, and what is not UTF-8.
func Headers(header http.Header) map[string]any {
	out := make(map[string]any, len(header))
	for name, values := range header {
		value := strings.Join(values, ", ")
		if name = strings.ToLower(name); !secretHeader(name) && utf8.ValidString(value) {
			out[name] = value
		}
	}
	return out
}

// secretHeader reports whether a header's name, in lower case, has a word that secrets and signatures go by. The short words
// count only as a whole: X-Author is harmless. An Idempotency-Key names a request and opens nothing.
func secretHeader(name string) bool {
	for _, part := range []string{
		"authorization", "cookie", "signature", "secret", "token", "password", "apikey", "hmac", "jwt", "credential", "session",
	} {
		if strings.Contains(name, part) {
			return true
		}
	}
	for word := range strings.FieldsFuncSeq(name, func(r rune) bool { return r == '-' || r == '_' || r == '.' }) {
		switch word {
		case "auth", "authentication", "oauth":
			return true
		case "key":
			return name != "idempotency-key"
		}
	}
	return false
}
