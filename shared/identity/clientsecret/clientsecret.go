// Package clientsecret makes and checks the secrets of clients. A secret has a prefix and a checksum, so that scanners find leaked
// ones without false alarms: the form is that of GitHub's tokens.
package clientsecret

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"hash/crc32"
	"strings"
)

// Prefix begins every secret.
const Prefix = "orgops_"

// A secret has 30 random digits, which are 178 bits, and the CRC-32 of them in 6 digits.
const (
	random   = 30
	checksum = 6
	digits   = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// New makes a secret.
func New() string {
	body := make([]byte, 0, random)
	var drawn [2 * random]byte
	for len(body) < random {
		rand.Read(drawn[:])
		for _, b := range drawn {
			if int(b) < 4*len(digits) && len(body) < random { // every digit is as likely as another
				body = append(body, digits[int(b)%len(digits)])
			}
		}
	}
	return Prefix + string(body) + sum(string(body))
}

// sum returns the checksum of the random digits.
func sum(body string) string {
	out := []byte(strings.Repeat("0", checksum))
	for n, rest := len(out)-1, crc32.ChecksumIEEE([]byte(body)); rest > 0; n-- {
		out[n], rest = digits[rest%uint32(len(digits))], rest/uint32(len(digits))
	}
	return string(out)
}

// Valid reports whether text has the form of a secret.
func Valid(text string) bool {
	body, ok := strings.CutPrefix(text, Prefix)
	return ok && len(body) == random+checksum && sum(body[:random]) == body[random:]
}

// Digest returns what is stored of a secret: its SHA-256, hexadecimal. A slow hash would add nothing to 178 random bits.
func Digest(secret string) string {
	d := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(d[:])
}

// Matches reports whether a secret has one of the digests. It compares with all of them, each in constant time.
func Matches(secret string, stored ...string) bool {
	digest, found := []byte(Digest(secret)), 0
	for _, one := range stored {
		found |= subtle.ConstantTimeCompare(digest, []byte(one))
	}
	return found == 1
}
