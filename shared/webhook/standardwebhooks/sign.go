package standardwebhooks

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"hash"
	"net/http"
	"strconv"
	"sync"
	"time"

	"orgops/shared/base/fault"
)

// The headers of a delivery, in the form of http.Header's keys.
const (
	HeaderID        = "Webhook-Id"
	HeaderTimestamp = "Webhook-Timestamp"
	HeaderSignature = "Webhook-Signature"
)

// maxSecrets limits the live secrets that sign one delivery, and so the length of its signature header.
const maxSecrets = 10

const scheme = "v1,"

// Signer signs with every live secret of an endpoint. Make one per endpoint. It is safe for concurrent use.
type Signer struct {
	mu   sync.Mutex // the hashes have state; signing takes about a microsecond
	macs []hash.Hash
}

// NewSigner makes a signer with the live secrets, newest first. It ignores secrets after the tenth. It returns
// fault.Invalid if there is no secret or a secret is invalid.
func NewSigner(secrets []string) (*Signer, error) {
	if len(secrets) == 0 {
		return nil, fault.New(fault.Invalid, "there is no signing secret")
	}
	s := &Signer{}
	for _, secret := range secrets[:min(len(secrets), maxSecrets)] {
		key, err := parseSecret(secret)
		if err != nil {
			return nil, err
		}
		s.macs = append(s.macs, hmac.New(sha256.New, key))
	}
	return s, nil
}

// Sign returns the value of the webhook-signature header: for each secret "v1," and the base64 HMAC-SHA256 of
// id.timestamp.body, separated by spaces. The timestamp is in Unix seconds.
func (s *Signer) Sign(id string, timestamp int64, body []byte) string {
	const encoded = (sha256.Size + 2) / 3 * 4
	out := make([]byte, 0, len(s.macs)*(len(scheme)+encoded+1))
	var sum [sha256.Size]byte
	var head [128]byte
	prefix := append(append(head[:0], id...), '.')
	prefix = append(strconv.AppendInt(prefix, timestamp, 10), '.')
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, mac := range s.macs {
		if i > 0 {
			out = append(out, ' ')
		}
		mac.Reset()
		mac.Write(prefix)
		mac.Write(body)
		out = base64.StdEncoding.AppendEncode(append(out, scheme...), mac.Sum(sum[:0]))
	}
	return string(out)
}

// Headers returns the three headers of a delivery that is signed at now.
func (s *Signer) Headers(id string, body []byte, now time.Time) http.Header {
	timestamp := now.Unix()
	return http.Header{
		HeaderID:        {id},
		HeaderTimestamp: {strconv.FormatInt(timestamp, 10)},
		HeaderSignature: {s.Sign(id, timestamp, body)},
	}
}
