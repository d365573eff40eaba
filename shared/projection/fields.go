package projection

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"time"
	"unicode/utf8"
)

var errNotObject = errors.New("not a JSON object")

// fields calls visit with the name and the raw value of each field of a JSON object, until visit returns false. Most
// of an item is of no interest here (a delivery's payload, a memory's body), and passing over it costs a tenth of
// decoding it. It trusts that the text is JSON, since only encoders write it: on anything else it stops with an error
// or hands out values that are not JSON, and never reads outside data.
func fields(data []byte, visit func(name, value []byte) bool) error {
	i := skipSpace(data, 0)
	if i >= len(data) || data[i] != '{' {
		return errNotObject
	}
	i = skipSpace(data, i+1)
	for i < len(data) && data[i] == '"' {
		end := skipString(data, i)
		if end < 0 {
			return errNotObject
		}
		name := data[i+1 : end-1]
		i = skipSpace(data, end)
		if i >= len(data) || data[i] != ':' {
			return errNotObject
		}
		i = skipSpace(data, i+1)
		if end = skipValue(data, i); end < 0 {
			return errNotObject
		}
		if !visit(name, data[i:end]) {
			return nil
		}
		i = skipSpace(data, end)
		if i < len(data) && data[i] == ',' {
			i = skipSpace(data, i+1)
		}
	}
	if i >= len(data) || data[i] != '}' {
		return errNotObject
	}
	return nil
}

func skipSpace(data []byte, i int) int {
	for i < len(data) && (data[i] == ' ' || data[i] == '\n' || data[i] == '\t' || data[i] == '\r') {
		i++
	}
	return i
}

// skipString is the index behind the string that starts at i, -1 when it does not end.
func skipString(data []byte, i int) int {
	for i++; i < len(data); {
		n := bytes.IndexByte(data[i:], '"')
		if n < 0 {
			return -1
		}
		i += n + 1
		escapes := 0
		for j := i - 2; data[j] == '\\'; j-- { // stops at the opening quote
			escapes++
		}
		if escapes%2 == 0 {
			return i
		}
	}
	return -1
}

// skipValue is the index behind the value that starts at i, -1 when it does not end.
func skipValue(data []byte, i int) int {
	depth, start := 0, i
	for i < len(data) {
		switch data[i] {
		case '"':
			if i = skipString(data, i); i < 0 {
				return -1
			}
			if depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return ended(start, i)
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return ended(start, i)
			}
		}
		i++
	}
	return -1
}

func ended(start, i int) int {
	if start == i {
		return -1
	}
	return i
}

// text is a JSON string's value.
func text(value []byte) (string, error) {
	if len(value) >= 2 && value[0] == '"' && bytes.IndexByte(value, '\\') < 0 {
		return string(value[1 : len(value)-1]), nil
	}
	var s string
	err := json.Unmarshal(value, &s)
	return s, err
}

// field is the value of one string field; a missing one is "".
func field(data []byte, want string) (s string, err error) {
	var failure error
	err = fields(data, func(name, value []byte) bool {
		if string(name) != want {
			return true
		}
		s, failure = text(value)
		return false
	})
	return s, errors.Join(err, failure)
}

// cut shortens s, without splitting a character, to what is at most n bytes as JSON: what is written with an escape
// counts as much as the longest of them.
func cut(s string, n int) string {
	if len(s)*maxEscape <= n {
		return s
	}
	for i, r := range s {
		size := utf8.RuneLen(r)
		if r < ' ' || strings.ContainsRune("\"\\<>&\u2028\u2029\ufffd", r) {
			size = maxEscape
		}
		if n -= size; n < 0 {
			return s[:i]
		}
	}
	return s
}

const maxEscape = len(`\u0000`)

// at is the time that p points to, in UTC; none is the zero time.
func at(p *time.Time) time.Time {
	if p == nil {
		return time.Time{}
	}
	return p.UTC()
}
