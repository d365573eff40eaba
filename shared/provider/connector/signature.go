package connector

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strings"
)

// maxSignatures limits the signatures of an arrival. A proxy may repeat a header, or join its lines by commas.
const maxSignatures = 4

// Signatures returns the SHA-256 signatures of an arrival in a header, which are hexadecimal and follow a prefix. It leaves out
// what is malformed.
func Signatures(header http.Header, name, prefix string) (signatures [][]byte) {
	for one := range strings.SplitSeq(strings.Join(header.Values(name), ","), ",") {
		one = strings.TrimSpace(one)
		if len(one) < len(prefix) || !strings.EqualFold(one[:len(prefix)], prefix) {
			continue
		}
		signature, err := hex.DecodeString(one[len(prefix):])
		if err == nil && len(signature) == sha256.Size && len(signatures) < maxSignatures {
			signatures = append(signatures, signature)
		}
	}
	return signatures
}
