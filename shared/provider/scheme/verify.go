package scheme

import (
	"bytes"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // as an HMAC, which its weakness does not concern; Intercom, Twilio and Vercel sign so
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"net/http"
	"strings"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/webhook/standardwebhooks"
)

// Limits of what an arrival may make Verify do.
const (
	maxSignatures = 20
	maxSecrets    = 10
)

// Verify checks an arrival against the live secrets, and its time if the scheme has one. It parses the body only after its signature has
// matched, but for the object in which the signature stands. It returns the arrival's id if the signature covers it, and "" otherwise. An arrival that does not verify is
// fault.Unauthenticated; the detail is a fixed text for the scheme.
func (s Scheme) Verify(secrets []string, r Request, now time.Time) (id string, err error) {
	if s.Algorithm == Token {
		return "", s.verifyToken(secrets, r)
	}
	if s.Object != "" {
		r.Header = headerIn(r.Body, s.Object)
	}
	if r.Header.Get(s.Header) == "" {
		return "", fault.Newf(fault.Unauthenticated, "the %s header is missing", s.Header)
	}
	given := s.signatures(r)
	if len(given) == 0 {
		return "", fault.Newf(fault.Unauthenticated, "the %s header needs %s", s.Header, s.wanted())
	}
	at, err := s.sentAt(r, now)
	if err != nil {
		return "", err
	}
	if s.ID != "" {
		if id = standardwebhooks.Only(r.Header, s.ID); !standardwebhooks.ValidID(id) {
			return "", fault.Newf(fault.Unauthenticated, "the %s header needs 1 to 256 visible ASCII characters other than the full stop", s.ID)
		}
	}
	if !s.matches(secrets, given, r, id, at) {
		return "", fault.New(fault.Unauthenticated, "the signature does not match")
	}
	if !s.has("id") {
		id = ""
	}
	return id, s.checkMember(r.Body, now)
}

// headerIn returns the members of an object in a body as headers. Without it there are no headers.
func headerIn(body []byte, object string) http.Header {
	header := http.Header{}
	text, _ := member(body, object)
	var members map[string]json.RawMessage
	_ = json.Unmarshal([]byte(text), &members)
	for name := range members {
		value, _ := member([]byte(text), name)
		header.Set(name, value)
	}
	return header
}

// verifyToken compares the header with each secret.
func (s Scheme) verifyToken(secrets []string, r Request) error {
	given := []byte(standardwebhooks.Only(r.Header, s.Header))
	found := 0
	for _, secret := range secrets {
		if secret != "" {
			found |= subtle.ConstantTimeCompare(given, []byte(secret))
		}
	}
	if found == 0 {
		return fault.Newf(fault.Unauthenticated, "the %s header does not hold the secret", s.Header)
	}
	return nil
}

// signatures returns the decoded signatures of an arrival. It leaves out what is malformed. A proxy may repeat a header, or join its lines.
func (s Scheme) signatures(r Request) (decoded [][]byte) {
	for _, one := range s.parts(r) {
		if s.Field != "" {
			name, value, _ := strings.Cut(one, "=")
			if name != s.Field {
				continue
			}
			one = value
		}
		if len(one) < len(s.Prefix) || !strings.EqualFold(one[:len(s.Prefix)], s.Prefix) {
			continue
		}
		if signature, ok := s.decode(one[len(s.Prefix):]); ok && len(decoded) < maxSignatures {
			decoded = append(decoded, signature)
		}
	}
	return decoded
}

// parts returns the parts of the header with the signatures.
func (s Scheme) parts(r Request) []string {
	parts := strings.Split(strings.Join(r.Header.Values(s.Header), s.separator()), s.separator())
	for n, part := range parts {
		parts[n] = strings.Trim(part, " \t,")
	}
	return parts
}

func (s Scheme) decode(text string) (signature []byte, ok bool) {
	var err error
	if s.Encoding == "base64" {
		signature, err = base64.StdEncoding.Strict().DecodeString(text)
	} else {
		signature, err = hex.DecodeString(text)
	}
	return signature, err == nil && len(signature) == s.size()
}

// wanted describes a signature.
func (s Scheme) wanted() string {
	form := fmt.Sprintf("%d hexadecimal digits", 2*s.size())
	if s.Encoding == "base64" {
		form = fmt.Sprintf("the base64 of %d bytes", s.size())
	}
	if s.Prefix != "" {
		form = s.Prefix + " and " + form
	}
	if s.Field != "" {
		form = s.Field + "= and " + form
	}
	return form
}

// size returns the bytes of a signature.
func (s Scheme) size() int {
	switch s.Algorithm {
	case SHA1:
		return sha1.Size
	case SHA512, Ed25519:
		return ed25519.SignatureSize // 64, as of SHA-512
	}
	return sha256.Size
}

// sentAt returns the text of the time that is sent in a header, and refuses a time that is too far from now.
func (s Scheme) sentAt(r Request, now time.Time) (string, error) {
	if s.Time == nil || s.Time.Member != "" {
		return "", nil
	}
	text, where := "", s.Time.Header
	if where != "" {
		text = standardwebhooks.Only(r.Header, where)
	} else {
		where = s.Header
		for _, part := range s.parts(r) {
			if name, value, _ := strings.Cut(part, "="); name == s.Time.Field && text != value {
				if text != "" {
					return "", fault.Newf(fault.Unauthenticated, "the %s header has two times", where)
				}
				text = value
			}
		}
	}
	at, ok := s.Time.read(text)
	if !ok {
		return "", fault.Newf(fault.Unauthenticated, "the %s header lacks the time of sending", where)
	}
	return text, s.Time.near(at, now)
}

