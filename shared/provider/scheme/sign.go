package scheme

import (
	"encoding/base64"
	"encoding/hex"
	"io"
	"net/http"
	"strings"
	"time"
)

// Sign makes the headers of an arrival that Verify accepts, for certification and samples. It returns none if only the provider can sign, or
// the secret has another form.
func (s Scheme) Sign(secret, id string, r Request, now time.Time) http.Header {
	header := http.Header{}
	if s.Algorithm == Token {
		header.Set(s.Header, secret)
		return header
	}
	key, ok := s.key(secret)
	if !s.Signs() || !ok {
		return header
	}
	at := ""
	if s.Time != nil && s.Time.Member == "" {
		at = s.Time.text(now)
	}
	if s.ID != "" {
		header.Set(s.ID, id)
	}
	write := func(w io.Writer) { s.write(w, r, s.addresses(r)[0], id, at) }
	signature := s.Prefix + s.encode(s.sum(key, write))
	if s.Field != "" {
		signature = s.Field + "=" + signature
	}
	switch {
	case at == "":
	case s.Time.Field != "":
		signature = s.Time.Field + "=" + at + s.separator() + signature
	default:
		header.Set(s.Time.Header, at)
	}
	header.Set(s.Header, signature)
	return header
}

func (s Scheme) encode(sum []byte) string {
	if s.Encoding == "base64" {
		return base64.StdEncoding.EncodeToString(sum)
	}
	return hex.EncodeToString(sum)
}

// Headers lists the names of the headers that an arrival must have.
func (s Scheme) Headers() []string {
	if s.Object != "" {
		return nil
	}
	names := []string{s.Header}
	if s.ID != "" {
		names = append(names, s.ID)
	}
	if s.Time != nil && s.Time.Header != "" {
		names = append(names, s.Time.Header)
	}
	return names
}

// Describe says in words what a header of the scheme holds.
func (s Scheme) Describe(name string) string {
	switch {
	case strings.EqualFold(name, s.ID):
		return "the arrival's id, the same for a repeat"
	case s.Time != nil && strings.EqualFold(name, s.Time.Header):
		return "when the arrival was signed"
	case s.Algorithm == Token:
		return "the secret that is stored here"
	}
	encoding, signed := s.Encoding, s.Signed
	if encoding == "hex" {
		encoding = "hexadecimal"
	}
	if signed == "{body}" {
		signed = "the body"
	}
	return "the " + encoding + " " + strings.ToUpper(s.Algorithm) + " of " + signed
}

// Answer returns the answer to a provider's handshake. ok is false for any other arrival, which is to be handled as usual. The text is ""
// if the answer has no body.
func (s Scheme) Answer(body []byte) (text string, ok bool) {
	if s.Handshake == nil {
		return "", false
	}
	if value, has := member(body, s.Handshake.Member); !has || value != s.Handshake.Value {
		return "", false
	}
	if s.Handshake.Echo == "" {
		return "", true
	}
	text, ok = member(body, s.Handshake.Echo)
	return text, ok && len(text) <= maxEcho
}

// maxEcho limits what an answer repeats, in bytes.
const maxEcho = 1024
