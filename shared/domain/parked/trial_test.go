package parked_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"orgops/shared/domain/parked"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
)

// overtaken lets another process act after each item that it reads.
type overtaken struct {
	store.Store
	other func()
}

func (o overtaken) Get(ctx context.Context, p store.Partition, key string) (store.Item, error) {
	item, err := o.Store.Get(ctx, p, key)
	o.other()
	return item, err
}

// TestLot_Begin_Overtaken begins a trial that another process begins again at the same time.
func TestLot_Begin_Overtaken(t *testing.T) {
	t.Parallel()
	s := webtest.OpenStore(t)
	lot := parked.Lot{Store: s, Consumer: "test", Logger: slog.New(slog.DiscardHandler), Now: time.Now}
	begin := func(l parked.Lot) *parked.Trial {
		trial, err := l.Begin(t.Context(), change(`{}`))
		errtest.Must(t, err)
		return trial
	}
	errtest.Must(t, begin(lot).Return(t.Context()))
	late := lot
	late.Store = overtaken{s, func() { begin(lot) }}
	if begin(late).Again() {
		t.Error("the process works on one change at a time, although no process has ended")
	}
}
