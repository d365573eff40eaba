package integrations

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"orgops/shared/domain/integration"
	"orgops/shared/provider/connector"
	"orgops/shared/web"
)

// Connector shows a kind of provider that a company can configure.
type Connector struct {
	Provider      string             `json:"provider" doc:"its name in paths; further integrations of the kind are {provider}-{name}" example:"webhook"`
	Title         string             `json:"title" doc:"what it connects" example:"Webhook endpoint"`
	Description   string             `json:"description" doc:"what it does"`
	Configuration json.RawMessage    `json:"configuration" doc:"JSON Schema (draft 2020-12) of the body of configure-integration"`
	Credentials   json.RawMessage    `json:"credentials,omitempty" doc:"JSON Schema of the credentials; absent: it takes none"`
	Connects      bool               `json:"connects" doc:"true: connect-integration gives access without a pasted token, because the operator of the service has registered an application with the provider"`
	Ports         []integration.Port `json:"ports" nullable:"false" doc:"what it may do at most; the ports of an integration also depend on its configuration"`
	Brings        []string           `json:"brings" nullable:"false" doc:"what a full sync lists completely: kinds of memories, and goals" example:"[\"issue\", \"goals\"]"`
	Streams       []string           `json:"streams,omitempty" nullable:"false" doc:"the lists that a sync reads, in order; absent: the connector names none" example:"[\"invoices\"]"`
	Own           bool               `json:"own,omitempty" doc:"true: the company has described it by a manifest of its own; get-connector shows it"`
}

// ConnectorList lists every kind of provider, by name.
type ConnectorList struct {
	Items []Connector `json:"items" doc:"every connector, by provider" nullable:"false"`
}

// listConnectors lists what can be configured. A caller that is bound to one integration sees its kind alone.
func (d Deps) listConnectors(ctx context.Context, in *web.IfNoneMatch) (*web.Tagged[ConnectorList], error) {
	out, bound := ConnectorList{Items: []Connector{}}, web.CallerOf(ctx).Provider
	all, err := d.Connectors.All(ctx, web.Tenant(ctx))
	if err != nil {
		return nil, err
	}
	var unread error
	for _, c := range all {
		if bound != "" && connector.KindOf(bound) != c.Kind() {
			continue
		}
		shown, err := showConnector(c)
		if err != nil {
			return nil, err
		}
		if shown.Connects, err = d.access().Registered(ctx, c.Kind()); err != nil {
			unread = err // a pasted token can be stored
		}
		out.Items = append(out.Items, shown)
	}
	if unread != nil {
		d.Logger.WarnContext(ctx, "operator's applications not read", "error", unread)
	}
	return web.RespondContent(*in, out)
}

func showConnector(c connector.Connector) (Connector, error) {
	var schema struct {
		Title       string            `json:"title"`
		Description string            `json:"description"`
		Examples    []json.RawMessage `json:"examples"`
	}
	if err := json.Unmarshal(c.Schema(), &schema); err != nil {
		return Connector{}, fmt.Errorf("schema of %s: %w", c.Kind(), err)
	}
	shown := Connector{
		Provider: c.Kind(), Title: schema.Title, Description: schema.Description,
		Configuration: c.Schema(), Ports: []integration.Port{}, Brings: []string{}, Own: connector.ManifestOf(c) != nil,
	}
	if c, ok := c.(connector.Streamed); ok {
		shown.Streams = c.Streams(nil)
	}
	for _, example := range schema.Examples {
		shown.Brings = brings(c, example, shown.Brings)
		for _, port := range c.Ports(example) {
			if !slices.Contains(shown.Ports, port) {
				shown.Ports = append(shown.Ports, port)
			}
		}
	}
	if c, ok := c.(connector.Credentialed); ok {
		shown.Credentials = c.CredentialSchema()
	}
	return shown, nil
}

// brings adds to a list what a full sync under a configuration lists completely.
func brings(c connector.Connector, config json.RawMessage, list []string) []string {
	lister, ok := c.(connector.Lister)
	if !ok {
		return list
	}
	listed := lister.Lists(config)
	kinds := listed.Kinds
	if listed.Goals {
		kinds = append(slices.Clone(kinds), "goals")
	}
	for _, kind := range kinds {
		if !slices.Contains(list, kind) {
			list = append(list, kind)
		}
	}
	return list
}
