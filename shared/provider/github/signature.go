package github

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/provider/connector"
)

// The headers of an arrival.
const (
	headerSignature = "X-Hub-Signature-256"
	headerDelivery  = "X-GitHub-Delivery"
	headerEvent     = "X-GitHub-Event"
)

const scheme = "sha256="

// Verify implements connector.Inbound. It accepts the HMAC-SHA256 of the body under any live secret, and refuses an arrival
// that has only the older SHA-1 signature. GitHub signs neither the time nor the arrival id, so Verify returns no id: a replay
// may have any.
func (*Connector) Verify(secrets []string, header http.Header, body []byte, _ time.Time) (arrivalID string, err error) {
	if header.Get(headerSignature) == "" {
		return "", fault.New(fault.Unauthenticated, "the X-Hub-Signature-256 header is missing; X-Hub-Signature, with SHA-1, is not accepted")
	}
	signatures := connector.Signatures(header, headerSignature, scheme)
	if len(signatures) == 0 {
		return "", fault.New(fault.Unauthenticated, "the X-Hub-Signature-256 header needs sha256= and 64 hexadecimal digits")
	}
	if !matches(secrets, signatures, body) {
		return "", fault.New(fault.Unauthenticated, "the signature does not match")
	}
	if !validDelivery(header.Get(headerDelivery)) {
		return "", fault.New(fault.Unauthenticated, "the X-GitHub-Delivery header needs 1 to 128 visible ASCII characters")
	}
	return "", nil
}

// matches tries every secret, so its duration does not show which secret matched.
func matches(secrets []string, signatures [][]byte, body []byte) bool {
	found := false
	for _, secret := range secrets {
		if secret == "" {
			continue
		}
		want := sum(secret, body)
		for _, signature := range signatures {
			found = hmac.Equal(signature, want) || found
		}
	}
	return found
}

func sum(secret string, body []byte) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return mac.Sum(nil)
}

func validDelivery(id string) bool {
	if id == "" || len(id) > 128 {
		return false
	}
	for i := 0; i < len(id); i++ {
		if id[i] <= ' ' || id[i] > '~' {
			return false
		}
	}
	return true
}

// Headers implements connector.Inbound.
func (*Connector) Headers() []connector.Header {
	return []connector.Header{
		{
			Name: headerSignature, Description: "sha256= and the hexadecimal HMAC-SHA256 of the body",
			Example: "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
		},
		{Name: headerEvent, Description: "the event's name", Example: "issues"},
		{Name: headerDelivery, Description: "the arrival's id, which the signature does not cover", Example: "72d3162e-cc78-11e3-81ab-4c9367dc0958"},
	}
}

// Sign implements connector.Inbound. It leaves out the event header, which SampleArrival sets.
func (*Connector) Sign(secret, arrivalID string, body []byte, _ time.Time) http.Header {
	return http.Header{
		http.CanonicalHeaderKey(headerSignature): {scheme + hex.EncodeToString(sum(secret, body))},
		http.CanonicalHeaderKey(headerDelivery):  {arrivalID},
	}
}
