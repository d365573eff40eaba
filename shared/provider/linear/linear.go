// Package linear connects a workspace of Linear, or one team of it. Issues become memories, projects goals and project
// updates timeline notes. It takes them from Linear's webhooks and, with a key, fetches issues and projects.
package linear

import (
	"encoding/json"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/domain/integration"
	"orgops/shared/provider/connector"
	"orgops/shared/webhook/outbound"
)

// Kind names the connector.
const Kind = "linear"

// publicAPI is the address of Linear's API. There is one for every region and plan.
const publicAPI = "https://api.linear.app/graphql"

// Config holds a stored configuration.
type Config struct {
	Team string `json:"team,omitempty"` // key of the only team; "": every team that the key may read
}

// Connector implements connector.Inbound, connector.Authenticated and connector.Lister.
type Connector struct {
	client *outbound.Client
	now    func() time.Time
	api    string
}

// New makes the connector. It fetches through client, and counts rate limits from now.
func New(client *outbound.Client, now func() time.Time) *Connector {
	return &Connector{client: client, now: now, api: publicAPI}
}

// Kind implements connector.Connector.
func (*Connector) Kind() string { return Kind }

// Schema implements connector.Connector.
func (*Connector) Schema() json.RawMessage { return json.RawMessage(schema) }

// Ports implements connector.Connector.
func (*Connector) Ports(json.RawMessage) []integration.Port {
	return []integration.Port{
		integration.InboundReceive, integration.SyncPull, integration.MemoryUpsert, integration.GoalUpdate, integration.TimelineNote,
	}
}

// CheckConfig implements connector.Checker. The schema states every rule.
func (*Connector) CheckConfig(json.RawMessage) []fault.FieldError { return nil }

// Address implements connector.Addressed.
func (c *Connector) Address(json.RawMessage) string { return c.api }

// Lists implements connector.Lister. A full run lists what is archived too, but not what is in the trash.
func (*Connector) Lists(json.RawMessage) connector.Listed {
	return connector.Listed{Kinds: []string{issueKind}, Goals: true}
}

// keyField names the credential that fetches.
const keyField = "apiKey"

// bearer begins the header of a connection's token. A key stands alone in it.
const bearer = "Bearer "

// CredentialSchema implements connector.Authenticated.
func (*Connector) CredentialSchema() json.RawMessage { return json.RawMessage(credentialSchema) }

// NeededCredentials implements connector.Authenticated.
func (*Connector) NeededCredentials(json.RawMessage) []string { return []string{keyField} }

const credentialSchema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "Linear credentials",
  "description": "A syncing integration needs a key. Webhooks need none.",
  "type": "object",
  "additionalProperties": false,
  "required": ["apiKey"],
  "properties": {
    "apiKey": {
      "title": "API key",
      "description": "A personal API key with the permission to read, made in Linear's settings under Security & access.",
      "type": "string", "minLength": 1, "maxLength": 1024, "pattern": "^[!-~]+$", "x-pattern-description": "visible ASCII characters without spaces",
      "writeOnly": true
    }
  }
}`

const schema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "Linear workspace",
  "description": "A workspace of Linear, or one team of it. Issues become memories, projects become goals, project updates become timeline notes. Changes arrive by webhook, and, if a key is stored, by sync; project updates by webhook only.",
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "team": {
      "title": "Team",
      "description": "Key of a team, such as ENG, for that team alone; the issues of other teams are ignored. Absent: every team that the key may read.",
      "type": "string", "pattern": "^[A-Z0-9]{1,16}$", "x-pattern-description": "the key of a team: 1 to 16 capital letters and digits, such as ENG"
    },
    ` + connector.ScheduleProperty + `,
    ` + connector.TablesProperty + `,
    "signingSecret": {
      "title": "Webhook secret",
      "description": "The signing secret that Linear shows on the webhook's page. Without it, no arrival is accepted.",
      "type": "string", "minLength": 8, "maxLength": 256,
      "writeOnly": true, "x-widens": false
    }
  },
  "examples": [
    {"team": "ENG", "schedule": "1h"},
    {}
  ]
}`
