package admin_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/functions/projector"
	"orgops/local/suite/simulate/simstore"
	"orgops/shared/base/wait"
	"orgops/shared/insight/projection"
	"orgops/shared/insight/rebuild"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
)

// spread is a store in which every company has eight sub-partitions.
type spread struct{ simstore.Store }

// Parts implements store.Spreader.
func (spread) Parts(context.Context, string) (int, error) { return 8, nil }

// Spread implements store.Spreader.
func (spread) Spread(_ context.Context, _ string, parts int) (int, error) { return parts, nil }

// gathered is a world whose changes come by several shards, so that the projector gathers them.
type gathered struct {
	*world
	next map[*simstore.Shard]int
}

func newGathered(t *testing.T, seed uint64) *gathered {
	w := newWorld(t, seed)
	s := spread{simstore.Store{Table: w.table, Now: time.Now}}
	w.c = store.For(s, "acme")
	w.p = &projector.Projector{Store: s, Logger: slog.New(slog.DiscardHandler), Now: time.Now}
	g := &gathered{w, map[*simstore.Shard]int{}}
	for range 3 {
		g.writes(30)
		for _, sh := range w.table.Stream().Shards() {
			w.table.Stream().Split(sh)
		}
	}
	g.writes(30)
	g.all()
	return g
}

// writes commits n times, at different times.
func (g *gathered) writes(n int) {
	for range n {
		g.write(4)
		wait.For(g.t.Context(), 10*time.Millisecond)
	}
}

// changes of a shard from one on, at most n.
func (g *gathered) batch(sh *simstore.Shard, n int) (b store.Batch) {
	from := g.next[sh]
	records := sh.Records(from)
	for _, r := range records[:min(n, len(records))] {
		change, ok, err := r.Change()
		errtest.Must(g.t, err)
		g.next[sh]++
		if change.Shard = sh.ID; ok && (change.New != nil || !projection.Expires(change.Entity)) {
			b.Changes = append(b.Changes, change)
		}
	}
	return b
}

// fold lets the projector have up to n changes of each shard whose parent it has read. It returns how many it has had.
func (g *gathered) fold(n int) (had int) {
	for _, sh := range g.table.Stream().Shards() {
		if sh.Parent != nil && len(sh.Parent.Records(g.next[sh.Parent])) > 0 {
			continue
		}
		b := g.batch(sh, n)
		had += len(b.Changes)
		errtest.Must(g.t, g.p.Handle(g.t.Context(), b))
	}
	return had
}

// all folds until the shards have no more changes.
func (g *gathered) all() {
	for g.fold(1<<20) > 0 {
	}
}

// pending returns how many changes wait to be folded.
func (g *gathered) pending() (n int) {
	p, _, err := projection.Load(g.t.Context(), g.c)
	errtest.Must(g.t, err)
	errtest.Must(g.t, projection.EachPending(g.t.Context(), g.c, p, func(changes []store.Change) error {
		n += len(changes)
		return nil
	}))
	return n
}

// TestCompany_Pending rebuilds the context of a company whose changes are gathered, while some of them are pending and clients write. The
// result has the bytes of the fold of all changes in the order of their commits: no pending change is lost or counted twice.
func TestCompany_Pending(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				g := newGathered(t, seed)
				g.writes(1)
				g.fold(1) // is pending, because the context was written just now
				before := g.pending()
				if before == 0 {
					t.Error("no change is pending before the rebuild")
				}
				done, over := make(chan struct{}), make(chan struct{})
				go func() {
					defer close(over)
					for more := true; more; {
						select {
						case <-done:
							more = false
						case <-time.After(time.Duration(g.r.IntN(400)) * time.Millisecond):
							g.write(1 + g.r.IntN(4))
							g.fold(1 + g.r.IntN(6))
						}
					}
				}()
				most := 0
				_, err := rebuild.Company(t.Context(), g.c, time.Now, func(int) {
					most = max(most, g.pending())
					wait.For(t.Context(), 100*time.Millisecond)
				})
				close(done)
				<-over
				errtest.Must(t, err)
				if most == 0 {
					t.Error("no change was pending while the rebuild read the records")
				}
				g.all()
				wait.For(t.Context(), 2*time.Minute) // a fold is asked for again
				g.write(1)
				g.all()
				if n := g.pending(); n > 0 {
					t.Errorf("%d changes are still pending", n)
				}
				g.equal()
			})
		})
	}
}

// equal compares the context with the fold of all changes in the order of their commits.
func (g *gathered) equal() {
	g.t.Helper()
	var all []store.Change
	for _, r := range g.table.Stream().Records(0) {
		change, ok, err := r.Change()
		errtest.Must(g.t, err)
		if ok && change.Entity != projection.DueEntity {
			all = append(all, change)
		}
	}
	for n := range all {
		all[n].Sequence = store.Sequence(fmt.Sprintf("%020d", n+1))
	}
	want, _, failed := projection.Fold(projection.Empty("acme"), all)
	errtest.Must(g.t, failed.Err())
	got, _, err := projection.Load(g.t.Context(), g.c)
	errtest.Must(g.t, err)
	want.ContextVersion++ // the rebuild
	if diff := cmp.Diff(text(g.t, want.Unplaced()), text(g.t, got.Unplaced())); diff != "" {
		g.t.Errorf("context (-want +got):\n%s", diff)
	}
}
