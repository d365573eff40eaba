// Package feed is the connector for a feed: RSS, Atom or JSON Feed, each entry one memory.
package feed

import (
	"encoding/json"
	"time"

	"orgops/shared/fault"
	"orgops/shared/integration"
	"orgops/shared/outbound"
)

// Kind is the connector's name.
const Kind = "feed"

// Config is a stored configuration.
type Config struct {
	URL      string `json:"url"`
	MaxItems int    `json:"maxItems,omitempty"` // 0: defaultItems
}

const defaultItems = 500

// Connector implements connector.Source.
type Connector struct {
	client *outbound.Client
	now    func() time.Time
}

// New is the connector; it fetches through the client, and now dates what a server asks to wait.
func New(client *outbound.Client, now func() time.Time) *Connector {
	return &Connector{client: client, now: now}
}

// Kind implements connector.Connector.
func (*Connector) Kind() string { return Kind }

// Schema implements connector.Connector.
func (*Connector) Schema() json.RawMessage { return json.RawMessage(schema) }

// Ports implements connector.Connector.
func (*Connector) Ports(json.RawMessage) []integration.Port {
	return []integration.Port{integration.SyncPull, integration.MemoryUpsert}
}

// CheckConfig implements connector.Checker.
func (c *Connector) CheckConfig(raw json.RawMessage) []fault.Problem {
	var config Config
	if err := json.Unmarshal(raw, &config); err != nil {
		return []fault.Problem{{Pointer: "", Detail: "must be one JSON object"}}
	}
	return c.client.CheckURL("/url", config.URL)
}

const schema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "Feed",
  "description": "A feed in RSS, Atom or JSON Feed. Each entry becomes a memory; one that the feed drops stays.",
  "type": "object",
  "additionalProperties": false,
  "required": ["url"],
  "properties": {
    "url": {
      "title": "URL",
      "description": "Where the feed is: https, on a public address, without a redirect. At most 8 MiB are read.",
      "type": "string", "format": "uri", "minLength": 1, "maxLength": 2048
    },
    "maxItems": {
      "title": "Entries",
      "description": "How many entries of the feed are taken, from its beginning.",
      "type": "integer", "minimum": 1, "maximum": 1000, "default": 500,
      "x-certified": false
    }
  },
  "examples": [{"url": "https://example.com/news/atom.xml"}, {"url": "https://example.com/feed.json", "maxItems": 50}]
}`
