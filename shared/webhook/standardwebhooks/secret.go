// Package standardwebhooks signs and verifies deliveries according to Standard Webhooks 1.0, and makes and checks secrets.
package standardwebhooks

import (
	"encoding/base64"
	"io"
	"strings"

	"orgops/shared/base/fault"
)

// Sizes of a secret's key, in bytes, as Standard Webhooks sets them.
const (
	minKey = 24
	maxKey = 64
)

const secretPrefix = "whsec_"

// GenerateSecret makes a signing secret: "whsec_" and the base64 of 32 bytes that it reads from random
// (crypto/rand.Reader).
func GenerateSecret(random io.Reader) (string, error) {
	key := make([]byte, 32)
	if _, err := io.ReadFull(random, key); err != nil {
		return "", err
	}
	return secretPrefix + base64.StdEncoding.EncodeToString(key), nil
}

// CheckSecret returns fault.Invalid for an invalid signing secret. The error does not contain the secret.
func CheckSecret(secret string) error {
	_, err := parseSecret(secret)
	return err
}

func parseSecret(secret string) (key []byte, err error) {
	encoded, ok := strings.CutPrefix(secret, secretPrefix)
	if !ok {
		return nil, fault.New(fault.Invalid, "a signing secret begins with whsec_")
	}
	key, err = base64.StdEncoding.Strict().DecodeString(encoded)
	if err != nil || strings.ContainsAny(encoded, "\r\n") {
		return nil, fault.New(fault.Invalid, "a signing secret is whsec_ and then base64 with its padding")
	}
	if len(key) < minKey || len(key) > maxKey {
		return nil, fault.Newf(fault.Invalid, "a signing secret holds %d to %d bytes, base64-encoded", minKey, maxKey)
	}
	return key, nil
}
