package genericwebhook

import (
	_ "embed" // mapping.json
	"encoding/json"
	"net/http"
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

// Document implements connector.Inbound. The body is the document.
func (*Connector) Document(_ http.Header, body []byte) ([]byte, error) { return body, nil }

// SampleArrival implements connector.Inbound.
func (*Connector) SampleArrival(json.RawMessage) (http.Header, []byte) {
	return http.Header{"Content-Type": {"application/json"}},
		[]byte(`{"type":"memory.upsert","data":{"externalId":"sample-1","kind":"sample","title":"A sample arrival"}}`)
}
