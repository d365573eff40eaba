package fastjson

import (
	"math"
	"strconv"
	"strings"
)

// maxWhole is the number below which a float64 tells every whole number from the next one.
const maxWhole = 1 << 53

// Whole returns JSON in which whole numbers are written in digits alone: 100 for 100.0 and 1e2. JSON Schema takes each of them for an
// integer, and the decoders of Go the first alone. It returns body itself if there is nothing to change.
func Whole(body []byte) []byte {
	var out []byte
	done, quoted := 0, false
	for n := 0; n < len(body); n++ {
		switch c := body[n]; {
		case quoted && c == '\\':
			n++
		case c == '"':
			quoted = !quoted
		case !quoted && (c == '-' || '0' <= c && c <= '9'):
			end := n + 1
			for end < len(body) && strings.IndexByte("0123456789+-.eE", body[end]) >= 0 {
				end++
			}
			if digits, ok := whole(string(body[n:end])); ok {
				out = append(append(out, body[done:n]...), digits...)
				done = end
			}
			n = end - 1
		}
	}
	if done == 0 {
		return body
	}
	return append(out, body[done:]...)
}

// whole returns the digits of a whole number that is written with a fraction or an exponent.
func whole(number string) (digits string, ok bool) {
	if !strings.ContainsAny(number, ".eE") {
		return "", false
	}
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) >= maxWhole {
		return "", false
	}
	return strconv.FormatInt(int64(f), 10), true
}
