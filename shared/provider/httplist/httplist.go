// Package httplist connects any list of JSON objects behind a URL. Each object becomes a memory or a goal.
//
// The configuration says by JSON Pointers (RFC 6901) where the list and an object's fields are. A pointer names one value
// exactly, which a query of JSONPath (RFC 9535) does not.
package httplist

import (
	"encoding/json"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/domain/integration"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/manifest"
	"orgops/shared/webhook/outbound"
)

// Kind names the connector. ItemKind is the kind of its memories.
const (
	Kind     = "http"
	ItemKind = "item"

	stream = "list" // the only one
)

// Config holds a stored configuration. Fields that end in Path are JSON Pointers, into an object of the list unless they say
// otherwise.
type Config struct {
	URL           string `json:"url"`
	ItemsPath     string `json:"itemsPath"` // into the document
	IDPath        string `json:"idPath"`
	TitlePath     string `json:"titlePath"`
	BodyPath      string `json:"bodyPath"`
	LinkPath      string `json:"linkPath"`
	UpdatedAtPath string `json:"updatedAtPath"`
	ProgressPath  string `json:"progressPath"`
	DueAtPath     string `json:"dueAtPath"`
	Target        string `json:"target"`
	Auth          string `json:"auth"`
	Header        string `json:"header"` // of the authentication "header"
	Paging        string `json:"paging"`
	CursorPath    string `json:"cursorPath"` // into the document
	Parameter     string `json:"parameter"`  // of the cursor or offset
}

// Connector implements connector.Authenticated and connector.Lister.
type Connector struct {
	client *outbound.Client
	now    func() time.Time
}

// New makes the connector. It fetches through client, and counts a server's Retry-After from now.
func New(client *outbound.Client, now func() time.Time) *Connector {
	return &Connector{client: client, now: now}
}

// Kind implements connector.Connector.
func (*Connector) Kind() string { return Kind }

// Schema implements connector.Connector.
func (*Connector) Schema() json.RawMessage { return json.RawMessage(schema) }

// CredentialSchema implements connector.Authenticated.
func (*Connector) CredentialSchema() json.RawMessage { return json.RawMessage(credentialSchema) }

// Ports implements connector.Connector.
func (*Connector) Ports(config json.RawMessage) []integration.Port {
	if read(config).Target == manifest.ToGoal {
		return []integration.Port{integration.SyncPull, integration.GoalUpdate}
	}
	return []integration.Port{integration.SyncPull, integration.MemoryUpsert}
}

// Address implements connector.Addressed.
func (*Connector) Address(config json.RawMessage) string { return read(config).URL }

// Lists implements connector.Lister.
func (*Connector) Lists(config json.RawMessage) connector.Listed {
	if read(config).Target == manifest.ToGoal {
		return connector.Listed{Goals: true}
	}
	return connector.Listed{Kinds: []string{ItemKind}}
}

// Streams implements connector.Streamed.
func (*Connector) Streams(json.RawMessage) []string { return []string{stream} }

// NeededCredentials implements connector.Authenticated.
func (*Connector) NeededCredentials(config json.RawMessage) []string {
	switch read(config).Auth {
	case manifest.Bearer, manifest.InHeader:
		return []string{manifest.TokenField}
	case manifest.Basic:
		return []string{manifest.UserField, manifest.PasswordField}
	}
	return nil
}

// read decodes a configuration that meets the schema.
func read(config json.RawMessage) Config {
	var c Config
	_ = json.Unmarshal(config, &c) // a configuration that was checked is such an object
	return c
}

// CheckConfig implements connector.Checker.
func (c *Connector) CheckConfig(raw json.RawMessage) []fault.FieldError {
	config := read(raw)
	problems := c.client.CheckURL("/url", config.URL)
	refuse := func(applies bool, field, detail string) {
		if applies {
			problems = append(problems, fault.FieldError{Pointer: "/" + field, Detail: detail})
		}
	}
	refuse(config.Auth == manifest.InHeader && config.Header == "", "header", "is needed for the authentication header")
	refuse(config.Auth != manifest.InHeader && config.Header != "", "header", "belongs to the authentication header")
	refuse(manifest.IsReserved(config.Header), "header", "is set by the service")
	refuse(config.Paging == manifest.PagedByCursor && config.CursorPath == "", "cursorPath", "is needed for the paging cursor")
	refuse(config.Paging != manifest.PagedByCursor && config.CursorPath != "", "cursorPath", "belongs to the paging cursor")
	paged := config.Paging == manifest.PagedByCursor || config.Paging == manifest.PagedByOffset
	refuse(paged && config.Parameter == "", "parameter", "is needed for the paging cursor or offset")
	refuse(!paged && config.Parameter != "", "parameter", "belongs to the paging cursor or offset")
	refuse(config.Target != manifest.ToGoal && config.ProgressPath != "", "progressPath", "belongs to the target goal")
	refuse(config.Target != manifest.ToGoal && config.DueAtPath != "", "dueAtPath", "belongs to the target goal")
	return problems
}
