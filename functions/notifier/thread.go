package notifier

import (
	"crypto/sha256"
	"encoding/hex"
)

// threadOf returns the root of the conversation about a matter. It tells nothing of the matter.
func threadOf(company, about string) string {
	sum := sha256.Sum256([]byte(company + " " + about))
	return hex.EncodeToString(sum[:16])
}
