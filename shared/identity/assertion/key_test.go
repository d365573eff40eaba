package assertion_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"orgops/shared/identity/assertion"
)

// jwk returns an RSA key of a number of bits.
func jwk(bits int) string {
	n := strings.Repeat("\xff", bits/8)
	return fmt.Sprintf(`{"kty":"RSA","n":%q,"e":"AQAB"}`, base64.RawURLEncoding.EncodeToString([]byte(n)))
}

// TestParseKey_Long refuses RSA keys that are too short to be safe, or so long that a check of a signature takes much time.
func TestParseKey_Long(t *testing.T) {
	t.Parallel()
	for bits, accepted := range map[int]bool{1024: false, 2048: true, 4096: true, 8192: false, 262144: false} {
		_, err := assertion.ParseKey([]byte(jwk(bits)))
		if got := err == nil; got != accepted {
			t.Errorf("a key of %d bits: accepted = %t (%v), want %t", bits, got, err, accepted)
		}
	}
}
