// Package github is the connector for one GitHub repository: its webhooks become memories (issues, discussions), goals
// (milestones) and timeline notes (releases).
package github

import (
	"encoding/json"
	"strings"

	"orgops/shared/fault"
	"orgops/shared/integration"
	"orgops/shared/outbound"
)

// Kind is the connector's name.
const Kind = "github"

// Config is a stored configuration.
type Config struct {
	Repository string `json:"repository"` // "owner/name"; external ids begin with it as it is written here
	BaseURL    string `json:"baseUrl,omitempty"`
}

// Connector implements connector.Inbound.
type Connector struct {
	client *outbound.Client
}

// New is the connector; the client's rules decide which base URLs it takes.
func New(client *outbound.Client) *Connector { return &Connector{client: client} }

// Kind implements connector.Connector.
func (*Connector) Kind() string { return Kind }

// Schema implements connector.Connector.
func (*Connector) Schema() json.RawMessage { return json.RawMessage(schema) }

// Ports implements connector.Connector.
func (*Connector) Ports(json.RawMessage) []integration.Port {
	return []integration.Port{
		integration.InboundReceive, integration.MemoryUpsert, integration.GoalUpdate, integration.TimelineNote,
	}
}

// CheckConfig implements connector.Checker.
func (c *Connector) CheckConfig(raw json.RawMessage) []fault.Problem {
	var config Config
	if err := json.Unmarshal(raw, &config); err != nil {
		return []fault.Problem{{Pointer: "", Detail: "must be one JSON object"}}
	}
	var problems []fault.Problem
	if _, name, _ := strings.Cut(config.Repository, "/"); name == "." || name == ".." {
		problems = append(problems, fault.Problem{Pointer: "/repository", Detail: "is not the name of a repository"})
	}
	if config.BaseURL != "" {
		problems = append(problems, c.client.CheckURL("/baseUrl", config.BaseURL)...)
	}
	return problems
}

const schema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "GitHub repository",
  "description": "Webhooks of one repository. Issues and discussions become memories, milestones goals, published releases timeline notes.",
  "type": "object",
  "additionalProperties": false,
  "required": ["repository"],
  "properties": {
    "repository": {
      "title": "Repository",
      "description": "Owner and name. Deliveries about any other repository are passed over.",
      "type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,99}/[A-Za-z0-9._-]{1,100}$"
    },
    "signingSecret": {
      "title": "Webhook secret",
      "description": "The secret as it was typed at GitHub. Without it nothing is received.",
      "type": "string", "minLength": 8, "maxLength": 256, "pattern": "^[ -~]+$",
      "writeOnly": true
    },
    "baseUrl": {
      "title": "Base URL",
      "description": "Where the REST API is: needed for GitHub Enterprise Server only.",
      "type": "string", "format": "uri", "minLength": 1, "maxLength": 2048, "default": "https://api.github.com"
    }
  },
  "examples": [
    {"repository": "octo/app"},
    {"repository": "octo/app", "baseUrl": "https://github.example.com/api/v3"}
  ]
}`
