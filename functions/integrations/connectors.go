package integrations

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"orgops/shared/base/fault"
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
}

// ConnectorList lists every kind of provider, by name.
type ConnectorList struct {
	Items []Connector `json:"items" doc:"every connector, by provider" nullable:"false"`
}

// listConnectors lists what can be configured. A caller that is bound to one integration sees its kind alone.
func (d Deps) listConnectors(ctx context.Context, in *web.IfNoneMatch) (*web.Tagged[ConnectorList], error) {
	out, bound := ConnectorList{Items: []Connector{}}, web.CallerOf(ctx).Provider
	for _, kind := range d.Connectors.Kinds() {
		if bound != "" && connector.KindOf(bound) != kind {
			continue
		}
		c, _ := d.Connectors.Lookup(kind)
		shown, err := showConnector(c)
		if err != nil {
			return nil, err
		}
		if shown.Connects, err = d.access().Registered(ctx, kind); err != nil {
			return nil, fault.Wrap(fault.Unavailable, "the operator's applications cannot be read now; try again", err)
		}
		out.Items = append(out.Items, shown)
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
		Configuration: c.Schema(), Ports: []integration.Port{},
	}
	for _, example := range schema.Examples {
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
