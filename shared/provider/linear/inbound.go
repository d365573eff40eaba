package linear

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	_ "embed" // mapping.json
	"encoding/hex"
	"encoding/json"
	"net/http"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/provider/connector"
)

// headerSignature carries the hexadecimal HMAC-SHA256 of the body.
const headerSignature = "Linear-Signature"

//go:embed mapping.json
var defaultMapping []byte

// Mapping implements connector.Inbound. A created or changed issue upserts its memory, a project updates its goal, and a new
// project update becomes one note. Removals and other events are ignored; a full sync removes what is gone.
func (*Connector) Mapping() json.RawMessage { return defaultMapping }

// tolerance limits how far the time of sending may be from now, as for Standard Webhooks.
const tolerance = 5 * time.Minute

// Verify implements connector.Inbound. Linear signs the body, which holds the time of sending, but no header. So an arrival is
// known by its body. A captured arrival is refused after five minutes. Before, its state is at most as new as the stored one.
func (*Connector) Verify(secrets []string, header http.Header, body []byte, now time.Time) (arrivalID string, err error) {
	signatures := connector.Signatures(header, headerSignature, "")
	if len(signatures) == 0 {
		return "", fault.New(fault.Unauthenticated, "the Linear-Signature header needs 64 hexadecimal digits")
	}
	found := false
	for _, secret := range secrets { // all of them, so that the duration does not show which secret matched
		want := sum(secret, body)
		for _, signature := range signatures {
			found = secret != "" && hmac.Equal(signature, want) || found
		}
	}
	if !found {
		return "", fault.New(fault.Unauthenticated, "the signature does not match")
	}
	if bytes.HasPrefix(body, []byte("\x1f\x8b")) { // of gzip: a replay could not be told
		return "", fault.New(fault.Unauthenticated, "the time of sending cannot be read in a compressed body")
	}
	if at, ok := sentAt(body); ok && now.Sub(at).Abs() > tolerance {
		return "", fault.New(fault.Unauthenticated, "the arrival was sent more than 5 minutes before or after the current time")
	}
	return "", nil
}

// Headers implements connector.Inbound.
func (*Connector) Headers() []connector.Header {
	return []connector.Header{{
		Name: headerSignature, Description: "the hexadecimal HMAC-SHA256 of the body",
		Example: "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
	}}
}

// sentAt returns the time of sending in a signed body; ok is false if it has none.
func sentAt(body []byte) (at time.Time, ok bool) {
	var sent struct {
		At int64 `json:"webhookTimestamp"`
	}
	if err := json.Unmarshal(body, &sent); err != nil || sent.At == 0 {
		return time.Time{}, false
	}
	return time.UnixMilli(sent.At), true
}

func sum(secret string, body []byte) []byte {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return mac.Sum(nil)
}

// Sign implements connector.Inbound.
func (*Connector) Sign(secret, _ string, body []byte, _ time.Time) http.Header {
	return http.Header{headerSignature: {hex.EncodeToString(sum(secret, body))}}
}

// Document implements connector.Inbound. The body is the document.
func (*Connector) Document(_ http.Header, body []byte) ([]byte, error) { return body, nil }

// SampleArrival implements connector.Inbound.
func (*Connector) SampleArrival(json.RawMessage) (http.Header, []byte) {
	return http.Header{"Content-Type": {"application/json"}}, []byte(`{"action":"create","type":"Issue",` +
		`"url":"https://linear.app/acme/issue/ENG-1","data":{"id":"2174add1-f7c8-44e3-bbf3-2d60b5ea8bc9","identifier":"ENG-1",` +
		`"title":"A sample issue","description":"Nothing is wrong.","updatedAt":"2026-01-01T00:00:00.000Z"}}`)
}
