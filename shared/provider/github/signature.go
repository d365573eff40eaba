package github

import (
	"encoding/json"
	"net/http"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/scheme"
)

// The headers of an arrival.
const (
	headerSignature = "X-Hub-Signature-256"
	headerDelivery  = "X-GitHub-Delivery"
	headerEvent     = "X-GitHub-Event"
)

// signed returns how GitHub signs. An arrival that has only the older SHA-1 signature is refused. GitHub signs neither the time nor the
// arrival's id: a replay may have any.
func signed() scheme.Scheme {
	s, _ := scheme.Named(Kind)
	return s
}

// Verify implements connector.Inbound.
func (*Connector) Verify(_ json.RawMessage, secrets []string, r scheme.Request, now time.Time) (arrivalID string, err error) {
	if _, err := signed().Verify(secrets, r, now); err != nil {
		return "", err
	}
	if !validDelivery(r.Header.Get(headerDelivery)) {
		return "", fault.New(fault.Unauthenticated, "the X-GitHub-Delivery header needs 1 to 128 visible ASCII characters")
	}
	return "", nil
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
func (*Connector) Sign(_ json.RawMessage, secret, arrivalID string, r scheme.Request, now time.Time) http.Header {
	header := signed().Sign(secret, arrivalID, r, now)
	header.Set(headerDelivery, arrivalID)
	return header
}
