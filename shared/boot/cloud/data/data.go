// Package data opens the tables.
package data

import (
	"orgops/shared/boot/cloud"
	"orgops/shared/store/dynamostore"
)

// Main is the table of everything but data keys. Consumers are the names that may consume its feed.
func Main(c *cloud.Cloud, consumers ...string) *dynamostore.Store {
	return dynamostore.New(c.Access, dynamostore.Options{
		Table: c.Need("ORGOPS_TABLE", c.Settings.Table), Now: c.Now, Logger: c.Logger, Consumers: consumers,
	})
}

// Keys is the table of wrapped data keys.
func Keys(c *cloud.Cloud) *dynamostore.Store {
	return dynamostore.New(c.Access, dynamostore.Options{
		Table: c.Need("ORGOPS_KEYS_TABLE", c.Settings.KeysTable), Now: c.Now, Logger: c.Logger,
	})
}
