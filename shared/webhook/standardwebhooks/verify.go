package standardwebhooks

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"time"

	"orgops/shared/base/fault"
)

// Tolerance limits how far a delivery's timestamp may be from now, in either direction.
const Tolerance = 5 * time.Minute

// Limits of the input of Verify. They limit the work that a malicious request causes. Genuine senders stay far below them.
const (
	maxID         = 256
	maxSignatures = 20
)

// Verify checks a delivery's headers and body against the live secrets and returns its webhook-id. It accepts a delivery if
// any v1 signature matches any secret, and ignores signatures of other versions. Otherwise it returns
// fault.Unauthenticated, which says what is missing or wrong but never the expected value.
func Verify(secrets []string, header http.Header, body []byte, now time.Time) (id string, err error) {
	if len(secrets) == 0 {
		return "", fault.New(fault.Unauthenticated, "no signing secret is configured")
	}
	names := namesIn(header)
	signatures := strings.Join(header.Values(names.signature), " ") // several lines are several signatures
	if signatures == "" {
		return "", fault.New(fault.Unauthenticated, "the webhook-signature header is missing")
	}
	id = Only(header, names.id)
	if !ValidID(id) {
		return "", fault.New(fault.Unauthenticated, "the webhook-id header needs 1 to 256 visible ASCII characters other than the full stop")
	}
	timestamp := Only(header, names.timestamp)
	if err := checkTimestamp(timestamp, now); err != nil {
		return "", err
	}
	content := make([]byte, 0, len(id)+len(timestamp)+2)
	content = append(append(append(append(content, id...), '.'), timestamp...), '.')
	if !matches(secrets, signatures, content, body) {
		return "", fault.New(fault.Unauthenticated, "no v1 signature matches")
	}
	return id, nil
}

// names holds the names of the headers of a delivery.
type names struct{ id, timestamp, signature string }

// namesIn returns the standard's names or, if a delivery has no signature under these, those of Svix, from which the standard comes.
func namesIn(header http.Header) names {
	if len(header.Values(HeaderSignature)) == 0 && len(header.Values("Svix-Signature")) > 0 {
		return names{"Svix-Id", "Svix-Timestamp", "Svix-Signature"}
	}
	return names{HeaderID, HeaderTimestamp, HeaderSignature}
}

// Only returns the value of a header, or "" if it has different ones: it is unknown which of them was signed.
func Only(header http.Header, name string) string {
	values := header.Values(name)
	if len(values) == 0 {
		return ""
	}
	for _, v := range values[1:] {
		if v != values[0] {
			return ""
		}
	}
	return values[0]
}

// matches compares every given signature with the signature under every secret. Each comparison takes constant time.
func matches(secrets []string, signatures string, content, body []byte) bool {
	given := decodeSignatures(signatures)
	found := false
	var sum [sha256.Size]byte
	for _, secret := range secrets[:min(len(secrets), maxSecrets)] {
		key, err := parseSecret(secret)
		if err != nil {
			continue
		}
		mac := hmac.New(sha256.New, key)
		mac.Write(content)
		mac.Write(body)
		want := mac.Sum(sum[:0])
		for _, g := range given {
			found = hmac.Equal(g, want) || found
		}
	}
	return found
}

func decodeSignatures(header string) [][]byte {
	var decoded [][]byte
	for s := range strings.FieldsSeq(header) {
		encoded, ok := strings.CutPrefix(strings.TrimSuffix(s, ","), scheme) // a proxy joins lines by commas
		if !ok {
			continue
		}
		if b, err := base64.StdEncoding.Strict().DecodeString(encoded); err == nil && len(b) == sha256.Size {
			decoded = append(decoded, b)
		}
		if len(decoded) == maxSignatures {
			break
		}
	}
	return decoded
}

// ValidID reports whether an id is 1 to 256 visible ASCII characters without a full stop. The full stop separates the signed parts, so two
// deliveries with such ids could share a signature.
func ValidID(id string) bool {
	if id == "" || len(id) > maxID {
		return false
	}
	for i := 0; i < len(id); i++ {
		if id[i] <= ' ' || id[i] > '~' || id[i] == '.' {
			return false
		}
	}
	return true
}

func checkTimestamp(timestamp string, now time.Time) error {
	seconds, err := strconv.ParseUint(timestamp, 10, 40) // until the year 36812; digits only
	if err != nil {
		return fault.New(fault.Unauthenticated, "the webhook-timestamp header needs Unix seconds")
	}
	if off := now.Sub(time.Unix(int64(seconds), 0)); off > Tolerance || off < -Tolerance {
		return fault.New(fault.Unauthenticated, "the webhook-timestamp is more than 5 minutes from now")
	}
	return nil
}
