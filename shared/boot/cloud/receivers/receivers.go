// Package receivers is the connectors that are told of changes by webhooks, for the function that takes these: what others
// are fetched with is none of its business.
package receivers

import (
	"orgops/shared/connector"
	"orgops/shared/connector/github"
	"orgops/shared/connector/webhook"
	"orgops/shared/outbound"
)

// All is every connector.Inbound.
func All(client *outbound.Client) connector.Registry {
	return connector.New(webhook.New(client), github.New(client))
}
