package manifest

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/domain/integration"
	"orgops/shared/provider/connector"
	"orgops/shared/webhook/outbound"
)

// Connector connects the provider of a manifest. It implements connector.Authenticated, connector.Lister and connector.Checker.
type Connector struct {
	kind   string
	load   func() *Manifest
	client *outbound.Client
	now    func() time.Time
	own    *integration.ManifestRef // nil: the manifest is the service's
	schema func() schemas
}

// schemas are the JSON Schemas that a manifest stands for.
type schemas struct{ config, credentials json.RawMessage }

// New makes a connector. load is called when the manifest is first needed, and must return the same one each time. The connector fetches
// through client, and counts waits from now.
func New(kind string, load func() *Manifest, client *outbound.Client, now func() time.Time) *Connector {
	return &Connector{kind: kind, load: load, client: client, now: now, schema: sync.OnceValue(func() schemas {
		m := load()
		return schemas{m.configSchema(), m.credentialSchema()}
	})}
}

// Manifest implements connector.Described.
func (c *Connector) Manifest() *integration.ManifestRef { return c.own }

// Streams lists the names of the streams, in the order in which they are read.
func (c *Connector) Streams(json.RawMessage) []string {
	names := []string{}
	for _, s := range c.load().Streams {
		names = append(names, s.Name)
	}
	return names
}

// Kind implements connector.Connector.
func (c *Connector) Kind() string { return c.kind }

// Schema implements connector.Connector.
func (c *Connector) Schema() json.RawMessage { return c.schema().config }

// Ports implements connector.Connector.
func (c *Connector) Ports(json.RawMessage) []integration.Port { return c.load().Ports() }

// CredentialSchema implements connector.Authenticated.
func (c *Connector) CredentialSchema() json.RawMessage { return c.schema().credentials }

// NeededCredentials implements connector.Authenticated.
func (c *Connector) NeededCredentials(json.RawMessage) []string {
	auth := c.load().Auth
	switch {
	case auth == nil:
		return nil
	case auth.Type == Basic:
		return []string{UserField, PasswordField}
	}
	return []string{auth.credential()}
}

// Address implements connector.Addressed.
func (c *Connector) Address(config json.RawMessage) string {
	m := c.load()
	return m.base(m.valuesOf(config))
}

// Lists implements connector.Lister.
func (c *Connector) Lists(json.RawMessage) connector.Listed {
	listed := c.load().Lists
	return connector.Listed{Kinds: listed.Kinds, Goals: listed.Goals}
}

// CheckConfig implements connector.Checker. The schema states the rules of each value; what the base becomes is checked here.
func (c *Connector) CheckConfig(config json.RawMessage) []fault.FieldError {
	m := c.load()
	at := ""
	for _, name := range namesIn(m.Base) {
		if m.Configuration[name].Form != "" {
			at = fault.Pointer(name)
		}
	}
	return c.client.CheckBase(at, m.base(m.valuesOf(config)))
}

// Fetch implements connector.Source.
func (c *Connector) Fetch(ctx context.Context, f connector.Fetch) (connector.FetchedPage, error) {
	return c.load().Fetch(ctx, c.client, c.now(), f)
}

// Complete reports whether a configuration has every variable that a request needs.
func (c *Connector) Complete(config json.RawMessage) bool {
	m := c.load()
	values := m.valuesOf(config)
	for name, v := range m.Configuration {
		if !v.Optional && values[name] == "" {
			return false
		}
	}
	return true
}

// configSchema returns the JSON Schema of a configuration.
func (m *Manifest) configSchema() json.RawMessage {
	properties, required, example := map[string]any{"schedule": json.RawMessage(schedule())}, []string{}, map[string]string{"schedule": "1h"}
	for name, v := range m.Configuration {
		properties[name] = v.schema()
		needed := !v.Optional && v.Default == ""
		if needed {
			required = append(required, name)
		}
		if v.Example != "" {
			example[name] = v.Example
		} else if needed {
			example[name] = v.Enum[0]
		}
	}
	slices.Sort(required)
	schema := map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": m.Title, "description": m.Description, "type": "object",
		"additionalProperties": false, "properties": properties, "examples": []any{example},
	}
	if len(required) > 0 {
		schema["required"] = required
	}
	return encoded(schema)
}

// schema returns the JSON Schema of a variable.
func (v Variable) schema() map[string]any {
	s := map[string]any{"title": v.Title, "description": v.Description, "type": "string"}
	switch {
	case len(v.Enum) > 0:
		s["enum"] = v.Enum
	case v.Form == formHost:
		maps.Copy(s, map[string]any{
			"maxLength": 260, "pattern": `^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?$`, "x-pattern-description": "the name of a host, such as git.example.com",
		})
	case v.Pattern != "":
		maps.Copy(s, map[string]any{"pattern": v.Pattern, "x-pattern-description": v.Says})
	case v.Form == formURL:
		maps.Copy(s, map[string]any{"format": "uri", "minLength": 1, "maxLength": 1024})
	default:
		maps.Copy(s, map[string]any{
			"minLength": 1, "maxLength": 512, "pattern": `^[^\x00-\x1f\x7f]+$`, "x-pattern-description": "a text without control characters",
		})
	}
	if v.Default != "" {
		s["default"] = v.Default
	}
	return s
}

// schedule returns the schema of the schedule.
func schedule() []byte {
	var wrapped map[string]json.RawMessage
	_ = json.Unmarshal([]byte("{"+connector.ScheduleProperty+"}"), &wrapped) // the text is a part of the program
	return wrapped["schedule"]
}

// credentialSchema returns the JSON Schema of the credentials.
func (m *Manifest) credentialSchema() json.RawMessage {
	secret := func(title, description, pattern, says string, longest int) map[string]any {
		return map[string]any{
			"title": title, "description": description, "type": "string", "minLength": 1, "maxLength": longest, "pattern": pattern,
			"x-pattern-description": says, "writeOnly": true,
		}
	}
	properties, required := map[string]any{}, []string{}
	switch a := m.Auth; {
	case a == nil:
	case a.Type == Basic:
		required = []string{UserField, PasswordField}
		properties[UserField] = secret("User name", "The user name, without a colon. "+a.Description, `^[^:\x00-\x1f]+$`, "a name without colons and control characters", 256)
		properties[PasswordField] = secret("Password", "The password, or the token that takes its place.", `^[^\x00-\x1f]+$`, "a text without control characters", 1024)
	default:
		required = []string{a.credential()}
		title, description := a.Title, a.Description
		if title == "" {
			title = "Token"
		}
		if description == "" {
			description = "The token that requests carry."
		}
		properties[a.credential()] = secret(title, description, `^[!-~]([ -~]*[!-~])?$`, "printable ASCII characters, without a space at either end", 4096)
	}
	schema := map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "title": m.Title + " credentials",
		"description": "What requests to the provider carry.", "type": "object", "additionalProperties": false, "properties": properties,
	}
	if len(required) > 0 {
		schema["required"] = required
	}
	return encoded(schema)
}

func encoded(v any) json.RawMessage {
	text, _ := json.Marshal(v) // texts, lists and maps always encode
	return text
}
