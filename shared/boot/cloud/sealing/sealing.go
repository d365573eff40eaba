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
	return vault.New(Wrapper(c), vault.StoreKeys{Store: data.Keys(c)}, c.Now)
}

// Wrapper is the KMS key that wraps data keys.
func Wrapper(c *cloud.Cloud) *kmsvault.Wrapper {
	return kmsvault.New(c.Access, c.Need("ORGOPS_WRAPPING_KEY", c.Settings.WrappingKey), c.Settings.FormerKeys...)
}
