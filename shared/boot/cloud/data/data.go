// Package data opens the tables.
package data

import (
	"orgops/shared/boot/cloud"
	"orgops/shared/metric"
	"orgops/shared/store/dynamostore"
)

// Main is the table of everything but data keys.
func Main(c *cloud.Cloud) *dynamostore.Store { return MainWithFeed(c, nil) }

// MainWithFeed is Main for a process that reads the table's stream itself. Consumers are the names that may consume the feed.
func MainWithFeed(c *cloud.Cloud, stream dynamostore.Stream, consumers ...string) *dynamostore.Store {
	return dynamostore.New(c.Access, dynamostore.Options{
		Table: c.Need("ORGOPS_TABLE", c.Settings.Table), Now: c.Now, Logger: c.Logger, Stream: stream, Consumers: consumers, Meter: meter(c.Metrics),
	})
}

// meter has what the table cost stand beside the metrics of an invocation. Where there are none, nobody counts.
func meter(r *metric.Recorder) *dynamostore.Meter {
	if r == nil {
		return nil
	}
	m := &dynamostore.Meter{}
	r.Attach("store", func() any {
		u := m.Take()
		return map[string]any{"trips": u.Trips, "readUnits": u.Read, "writeUnits": u.Write}
	})
	return m
}

// Keys is the table of wrapped data keys.
func Keys(c *cloud.Cloud) *dynamostore.Store {
	return dynamostore.New(c.Access, dynamostore.Options{
		Table: c.Need("ORGOPS_KEYS_TABLE", c.Settings.KeysTable), Now: c.Now, Logger: c.Logger,
	})
}
