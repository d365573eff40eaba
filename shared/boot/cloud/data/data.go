// Package data opens the tables.
package data

import (
	"orgops/shared/boot/cloud"
	"orgops/shared/store"
	"orgops/shared/store/dynamostore"
)

// Main is the table of everything but data keys.
func Main(c *cloud.Cloud) store.Store {
	return open(c, c.Need("ORGOPS_TABLE", c.Settings.Table))
}

// Keys is the table of wrapped data keys.
func Keys(c *cloud.Cloud) store.Store {
	return open(c, c.Need("ORGOPS_KEYS_TABLE", c.Settings.KeysTable))
}

func open(c *cloud.Cloud, table string) store.Store {
	return dynamostore.New(c.Access, dynamostore.Options{Table: table, Now: c.Now, Logger: c.Logger})
}
