package github

import (
	_ "embed" // mapping.json
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"net/url"

	"orgops/shared/base/fault"
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
	media, _, _ := mime.ParseMediaType(header.Get("Content-Type"))
	if media != "application/x-www-form-urlencoded" {
		return body, nil
	}
	form, err := url.ParseQuery(string(body))
	if err != nil || !form.Has("payload") {
		return nil, fault.New(fault.Malformed, "the form lacks the field payload; set the webhook's content type to application/json")
	}
	return []byte(form.Get("payload")), nil
}

const sample = `{"action":"opened","repository":{"full_name":"%[1]s"},"issue":{"number":1,"title":"A sample issue",` +
	`"body":"Nothing is wrong.","html_url":"https://github.com/%[1]s/issues/1"}}`

// SampleDelivery implements connector.Inbound.
func (*Connector) SampleDelivery(config json.RawMessage) (http.Header, []byte) {
	c := Config{Repository: "octo/app"}
	_ = json.Unmarshal(config, &c)            // without a configuration, the sample is about octo/app
	body := fmt.Sprintf(sample, c.Repository) // the schema allows only characters that JSON does not escape
	return http.Header{"Content-Type": {"application/json"}, http.CanonicalHeaderKey(headerEvent): {"issues"}}, []byte(body)
}
