package simstore_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"orgops/local/suite/simulate/simstore"
	"orgops/shared/storage/store"
	"orgops/shared/storage/store/inflight"
	"orgops/shared/storage/store/storetest"
)

const unfinished = 32

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, storetest.Harness{
		Unfinished: unfinished,
		Open: func(_ *testing.T, now func() time.Time) storetest.Driver {
			return &driver{Store: simstore.Store{Table: simstore.NewTable(), Now: now}, positions: map[string]int{}}
		},
		Sweep: func(_ *testing.T, d storetest.Driver) {
			s := d.(*driver)
			s.Table.Sweep(s.Now())
			s.signal()
		},
	})
}

// driver adds a feed to the store, so that the suite sees the records of the stream as changes. The simulation does not use
// it: there, event source mappings read the shards.
type driver struct {
	simstore.Store

	mu        sync.Mutex
	positions map[string]int // in the stream, by consumer
	wakes     []chan struct{}
}

func (d *driver) Commit(ctx context.Context, ops ...store.Op) error {
	defer d.signal()
	return d.Store.Commit(ctx, ops...)
}

func (d *driver) signal() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, wake := range d.wakes {
		inflight.Signal(wake)
	}
}

func (d *driver) Consume(ctx context.Context, name string, handle func(context.Context, store.Batch, func(error))) error {
	w := inflight.New[int](unfinished, handle)
	d.mu.Lock()
	track := w.Track(d.positions[name])
	d.wakes = append(d.wakes, w.Wake)
	d.mu.Unlock()
	horizon := len(d.Table.Stream().Records(0))
	save := func(context.Context, bool) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.positions[name], _ = track.Position()
	}
	work := func(ctx context.Context) {
		for ctx.Err() == nil {
			d.step(ctx, w, track, horizon)
		}
	}
	w.Run(ctx, time.Millisecond, work, save)
	return nil
}

// step hands over one batch of one change, or waits for something to do.
func (d *driver) step(ctx context.Context, w *inflight.Window[int], track *inflight.Track[int], horizon int) {
	b, wait, room := w.Next()
	if b != nil {
		w.Hand(ctx, b)
		return
	}
	for room > 0 {
		at := track.Cursor()
		records := d.Table.Stream().Records(at)
		if len(records) == 0 {
			break
		}
		change, ok, err := records[0].Change()
		if err != nil || !ok {
			track.Seek(at + 1)
			continue
		}
		b := &inflight.Batch[int]{Changes: []store.Change{change}, Last: at + 1, Replay: at < horizon}
		track.Admit(at+1, b)
		w.Hand(ctx, b)
		return
	}
	if wait == 0 {
		wait = time.Hour
	}
	select {
	case <-w.Wake:
	case <-ctx.Done():
	case <-time.After(wait):
	}
}
