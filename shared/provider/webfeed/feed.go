// Package webfeed connects a web feed in RSS, Atom or JSON Feed. Each entry becomes a memory.
package webfeed

import (
	"encoding/json"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/domain/integration"
	"orgops/shared/provider/connector"
	"orgops/shared/webhook/outbound"
)

// Kind names the connector.
const Kind = "feed"

// Config holds a stored configuration.
type Config struct {
	URL      string `json:"url"`
	MaxItems int    `json:"maxItems,omitempty"` // 0: defaultItems
}

const defaultItems = 500

// Connector implements connector.Source.
type Connector struct {
	client  *outbound.Client
	now     func() time.Time
	parsing chan struct{} // a place for each document that is parsed
}

// maxParses limits the documents that one connector parses at the same time, for syncs and certifications together. Each
// takes 64 MiB at most. A process has one connector.
const maxParses = 2

// New makes the connector. It fetches through client, and counts a server's Retry-After from now.
func New(client *outbound.Client, now func() time.Time) *Connector {
	return &Connector{client: client, now: now, parsing: make(chan struct{}, maxParses)}
}

// Kind implements connector.Connector.
func (*Connector) Kind() string { return Kind }

// Schema implements connector.Connector.
func (*Connector) Schema() json.RawMessage { return json.RawMessage(schema) }

// Ports implements connector.Connector.
func (*Connector) Ports(json.RawMessage) []integration.Port {
	return []integration.Port{integration.SyncPull, integration.MemoryUpsert}
}

// Address implements connector.Addressed.
func (*Connector) Address(raw json.RawMessage) string {
	var config Config
	_ = json.Unmarshal(raw, &config) // a configuration that was checked is such an object
	return config.URL
}

// CheckConfig implements connector.Checker.
func (c *Connector) CheckConfig(raw json.RawMessage) []fault.FieldError {
	var config Config
	if err := json.Unmarshal(raw, &config); err != nil {
		return []fault.FieldError{{Pointer: "", Detail: "must be one JSON object"}}
	}
	return c.client.CheckURL("/url", config.URL)
}

const schema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "Feed",
  "description": "A feed in RSS, Atom or JSON Feed. Each entry becomes a memory. The memory stays when the feed drops the entry.",
  "type": "object",
  "additionalProperties": false,
  "required": ["url"],
  "properties": {
    "url": {
      "title": "URL",
      "description": "The feed's address. It must be https and public, and must not redirect. A feed may have at most 8 MiB.",
      "type": "string", "format": "uri", "minLength": 1, "maxLength": 2048
    },
    ` + connector.ScheduleProperty + `,
    "maxItems": {
      "title": "Entries",
      "description": "Maximum number of entries to read, from the beginning of the feed; 500 if absent.",
      "type": "integer", "minimum": 1, "maximum": 1000,
      "x-certified": false
    }
  },
  "examples": [{"url": "https://example.com/news/atom.xml"}, {"url": "https://example.com/feed.json", "maxItems": 50, "schedule": "1h"}]
}`
