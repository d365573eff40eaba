// Package shelf connects providers that are described by data: a file of kinds names how a provider signs, and holds the mapping that says
// what its webhooks mean.
package shelf

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"strings"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/domain/integration"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/scheme"
)

//go:embed kinds/*.json
var kinds embed.FS

// description is a file of kinds.
type description struct {
	Title       string             `json:"title"` // its first word names the schema, so no other connector has it
	Description string             `json:"description"`
	Secret      string             `json:"secret"`  // where the provider shows the secret
	Schemes     []string           `json:"schemes"` // in the order in which they are tried
	Headers     []connector.Header `json:"headers"` // that the mapping needs
	Ports       []integration.Port `json:"ports"`   // in addition to inbound.receive
	Place       *place             `json:"place"`   // nil: arrivals concern every integration
	Largest     int64              `json:"largest"` // bytes of an arrival, if the provider documents more than 1 MiB
	Sample      struct {
		Headers map[string]string `json:"headers"`
		Body    json.RawMessage   `json:"body"`
	} `json:"sample"`
	Mapping json.RawMessage `json:"mapping"`
}

// Connector receives the webhooks of one kind of provider. It implements connector.Large, connector.Placed, connector.Uncovered and
// connector.Greeted.
type Connector struct {
	kind string
	load func() description
}

// read reads a file when its kind is used for the first time. It panics on a bad one, which no test lets pass.
func read(name string) (d description) {
	raw, err := kinds.ReadFile(path.Join("kinds", name))
	if err == nil {
		decoder := json.NewDecoder(bytes.NewReader(raw))
		decoder.DisallowUnknownFields()
		err = decoder.Decode(&d)
	}
	if err != nil {
		panic(fmt.Sprintf("kinds/%s: %v", name, err))
	}
	return d
}

// Kind implements connector.Connector.
func (c *Connector) Kind() string { return c.kind }

// Schema implements connector.Connector.
func (c *Connector) Schema() json.RawMessage {
	d := c.load()
	return json.RawMessage(fmt.Sprintf(schemaFormat, quote(d.Title), quote(d.Description), quote(d.Secret)))
}

const schemaFormat = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": %s,
  "description": %s,
  "type": "object",
  "additionalProperties": false,
  "properties": {
    ` + connector.TablesProperty + `,
    "signingSecret": {
      "title": "Webhook secret",
      "description": %s,
      "type": "string", "minLength": 8, "maxLength": 256,
      "writeOnly": true, "x-widens": false
    }
  },
  "examples": [{}]
}`

func quote(text string) string {
	quoted, _ := json.Marshal(text) // texts always encode
	return string(quoted)
}

// Ports implements connector.Connector.
func (c *Connector) Ports(json.RawMessage) []integration.Port {
	return append([]integration.Port{integration.InboundReceive}, c.load().Ports...)
}

// CheckConfig implements connector.Checker. The schema states every rule.
func (*Connector) CheckConfig(json.RawMessage) []fault.FieldError { return nil }

// Verify implements connector.Inbound.
func (c *Connector) Verify(_ json.RawMessage, secrets []string, r scheme.Request, now time.Time) (string, error) {
	return verify(c.schemes(), secrets, r, now)
}

// verify tries each scheme whose header an arrival has. It returns the error of the last one.
func verify(schemes []scheme.Scheme, secrets []string, r scheme.Request, now time.Time) (id string, err error) {
	tried := false
	for _, s := range schemes {
		if r.Header.Get(s.Header) == "" {
			continue
		}
		tried = true
		if id, err = s.Verify(secrets, r, now); err == nil {
			return id, nil
		}
	}
	if !tried {
		return "", fault.Newf(fault.Unauthenticated, "the %s header is missing", schemes[0].Header)
	}
	return "", err
}

func (c *Connector) schemes() []scheme.Scheme {
	names := c.load().Schemes
	schemes := make([]scheme.Scheme, len(names))
	for n, name := range names {
		schemes[n], _ = scheme.Named(name)
	}
	return schemes
}

// Sign implements connector.Inbound. It signs by the first scheme that the secret has the form of.
func (c *Connector) Sign(_ json.RawMessage, secret, arrivalID string, r scheme.Request, now time.Time) http.Header {
	header := http.Header{}
	for _, s := range c.schemes() {
		if header = s.Sign(secret, arrivalID, r, now); len(header) > 0 {
			break
		}
	}
	return header
}

// Covers implements connector.Uncovered.
func (c *Connector) Covers(_ json.RawMessage, header http.Header) bool {
	for _, s := range c.schemes() {
		if s.Covers() && header.Get(s.Header) != "" {
			return true
		}
	}
	return false
}

// Answer implements connector.Greeted.
func (c *Connector) Answer(_ json.RawMessage, body []byte) (text string, ok bool) {
	for _, s := range c.schemes() {
		if text, ok = s.Answer(body); ok {
			break
		}
	}
	return text, ok
}

// Headers implements connector.Inbound: those of the first scheme, and those that the mapping needs.
func (c *Connector) Headers() []connector.Header {
	d, s := c.load(), c.schemes()[0]
	signed := s.Sign(exampleSecret, exampleID, scheme.Request{Body: d.Sample.Body}, time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC))
	headers := []connector.Header{}
	for _, name := range s.Headers() {
		headers = append(headers, connector.Header{Name: name, Description: s.Describe(name), Example: signed.Get(name)})
	}
	return append(headers, d.Headers...)
}

// What signs the examples of headers. Every scheme takes the secret.
const (
	exampleSecret = "whsec_YW4gZXhhbXBsZSBvZiBhIHNlY3JldA=="
	exampleID     = "msg_2mN1Qk8x"
)

// MaxArrival implements connector.Large.
func (c *Connector) MaxArrival(http.Header) (limit int64, advice string) {
	d := c.load()
	return d.Largest, fmt.Sprintf("%s documents none above %d MiB", strings.Fields(d.Title)[0], d.Largest>>20)
}

// Document implements connector.Inbound. The body is the document.
func (*Connector) Document(_ http.Header, body []byte) ([]byte, error) { return body, nil }

// Mapping implements connector.Inbound.
func (c *Connector) Mapping() json.RawMessage { return c.load().Mapping }

// SampleArrival implements connector.Inbound.
func (c *Connector) SampleArrival(json.RawMessage) (http.Header, []byte) {
	sample := c.load().Sample
	header := http.Header{"Content-Type": {"application/json"}}
	for name, value := range sample.Headers {
		header.Set(name, value)
	}
	return header, sample.Body
}
