// Package sealing opens the vault: data keys in their own table, wrapped by KMS.
package sealing

import (
	"orgops/shared/boot/cloud"
	"orgops/shared/boot/cloud/data"
	"orgops/shared/vault"
	"orgops/shared/vault/kmsvault"
)

// Vault seals and opens credentials.
func Vault(c *cloud.Cloud) vault.Vault {
	wrapper := kmsvault.New(c.Access, c.Need("ORGOPS_WRAPPING_KEY", c.Settings.WrappingKey))
	return vault.New(wrapper, vault.StoreKeys{Store: data.Keys(c)}, c.Now)
}
