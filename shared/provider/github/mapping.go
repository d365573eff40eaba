package github

import (
	"bytes"
	_ "embed" // mapping.json
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"orgops/shared/base/fault"
	"orgops/shared/provider/scheme"
)

//go:embed mapping.json
var defaultMapping []byte

// Mapping implements connector.Inbound. An event about an issue or a discussion upserts its memory. An event about a
// milestone, or about an issue in a milestone, updates the milestone's goal. A release becomes one note, when it is
// published. Deletions, transfers and other events are ignored.
func (*Connector) Mapping() json.RawMessage { return defaultMapping }

// Document implements connector.Inbound. GitHub sends the JSON itself, or a form with the JSON in the field "payload".
func (*Connector) Document(header http.Header, body []byte) ([]byte, error) {
	if header.Get(headerEvent) == "" {
		return nil, fault.New(fault.Malformed, "the X-GitHub-Event header is missing")
	}
	if !scheme.IsForm(header) {
		return body, nil
	}
	for field := range bytes.SplitSeq(body, []byte("&")) { // one field at a time, because the payload can be large
		if value, ok := bytes.CutPrefix(field, []byte("payload=")); ok {
			payload, err := url.QueryUnescape(string(value))
			if err == nil {
				return []byte(payload), nil
			}
		}
	}
	return nil, fault.New(fault.Malformed, "the form lacks the field payload; set the webhook's content type to application/json")
}

// MaxPayload and MaxForm limit the bytes of an arrival. GitHub sends no payload above 25 MB, and takes it back for good then. A form can triple the
// payload; of such a form only what the process has memory for is taken.
const (
	MaxPayload = 25 << 20
	MaxForm    = 31 << 20
)

// MaxArrival implements connector.Large.
func (*Connector) MaxArrival(header http.Header) (limit int64, advice string) {
	if scheme.IsForm(header) {
		return MaxForm, "set the webhook's content type to application/json at GitHub, which makes it smaller"
	}
	return MaxPayload, "GitHub sends none above 25 MB"
}

// Stream implements connector.Streaming.
func (*Connector) Stream(secrets []string) *scheme.Streamed { return signed().Stream(secrets) }

const sample = `{"action":"opened","repository":{"full_name":"%[1]s"},"issue":{"number":1,"title":"A sample issue",` +
	`"body":"Nothing is wrong.","html_url":"https://github.com/%[1]s/issues/1"}}`

// SampleArrival implements connector.Inbound.
func (*Connector) SampleArrival(config json.RawMessage) (http.Header, []byte) {
	var c Config
	_ = json.Unmarshal(config, &c) // without a configuration, the sample is about octo/app
	switch {
	case len(c.Repositories) > 0:
		c.Repository = c.Repositories[0]
	case c.Organization != "":
		c.Repository = c.Organization + "/app"
	case c.Repository == "":
		c.Repository = "octo/app"
	}
	body := fmt.Sprintf(sample, c.Repository) // the schema allows only characters that JSON does not escape
	return http.Header{"Content-Type": {"application/json"}, http.CanonicalHeaderKey(headerEvent): {"issues"}}, []byte(body)
}
