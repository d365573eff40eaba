package shelf

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"orgops/shared/base/fault"
	"orgops/shared/domain/integration"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/scheme"
)

// Kind names the connector of a sender that the company describes.
const Kind = "hmac"

// Config holds a stored configuration of HMAC: the name of a known scheme, or the description of another.
type Config struct {
	Scheme    string         `json:"scheme,omitempty"`
	Signature *scheme.Scheme `json:"signature,omitempty"`
}

// HMAC receives the webhooks of a sender that signs by a known scheme, or by a scheme that the company describes. It implements
// connector.Inbound, connector.Uncovered and connector.Greeted.
type HMAC struct{ mapping json.RawMessage }

// New makes the connector with a default mapping.
func New(mapping json.RawMessage) *HMAC { return &HMAC{mapping} }

// Kind implements connector.Connector.
func (*HMAC) Kind() string { return Kind }

// Schema implements connector.Connector.
func (*HMAC) Schema() json.RawMessage {
	names := `"` + strings.Join(scheme.Names(), `", "`) + `"`
	return json.RawMessage(fmt.Sprintf(hmacFormat, names, scheme.Schema))
}

const hmacFormat = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "HMAC sender",
  "description": "Any sender that signs its webhooks with a shared secret: by a scheme that is known here, or by one that you describe. Give scheme or signature. Store a mapping that says what its webhooks mean.",
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "scheme": {
      "title": "Scheme",
      "description": "How the sender signs, by the name of a service that signs so.",
      "type": "string", "enum": [%s]
    },
    "signature": %s,
    ` + connector.TablesProperty + `,
    "signingSecret": {
      "title": "Webhook secret",
      "description": "The secret as the sender shows it, or, for discord, the public key. Without it, no arrival is accepted.",
      "type": "string", "minLength": 8, "maxLength": 256,
      "writeOnly": true, "x-widens": false
    }
  },
  "examples": [
    {"scheme": "zendesk"},
    {"signature": {"header": "X-Signature", "algorithm": "hmac-sha256", "encoding": "hex", "signed": "{time}.{body}", "time": {"header": "X-Timestamp", "unit": "s", "tolerance": 300}}}
  ]
}`

// Ports implements connector.Connector.
func (*HMAC) Ports(json.RawMessage) []integration.Port {
	return []integration.Port{integration.InboundReceive, integration.MemoryUpsert, integration.GoalUpdate, integration.TimelineNote}
}

// CheckConfig implements connector.Checker.
func (*HMAC) CheckConfig(raw json.RawMessage) []fault.FieldError {
	var config Config
	if err := json.Unmarshal(raw, &config); err != nil {
		return []fault.FieldError{{Pointer: "", Detail: "must be one JSON object"}}
	}
	switch {
	case (config.Scheme == "") == (config.Signature == nil):
		return []fault.FieldError{{Pointer: "/scheme", Detail: "give scheme, or signature for one that is not known here, and not both"}}
	case config.Signature != nil:
		return config.Signature.Check("/signature")
	}
	return nil
}

// of returns the scheme of a checked configuration.
func (*HMAC) of(raw json.RawMessage) (s scheme.Scheme, ok bool) {
	var config Config
	switch err := json.Unmarshal(raw, &config); {
	case err != nil:
		return scheme.Scheme{}, false
	case config.Signature != nil:
		return *config.Signature, true
	}
	return scheme.Named(config.Scheme)
}

// Verify implements connector.Inbound.
func (c *HMAC) Verify(config json.RawMessage, secrets []string, r scheme.Request, now time.Time) (string, error) {
	s, ok := c.of(config)
	if !ok {
		return "", fault.New(fault.Unauthenticated, "no scheme is configured")
	}
	return s.Verify(secrets, r, now)
}

// Sign implements connector.Inbound.
func (c *HMAC) Sign(config json.RawMessage, secret, arrivalID string, r scheme.Request, now time.Time) http.Header {
	s, ok := c.of(config)
	if !ok {
		return http.Header{}
	}
	return s.Sign(secret, arrivalID, r, now)
}

// Covers implements connector.Uncovered.
func (c *HMAC) Covers(config json.RawMessage, _ http.Header) bool {
	s, _ := c.of(config)
	return s.Covers()
}

// Answer implements connector.Greeted.
func (c *HMAC) Answer(config json.RawMessage, body []byte) (text string, ok bool) {
	s, _ := c.of(config)
	return s.Answer(body)
}

// Headers implements connector.Inbound. They follow from the configuration.
func (*HMAC) Headers() []connector.Header { return nil }

// Document implements connector.Inbound. A form, as Twilio sends it, is an object with the text of each field. Of a field that is there
// several times, the first counts.
func (*HMAC) Document(header http.Header, body []byte) ([]byte, error) {
	if !scheme.IsForm(header) {
		return body, nil
	}
	values, err := url.ParseQuery(string(body))
	if err != nil {
		return nil, fault.New(fault.Malformed, "the body is not the form that its Content-Type says")
	}
	object := map[string]string{}
	for name := range values {
		object[name] = values.Get(name)
		if !utf8.ValidString(name + object[name]) {
			return nil, fault.New(fault.Malformed, "the form is not in UTF-8")
		}
	}
	return json.Marshal(object)
}

// Mapping implements connector.Inbound.
func (c *HMAC) Mapping() json.RawMessage { return c.mapping }

// SampleArrival implements connector.Inbound.
func (*HMAC) SampleArrival(json.RawMessage) (http.Header, []byte) {
	return http.Header{"Content-Type": {"application/json"}},
		[]byte(`{"type":"memory.upsert","data":{"externalId":"sample-1","kind":"sample","title":"A sample arrival"}}`)
}
