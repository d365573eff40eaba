// Package catalog lists every connector of the service. A program that fetches with the list links the character sets of feeds,
// which are large.
package catalog

import (
	"time"

	"orgops/shared/provider/connector"
	"orgops/shared/provider/genericwebhook"
	"orgops/shared/provider/github"
	"orgops/shared/provider/httplist"
	"orgops/shared/provider/manifest"
	"orgops/shared/provider/postgresql"
	"orgops/shared/provider/shelf"
	"orgops/shared/provider/webfeed"
	"orgops/shared/webhook/outbound"
)

// All returns every connector, and finds those that companies describe themselves. The connectors call their providers through client. They
// do not fetch from databases: see package fetching.
func All(client *outbound.Client, now func() time.Time) connector.Registry {
	return With(client, now, nil)
}

// With returns what All does. PostgreSQL is read by open.
func With(client *outbound.Client, now func() time.Time, open postgresql.Open) connector.Registry {
	webhook := genericwebhook.New(client)
	all := []connector.Connector{
		webhook, github.New(client, now), httplist.New(client, now), postgresql.New(client, open), webfeed.New(client, now),
		shelf.New(webhook.Mapping()),
	}
	return connector.New(append(all, shelf.All(client, now)...)...).With(manifest.NewOwn(client, now))
}
