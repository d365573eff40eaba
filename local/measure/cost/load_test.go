package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"orgops/functions/dispatcher"
	"orgops/functions/projector"
	"orgops/shared/domain/arrival"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/memory"
	"orgops/shared/insight/projection"
	"orgops/shared/run/lambda/stream"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
)

// The load of TestLoad, and what DynamoDB writes to one key in a second, with a fifth to spare.
const (
	webhooksASecond = 2000
	sampled         = 100 // webhooks that are run
	mostUnits       = 800
	streamShards    = 64 // of the table, when the company has all its sub-partitions
)

// TestLoad runs webhooks of one company, from their receipt to the record of their delivery, and counts the write units of each
// partition key as if 2,000 came in a second, at an even pace or all at once: what is written does not depend on when in the second.
// With the sub-partitions of a busy company no key has more than DynamoDB writes to one. Under one key the same load needs a multiple
// of that.
func TestLoad(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.meter.ByKey = true
	w.unbound()
	before := w.load(sampled/5, 1)
	now := w.clock.Now()
	w.clock.Set(time.Now().Add(-time.Hour)) // some ids hold the time of the machine's clock, which is behind the world's
	for _, parts := range store.PartCounts()[1:] {
		_, err := w.table(mainTable).Spread(t.Context(), w.company, parts)
		errtest.Must(t, err)
		w.clock.Advance(15 * time.Minute)
	}
	w.clock.Set(now.Add(time.Minute))
	w.load(sampled, streamShards) // the projector begins to gather what comes by several shards
	w.clock.Advance(time.Second)
	after := w.load(sampled+1, streamShards)
	own := "C#" + w.company
	if got := before[own]; got < 10*mostUnits {
		t.Errorf("%g units a second to the one key of a company that is not spread, want at least %d, or the test counts too little", got, 10*mostUnits)
	}
	total, used := 0.0, map[string]bool{}
	use := func(units map[string]float64) {
		for key := range units {
			if strings.HasPrefix(key, own+"#") {
				used[key] = true
			}
		}
	}
	use(after)
	for key, units := range after {
		total += units
		if units > mostUnits {
			t.Errorf("%g units a second to the key %s, want at most %d", units, key, mostUnits)
		}
	}
	all := slices.Max(store.PartCounts())
	for more := 2; len(used) < all && more <= 5; more++ { // chance leaves one out in one of ten samples
		w.clock.Advance(time.Minute)
		use(w.load(sampled+more, streamShards))
	}
	if len(used) != all {
		t.Errorf("%d sub-partitions written, want all of them: items with a time in their key must not go to one key together", len(used))
	}
	t.Logf("one key: %g units a second; then of %g in all, %g to the company's key and at most %g to another one", before[own], total, after[own], w.most(after, own))
}

// load runs n webhooks, whose changes come by this many shards of the stream, and returns the write units of each key in a second.
func (w *world) load(n, shards int) map[string]float64 {
	w.t.Helper()
	server, s := w.server(), w.fresh()
	w.meter.TakeKeys()
	for i := range n {
		name := fmt.Sprintf("load-%d-%d", n, i)
		w.do(server, w.arrival(name, name, "Printer on fire"), nil)
	}
	project := stream.ByCompany(projector.From(s).Handle, s.Lot(projector.Consumer))
	dispatch := stream.Run(dispatcher.From(s).Run, s.Lot(dispatcher.Consumer))
	var all []store.Item
	for _, prefixes := range [][]string{{memory.Prefix, arrival.ReceiptsPrefix}, {delivery.Prefix}} { // a delivery is a change too
		items := w.written(n, prefixes...)
		for batch := range slices.Chunk(items, 100) {
			w.handled(dispatch, w.event(batch...))()
		}
		all = append(all, items...)
	}
	for shard := range shards {
		var batch []store.Item
		for i := shard; i < len(all); i += shards {
			batch = append(batch, all[i])
		}
		e := w.event(batch...)
		e.Shard = fmt.Sprint("shard ", shard)
		w.handled(project, e)()
	}
	if due, err := w.tenant().Get(w.t.Context(), projection.DueKey, nil); err == nil {
		w.handled(project, w.event(due))()
	}
	units := w.meter.TakeKeys()
	for key := range units {
		units[key] *= float64(webhooksASecond) / float64(n)
	}
	return units
}

// written returns the company's items under prefixes that were written at the present time of the clock, at least n.
func (w *world) written(n int, prefixes ...string) (items []store.Item) {
	w.t.Helper()
	for _, prefix := range prefixes {
		for item, err := range w.tenant().Items(w.t.Context(), store.Query{Prefix: prefix}) {
			errtest.Must(w.t, err)
			if item.At.Equal(w.clock.Now()) {
				items = append(items, item)
			}
		}
	}
	if len(items) < n {
		w.t.Fatalf("%d items under %v, want at least %d", len(items), prefixes, n)
	}
	return items
}

// most returns the most units of a key other than own.
func (w *world) most(units map[string]float64, own string) (most float64) {
	for key, n := range units {
		if key != own {
			most = max(most, n)
		}
	}
	return most
}
