package connector

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
)

// Canonical rewrites a JSON value so that equal values have equal bytes: members sorted by name, no white space, shortest
// numbers, no needless escapes. The result follows RFC 8785 if all names are ASCII. Numbers are IEEE doubles, as in the RFC.
func Canonical(value json.RawMessage) (json.RawMessage, error) {
	var v any
	if err := json.Unmarshal(value, &v); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	b := bytes.TrimSuffix(out.Bytes(), []byte("\n"))
	return unescapeSeparators(b), nil
}

// unescapeSeparators replaces the escapes of U+2028 and U+2029 by the characters. Package encoding/json always escapes
// them, RFC 8785 never does.
func unescapeSeparators(b []byte) []byte {
	if !bytes.Contains(b, []byte(`\u202`)) {
		return b
	}
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); i++ {
		switch {
		case b[i] != '\\':
			out = append(out, b[i])
		case bytes.HasPrefix(b[i:], []byte(`\u2028`)), bytes.HasPrefix(b[i:], []byte(`\u2029`)):
			out = append(out, "\u2028"[:2]...)
			out = append(out, 0xA8+b[i+5]-'8')
			i += 5
		default: // an escape of two characters; the second may be a backslash
			out = append(out, b[i], b[i+1])
			i++
		}
	}
	return out
}

// Digest returns the SHA-256 of a configuration's canonical form, in base64url. If the configuration is not JSON, Digest
// hashes its bytes.
func Digest(config json.RawMessage) string {
	if canonical, err := Canonical(config); err == nil {
		config = canonical
	}
	return sumOf(config)
}

func sumOf(canonical json.RawMessage) string {
	sum := sha256.Sum256(canonical)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// Verified returns the canonical form of a stored value, such as a manifest, unless its digest differs from the stored one. A process
// keeps what it makes of a value under the digest, for all companies: another value under that digest would serve all of them.
func Verified(what string, value json.RawMessage, digest string) (json.RawMessage, error) {
	canonical, err := Canonical(value)
	if err == nil && sumOf(canonical) != digest {
		err = errors.New("its digest is that of another " + what)
	}
	return canonical, err
}
