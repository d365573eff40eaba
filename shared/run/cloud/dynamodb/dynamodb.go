// Package dynamodb opens the tables.
package dynamodb

import (
	"orgops/shared/base/metric"
	"orgops/shared/run/boot"
	"orgops/shared/run/cloud"
	"orgops/shared/storage/store/dynamostore"
)

// Add adds the main table to a function's parts.
func Add(c *cloud.Cloud, p *boot.Parts) { p.Store, p.Separate = Main(c), true }

// Main opens the table that holds everything except data keys.
func Main(c *cloud.Cloud) *dynamostore.Store { return MainWithFeed(c, nil) }

// MainWithFeed opens Main for a process that reads the table's stream itself. Consumers names the permitted consumers of
// the feed.
func MainWithFeed(c *cloud.Cloud, stream dynamostore.Stream, consumers ...string) *dynamostore.Store {
	return dynamostore.New(c.Access, dynamostore.Options{
		Table: c.Need("ORGOPS_TABLE", c.Settings.Table), Now: c.Now, Logger: c.Logger, Stream: stream, Consumers: consumers, Meter: meter(c.Metrics),
	})
}

// meter adds the table's costs to the metrics of an invocation. Without metrics it returns nil.
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

// Keys opens the table of wrapped data keys.
func Keys(c *cloud.Cloud) *dynamostore.Store {
	return dynamostore.New(c.Access, dynamostore.Options{
		Table: c.Need("ORGOPS_KEYS_TABLE", c.Settings.KeysTable), Now: c.Now, Logger: c.Logger,
	})
}
