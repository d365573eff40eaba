// Package totp makes and checks time-based one-time passwords (RFC 6238): six digits, SHA-1, a step of 30 seconds. Those are the
// only parameters that every authenticator app takes.
package totp

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // G505: HMAC-SHA-1 is what authenticator apps compute; it needs no collision resistance
	"crypto/subtle"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"net/url"
	"strings"
	"time"
)

const (
	period  = 30 * time.Second
	digits  = 6
	modulus = 1_000_000
	keySize = 20 // bytes, as RFC 4226 §4 recommends
	skew    = 1  // steps before and after the current step that are accepted (RFC 6238 §5.2)
)

// NewKey makes a random key.
func NewKey() []byte {
	key := make([]byte, keySize)
	rand.Read(key)
	return key
}

// Text returns the key as a person types it into an authenticator app.
func Text(key []byte) string {
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(key)
}

// Address returns the otpauth address of a key, which authenticator apps read from a QR code.
func Address(key []byte, issuer, account string) string {
	q := url.Values{"secret": {Text(key)}, "issuer": {issuer}}
	query := strings.ReplaceAll(q.Encode(), "+", "%20") // some apps show a plus
	return (&url.URL{Scheme: "otpauth", Host: "totp", Path: "/" + issuer + ":" + account, RawQuery: query}).String()
}

// At returns the code of a key at a time.
func At(key []byte, now time.Time) string { return code(key, step(now)) }

// Check returns the step of a code that is right at a time and later than the step after. ok is false for any other code: also for
// a code that was used, because its step is not later than the last one.
func Check(key []byte, text string, after int64, now time.Time) (used int64, ok bool) {
	current := step(now)
	for s := current - skew; s <= current+skew; s++ {
		same := subtle.ConstantTimeCompare([]byte(code(key, s)), []byte(text)) == 1
		if same && s > after {
			used, ok = s, true
		}
	}
	return used, ok
}

func step(t time.Time) int64 { return t.Unix() / int64(period/time.Second) }

// code returns the code of a step (RFC 4226 §5.3).
func code(key []byte, s int64) string {
	mac := hmac.New(sha1.New, key)
	_ = binary.Write(mac, binary.BigEndian, s) // a hash takes every write
	sum := mac.Sum(nil)
	offset := sum[len(sum)-1] & 0x0f
	value := binary.BigEndian.Uint32(sum[offset:]) & 0x7fffffff
	return fmt.Sprintf("%0*d", digits, value%modulus)
}
