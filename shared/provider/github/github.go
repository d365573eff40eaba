// Package github connects repositories of GitHub. Issues and discussions become memories, milestones goals and releases
// timeline notes. It takes them from GitHub's webhooks and, with a token, fetches them; discussions come by webhook only.
package github

import (
	"encoding/json"
	"fmt"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/domain/integration"
	"orgops/shared/provider/connector"
	"orgops/shared/webhook/outbound"
)

// Kind names the connector.
const Kind = "github"

// Config holds a stored configuration.
type Config struct {
	Repository   string   `json:"repository,omitempty"`   // "owner/name"; the service follows it when it is renamed
	Repositories []string `json:"repositories,omitempty"` // several, instead of one
	Organization string   `json:"organization,omitempty"` // every repository of it, instead of some
	BaseURL      string   `json:"baseUrl,omitempty"`      // of an Enterprise server's API; "": GitHub's own
}

// Connector implements connector.Inbound, connector.Authenticated and connector.Lister.
type Connector struct {
	client *outbound.Client
	now    func() time.Time
}

// New makes the connector. It fetches through client, and counts rate limits from now.
func New(client *outbound.Client, now func() time.Time) *Connector {
	return &Connector{client: client, now: now}
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

// CheckConfig implements connector.Checker.
func (c *Connector) CheckConfig(raw json.RawMessage) []fault.FieldError {
	var config Config
	if err := json.Unmarshal(raw, &config); err != nil {
		return []fault.FieldError{{Pointer: "", Detail: "must be one JSON object"}}
	}
	if problems := config.checkNames(); len(problems) > 0 || config.BaseURL == "" {
		return problems
	}
	return c.client.CheckBase("/baseUrl", config.BaseURL)
}

// checkNames lists the problems of what a configuration names.
func (c Config) checkNames() (problems []fault.FieldError) {
	given := 0
	for _, has := range []bool{c.Repository != "", len(c.Repositories) > 0, c.Organization != ""} {
		if has {
			given++
		}
	}
	if given != 1 {
		return []fault.FieldError{{Pointer: "/repository", Detail: "give one of repository, repositories and organization"}}
	}
	if c.Repository != "" && !isName(c.Repository) {
		problems = append(problems, fault.FieldError{Pointer: "/repository", Detail: "is not the name of a repository"})
	}
	for n, name := range c.Repositories {
		pointer, seen := fmt.Sprintf("/repositories/%d", n), Config{Repositories: c.Repositories[:n]}
		switch {
		case !isName(name):
			problems = append(problems, fault.FieldError{Pointer: pointer, Detail: "is not the name of a repository"})
		case seen.has(name):
			problems = append(problems, fault.FieldError{Pointer: pointer, Detail: "is listed twice"})
		}
	}
	return problems
}

// Address implements connector.Addressed.
func (*Connector) Address(raw json.RawMessage) string {
	var config Config
	_ = json.Unmarshal(raw, &config) // a configuration that was checked is such an object
	return config.base()
}

// Lists implements connector.Lister. A repository's discussions come by webhook, and only its newest releases are listed.
func (*Connector) Lists(json.RawMessage) connector.Listed {
	return connector.Listed{Kinds: []string{"issue"}, Goals: true}
}

// tokenField names the credential that fetches.
const tokenField = "token"

// CredentialSchema implements connector.Authenticated.
func (*Connector) CredentialSchema() json.RawMessage { return json.RawMessage(credentialSchema) }

// NeededCredentials implements connector.Authenticated. Without a token GitHub would count every company's requests together.
func (*Connector) NeededCredentials(json.RawMessage) []string { return []string{tokenField} }

const credentialSchema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "GitHub credentials",
  "description": "A syncing integration needs a token. Webhooks need none.",
  "type": "object",
  "additionalProperties": false,
  "required": ["token"],
  "properties": {
    "token": {
      "title": "Access token",
      "description": "A fine-grained personal access token with read access to the repository's issues and contents.",
      "type": "string", "minLength": 1, "maxLength": 1024, "pattern": "^[!-~]+$", "x-pattern-description": "visible ASCII characters without spaces",
      "writeOnly": true
    }
  }
}`

const schema = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "title": "GitHub repositories",
  "description": "One repository, several, or those of an organization. Issues and discussions become memories, milestones become goals, published releases become timeline notes. Changes arrive by webhook, and, if a token is stored, by sync; discussions by webhook only.",
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "repository": {
      "title": "Repository",
      "description": "Owner and name. Arrivals about any other repository are ignored. Give one of repository, repositories and organization.",
      "type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,99}/[A-Za-z0-9._-]{1,100}$", "x-pattern-description": "an owner and a name with a slash between them, such as octo/app"
    },
    "repositories": {
      "title": "Repositories",
      "description": "Several repositories instead of one, which share the schedule, the credentials and the webhook's secret. A renamed one has to be named again.",
      "type": "array", "minItems": 1, "maxItems": 100, "uniqueItems": true,
      "items": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,99}/[A-Za-z0-9._-]{1,100}$", "x-pattern-description": "an owner and a name with a slash between them, such as octo/app"}
    },
    "organization": {
      "title": "Organization",
      "description": "Every repository of an organization that has at most 100, also those that it gets later.",
      "type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$", "x-pattern-description": "the name of an organization, such as octo"
    },
    "baseUrl": {
      "title": "Base URL",
      "description": "Address of the REST API of a GitHub Enterprise Server, such as https://github.example.com/api/v3. Absent for github.com.",
      "type": "string", "format": "uri", "minLength": 1, "maxLength": 2048
    },
    ` + connector.ScheduleProperty + `,
    ` + connector.TablesProperty + `,
    "signingSecret": {
      "title": "Webhook secret",
      "description": "The same secret as in the webhook's settings at GitHub, any text as it was typed there. Without it, no arrival is accepted.",
      "type": "string", "minLength": 8, "maxLength": 256,
      "writeOnly": true, "x-widens": false
    }
  },
  "examples": [
    {"repository": "octo/app"},
    {"repositories": ["octo/app", "octo/site"], "schedule": "1h"},
    {"organization": "octo"},
    {"repository": "octo/app", "baseUrl": "https://github.example.com/api/v3"}
  ]
}`
