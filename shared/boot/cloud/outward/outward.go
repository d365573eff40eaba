// Package outward is what a function calls others with: the HTTP client under the rules for addresses, and the courier of
// webhooks.
package outward

import (
	"orgops/shared/boot/cloud"
	"orgops/shared/courier"
	"orgops/shared/integration"
	"orgops/shared/outbound"
	"orgops/shared/store"
)

// Client is for calls to addresses that tenants chose: none but public ones, and those that the operator allows.
func Client(c *cloud.Cloud) *outbound.Client {
	return outbound.New(outbound.Options{AllowNetworks: c.Config.AllowNetworks})
}

// Courier delivers webhooks. It remembers no endpoint from one look to the next: a function hears of some changes only.
func Courier(c *cloud.Cloud, st store.Store, v integration.Vault, client *outbound.Client) *courier.Courier {
	return courier.New(courier.Deps{Store: st, Vault: v, Client: client, Logger: c.Logger, Now: c.Now, Metrics: c.Metrics})
}
