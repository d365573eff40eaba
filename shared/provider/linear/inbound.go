package linear

import (
	_ "embed" // mapping.json
	"encoding/json"
	"net/http"
	"time"

	"orgops/shared/provider/connector"
	"orgops/shared/provider/scheme"
)

// headerSignature carries the hexadecimal HMAC-SHA256 of the body.
const headerSignature = "Linear-Signature"

//go:embed mapping.json
var defaultMapping []byte

// Mapping implements connector.Inbound. A created or changed issue upserts its memory, a project updates its goal, and a new
// project update becomes one note. Removals and other events are ignored; a full sync removes what is gone.
func (*Connector) Mapping() json.RawMessage { return defaultMapping }

// signed returns how Linear signs: the body, which holds the time of sending, but no header. So an arrival is known by its body. A captured
// arrival is refused after five minutes. Before, its state is at most as new as the stored one.
func signed() scheme.Scheme {
	s, _ := scheme.Named(Kind)
	return s
}

// Verify implements connector.Inbound.
func (*Connector) Verify(_ json.RawMessage, secrets []string, r scheme.Request, now time.Time) (arrivalID string, err error) {
	return signed().Verify(secrets, r, now)
}

// Headers implements connector.Inbound.
func (*Connector) Headers() []connector.Header {
	return []connector.Header{{
		Name: headerSignature, Description: "the hexadecimal HMAC-SHA256 of the body",
		Example: "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
	}}
}

// Sign implements connector.Inbound.
func (*Connector) Sign(_ json.RawMessage, secret, arrivalID string, r scheme.Request, now time.Time) http.Header {
	return signed().Sign(secret, arrivalID, r, now)
}

// Document implements connector.Inbound. The body is the document.
func (*Connector) Document(_ http.Header, body []byte) ([]byte, error) { return body, nil }

// SampleArrival implements connector.Inbound.
func (*Connector) SampleArrival(json.RawMessage) (http.Header, []byte) {
	return http.Header{"Content-Type": {"application/json"}}, []byte(`{"action":"create","type":"Issue",` +
		`"url":"https://linear.app/acme/issue/ENG-1","data":{"id":"2174add1-f7c8-44e3-bbf3-2d60b5ea8bc9","identifier":"ENG-1",` +
		`"title":"A sample issue","description":"Nothing is wrong.","updatedAt":"2026-01-01T00:00:00.000Z"}}`)
}
