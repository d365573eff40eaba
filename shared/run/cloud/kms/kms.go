// Package kms opens the vault. A KMS key wraps its data keys, which have their own table.
package kms

import (
	"orgops/shared/run/boot"
	"orgops/shared/run/cloud"
	"orgops/shared/run/cloud/dynamodb"
	"orgops/shared/storage/vault"
	"orgops/shared/storage/vault/kmsvault"
)

// Add adds the vault to a function's parts.
func Add(c *cloud.Cloud, p *boot.Parts) { p.Vault = Vault(c) }

// Vault opens the vault, which seals and opens credentials.
func Vault(c *cloud.Cloud) vault.Vault {
	return vault.New(Wrapper(c), vault.StoreKeys{Store: dynamodb.Keys(c)}, c.Now)
}

// Wrapper returns the KMS key that wraps data keys.
func Wrapper(c *cloud.Cloud) *kmsvault.Wrapper {
	return kmsvault.New(c.Access, c.Need("ORGOPS_WRAPPING_KEY", c.Settings.WrappingKey), c.Settings.FormerKeys...)
}