// near refuses a time that is further from now than the tolerance.
func (t Time) near(at, now time.Time) error {
	if tolerance := time.Duration(t.Tolerance) * time.Second; now.Sub(at).Abs() > tolerance {
		return fault.Newf(fault.Unauthenticated, "the arrival was sent more than %s before or after the current time", minutes(tolerance))
	}
	return nil
}

func minutes(d time.Duration) string {
	if d%time.Minute != 0 {
		return fmt.Sprintf("%d seconds", int(d.Seconds()))
	}
	return fmt.Sprintf("%d minutes", int(d.Minutes()))
}

// checkMember checks the time in a body whose signature matches. A captured arrival is refused after the tolerance.
func (s Scheme) checkMember(body []byte, now time.Time) error {
	if s.Time == nil || s.Time.Member == "" {
		return nil
	}
	if bytes.HasPrefix(body, []byte("\x1f\x8b")) { // of gzip: a replay could not be told
		return fault.New(fault.Unauthenticated, "the time of sending cannot be read in a compressed body")
	}
	text, _ := member(body, s.Time.Member)
	if at, ok := s.Time.read(text); ok {
		return s.Time.near(at, now)
	}
	return nil
}

// member returns a member of a JSON object as text: a string, or a number as it is written.
func member(body []byte, name string) (text string, ok bool) {
	var object map[string]json.RawMessage
	if json.Unmarshal(body, &object) != nil || len(object[name]) == 0 {
		return "", false
	}
	if json.Unmarshal(object[name], &text) == nil {
		return text, true
	}
	return string(object[name]), true
}

// matches tries each secret with each address and signature, so its duration does not show which secret matched.
func (s Scheme) matches(secrets []string, given [][]byte, r Request, id, at string) bool {
	found := false
	for _, address := range s.addresses(r) {
		write := func(w io.Writer) { s.write(w, r, address, id, at) }
		for _, secret := range secrets[:min(len(secrets), maxSecrets)] {
			if key, ok := s.key(secret); ok && s.covers(r, address) {
				found = s.signed(r.Streamed, key, write, given) || found
			}
		}
	}
	return found
}

// signed reports whether one of the signatures is that of a key.
func (s Scheme) signed(streamed *Streamed, key []byte, write func(io.Writer), given [][]byte) (found bool) {
	if s.Algorithm == Ed25519 {
		var content bytes.Buffer
		write(&content)
		for _, signature := range given {
			found = len(key) == ed25519.PublicKeySize && ed25519.Verify(key, content.Bytes(), signature) || found
		}
		return found
	}
	want := streamed.sum(key)
	if streamed == nil {
		want = s.sum(key, write)
	}
	for _, signature := range given {
		found = hmac.Equal(want, signature) || found
	}
	return found
}

func (s Scheme) sum(key []byte, write func(io.Writer)) []byte {
	mac := s.mac(key)
	write(mac)
	return mac.Sum(nil)
}

func (s Scheme) mac(key []byte) hash.Hash {
	algorithm := sha256.New
	switch s.Algorithm {
	case SHA1:
		algorithm = sha1.New
	case SHA512:
		algorithm = sha512.New
	}
	return hmac.New(algorithm, key)
}

// Streamed computes the signatures of a body that is not kept.
type Streamed struct{ macs map[string]hash.Hash } // by key

// Stream begins a body, of which each byte is to be written to the result. The scheme must sign the body and nothing else, by an HMAC.
func (s Scheme) Stream(secrets []string) *Streamed {
	all := &Streamed{map[string]hash.Hash{}}
	for _, secret := range secrets[:min(len(secrets), maxSecrets)] {
		if key, ok := s.key(secret); ok {
			all.macs[string(key)] = s.mac(key)
		}
	}
	return all
}

// Write implements io.Writer.
func (m *Streamed) Write(p []byte) (int, error) {
	for _, mac := range m.macs {
		_, _ = mac.Write(p) // a hash takes everything
	}
	return len(p), nil
}

// sum returns the signature by a key, or nil for a key that is younger than the body's beginning.
func (m *Streamed) sum(key []byte) []byte {
	if m == nil || m.macs[string(key)] == nil {
		return nil
	}
	return m.macs[string(key)].Sum(nil)
}

// key returns the key of a secret. ok is false for an empty secret, or one of another form.
func (s Scheme) key(secret string) (key []byte, ok bool) {
	var err error
	switch form := s.Key; {
	case form == "whsec":
		encoded, _ := strings.CutPrefix(secret, "whsec_")
		key, err = base64.StdEncoding.DecodeString(encoded)
	case form == "base64":
		key, err = base64.StdEncoding.DecodeString(secret)
	case form == "hex", s.Algorithm == Ed25519:
		key, err = hex.DecodeString(secret)
	default:
		key = []byte(secret)
	}
	return key, err == nil && len(key) > 0
}
