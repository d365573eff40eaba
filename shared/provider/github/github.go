// Package github connects one GitHub repository. It maps webhooks about issues and discussions to memories, about
// milestones to goals and about releases to timeline notes.
package github

import (
	"encoding/json"
	"strings"

	"orgops/shared/base/fault"
	"orgops/shared/domain/integration"
)

// Kind names the connector.
const Kind = "github"

// Config holds a stored configuration.
type Config struct {
	Repository string `json:"repository"` // "owner/name"; external ids begin with it in this spelling
}

// Connector implements connector.Inbound.
type Connector struct{}

// New makes the connector.
func New() *Connector { return &Connector{} }

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
func (*Connector) CheckConfig(raw json.RawMessage) []fault.FieldError {
	var config Config
	if err := json.Unmarshal(raw, &config); err != nil {
		return []fault.FieldError{{Pointer: "", Detail: "must be one JSON object"}}
	}
	if _, name, _ := strings.Cut(config.Repository, "/"); name == "." || name == ".." {
		return []fault.FieldError{{Pointer: "/repository", Detail: "is not the name of a repository"}}
	}
	return nil
}

const schema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "GitHub repository",
  "description": "Webhooks of one repository. Issues and discussions become memories, milestones become goals, published releases become timeline notes.",
  "type": "object",
  "additionalProperties": false,
  "required": ["repository"],
  "properties": {
    "repository": {
      "title": "Repository",
      "description": "Owner and name. Deliveries about any other repository are ignored.",
      "type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,99}/[A-Za-z0-9._-]{1,100}$"
    },
    "signingSecret": {
      "title": "Webhook secret",
      "description": "The same secret as in the webhook's settings at GitHub. Without it, no delivery is accepted.",
      "type": "string", "minLength": 8, "maxLength": 256, "pattern": "^[ -~]+$",
      "writeOnly": true
    }
  },
  "examples": [
    {"repository": "octo/app"}
  ]
}`
