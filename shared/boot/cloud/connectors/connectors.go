// Package connectors is every connector, for the functions that need them: the parsers that they bring along are no
// business of one that delivers webhooks.
package connectors

import (
	"orgops/shared/boot/cloud"
	"orgops/shared/connector"
	"orgops/shared/connector/feed"
	"orgops/shared/connector/github"
	"orgops/shared/connector/webhook"
	"orgops/shared/outbound"
)

// All is every connector.
func All(c *cloud.Cloud, client *outbound.Client) connector.Registry {
	return connector.New(webhook.New(client), github.New(client), feed.New(client, c.Now))
}
