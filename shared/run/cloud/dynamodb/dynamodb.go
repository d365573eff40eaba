// Package dynamodb opens the tables.
package dynamodb

import (
	"context"

	"orgops/shared/base/metric"
	"orgops/shared/domain/parked"
	"orgops/shared/run/boot"
	"orgops/shared/run/cloud"
	"orgops/shared/storage/store"
	"orgops/shared/storage/store/dynamostore"
	"orgops/shared/storage/vault"
)

// Add adds the main table to a function's parts.
func Add(c *cloud.Cloud, p *boot.Parts) { p.Store, p.Separate = Main(c), true }

// AddDataKeys adds the destruction of companies' data keys to a function's parts.
func AddDataKeys(c *cloud.Cloud, p *boot.Parts) { p.DataKeys = vault.StoreKeys{Store: Keys(c)} }

// Main opens the table that holds everything except data keys.
func Main(c *cloud.Cloud) *dynamostore.Store { return dynamostore.New(c.Access, options(c)) }

// MainWithFeed opens Main for a process that reads the table's stream itself. Consumers names the permitted consumers of
// the feed. A record that gives no change is parked.
func MainWithFeed(c *cloud.Cloud, stream dynamostore.Stream, consumers ...string) (main *dynamostore.Store) {
	o := options(c)
	o.Stream, o.Consumers = stream, consumers
	o.Invalid = func(ctx context.Context, consumer string, r dynamostore.Record, identity store.Change, reason error) error {
		lot := parked.Lot{Store: main, Consumer: consumer, Logger: c.Logger, Metrics: c.Metrics, Now: c.Now}
		return lot.ParkRecord(ctx, identity, parked.NewRecord(r.Sequence, r.Created, r.Old, r.New), reason)
	}
	main = dynamostore.New(c.Access, o)
	return main
}

func options(c *cloud.Cloud) dynamostore.Options {
	return dynamostore.Options{Table: c.Need("ORGOPS_TABLE", c.Settings.Table), Now: c.Now, Logger: c.Logger, Meter: meter(c.Metrics)}
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
