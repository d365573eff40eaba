// Package fetching lists the connectors for programs that fetch from every provider, databases among them. Other programs use package
// catalog, so that they do not link the protocols of databases.
package fetching

import (
	"time"

	"orgops/shared/provider/catalog"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/postgresql/pgclient"
	"orgops/shared/webhook/outbound"
)

// All returns what catalog.All does, with the clients of databases.
func All(client *outbound.Client, now func() time.Time) connector.Registry {
	return catalog.With(client, now, pgclient.Open)
}
