// Package catalog lists every connector of the service. It links the character sets of feeds, which are large, so a function that needs
// only some connectors makes its own registry.
package catalog

import (
	"time"

	"orgops/shared/provider/connector"
	"orgops/shared/provider/genericwebhook"
	"orgops/shared/provider/github"
	"orgops/shared/provider/webfeed"
	"orgops/shared/webhook/outbound"
)

// All returns every connector. The connectors call their providers through client.
func All(client *outbound.Client, now func() time.Time) connector.Registry {
	return connector.New(genericwebhook.New(client), github.New(), webfeed.New(client, now))
}
