package genericwebhook

import (
	_ "embed" // mapping.json
	"encoding/json"
	"net/http"

	"orgops/shared/provider/connector"
)

//go:embed mapping.json
var defaultMapping []byte

// Mapping implements connector.Inbound. The default mapping takes a type, which names a port, and data: one draft, or a list
// of at most connector.MaxActions drafts:
//
//	{"type": "memory.upsert", "data": {"externalId": "42", "kind": "ticket", "title": "Printer on fire"}}
//	{"type": "goal.update", "data": [{"externalId": "q3", "title": "Ship", "progress": 0.4, "state": "open"}, …]}
//	{"type": "timeline.note", "data": {"title": "Moved office", "subject": "office", "details": {…}}}
//
// Other members are ignored, so a sender may add the members that Standard Webhooks recommends.
func (*Connector) Mapping() json.RawMessage { return defaultMapping }

// Headers implements connector.Inbound: those of Standard Webhooks.
func (*Connector) Headers() []connector.Header {
	return []connector.Header{
		{Name: "webhook-id", Description: "the arrival's id, the same for a repeat; svix-id, svix-timestamp and svix-signature are accepted instead", Example: "msg_2Zx8"},
		{Name: "webhook-timestamp", Description: "when the arrival was signed, in Unix seconds; at most 5 minutes before or after the current time", Example: "1771840800"},
		{
			Name: "webhook-signature", Description: "v1, a comma, and the base64 HMAC-SHA256 of id.timestamp.body",
			Example: "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
		},
	}
}

// Document implements connector.Inbound. The body is the document.
func (*Connector) Document(_ http.Header, body []byte) ([]byte, error) { return body, nil }

// SampleArrival implements connector.Inbound.
func (*Connector) SampleArrival(json.RawMessage) (http.Header, []byte) {
	return http.Header{"Content-Type": {"application/json"}},
		[]byte(`{"type":"memory.upsert","data":{"externalId":"sample-1","kind":"sample","title":"A sample arrival"}}`)
}
