package admin_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/functions/projector"
	"orgops/local/suite/simulate/simstore"
	"orgops/shared/base/wait"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/memory"
	"orgops/shared/insight/projection"
	"orgops/shared/insight/rebuild"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
)

// world holds a company whose clients write and whose changes a projector folds, in virtual time.
type world struct {
	t       *testing.T
	table   *simstore.Table
	c       store.Company
	p       *projector.Projector
	r       *rand.Rand
	changes []store.Change
	folded  int
}

func newWorld(t *testing.T, seed uint64) *world {
	s := simstore.Store{Table: simstore.NewTable(), Now: time.Now}
	return &world{
		t: t, table: s.Table, c: store.For(s, "acme"), p: &projector.Projector{Store: s, Logger: slog.New(slog.DiscardHandler), Now: time.Now},
		r: rand.New(rand.NewPCG(seed, 0)),
	}
}

// write commits changes of some items: it creates, replaces or removes each.
func (w *world) write(n int) {
	var ops []store.Op
	for _, k := range w.r.Perm(12)[:n] {
		entity, key, body := memory.Entity, memory.Key(fmt.Sprint(k)), any(memory.Memory{ID: fmt.Sprint(k), Provider: "feed"})
		if k%3 == 0 {
			entity, key = goal.Entity, goal.Key(fmt.Sprint(k))
			body = goal.Goal{ID: fmt.Sprint(k), State: goal.Open, Alignment: goal.Alignment{Status: []goal.Status{goal.Aligned, goal.Drifting}[w.r.IntN(2)]}}
		}
		item, err := w.c.Get(w.t.Context(), key, nil)
		switch {
		case errors.Is(err, store.ErrNotFound) || w.r.IntN(3) > 0:
			ops = append(ops, w.c.Save(key, entity, item.Version, body))
		default:
			ops = append(ops, w.c.Delete(key, entity, item.Version))
		}
	}
	errtest.Must(w.t, w.c.Commit(w.t.Context(), ops...))
}

// project folds up to n more changes.
func (w *world) project(n int) {
	w.changes = w.changes[:0]
	for _, record := range w.table.Stream().Records(0) {
		change, ok, err := record.Change()
		errtest.Must(w.t, err)
		if ok {
			w.changes = append(w.changes, change)
		}
	}
	to := min(w.folded+n, len(w.changes))
	if to > w.folded {
		errtest.Must(w.t, w.p.Handle(w.t.Context(), store.Batch{Changes: w.changes[w.folded:to]}))
	}
	w.folded = to
}

// work writes and projects at random until done is closed. Then it folds all changes.
func (w *world) work(done <-chan struct{}) {
	for {
		select {
		case <-done:
			w.project(1 << 20)
			return
		case <-time.After(time.Duration(w.r.IntN(20)) * time.Millisecond):
		}
		if w.r.IntN(2) == 0 {
			w.write(1 + w.r.IntN(4))
		} else {
			w.project(1 + w.r.IntN(12))
		}
	}
}

// TestCompany rebuilds a context that lost changes, while clients write and the projector folds with a delay. No change may
// be lost or counted twice.
func TestCompany(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, seed)
				for range 20 {
					w.write(3)
					w.project(3)
				}
				p, version, err := projection.Load(t.Context(), w.c)
				errtest.Must(t, err)
				p.Memory.Total, p.Goals.Open, p.Goals.Drifting = p.Memory.Total+3, 40, 2
				errtest.Must(t, w.c.Commit(t.Context(), projection.Save(w.c, version, p)))
				done, over := make(chan struct{}), make(chan struct{})
				go func() { w.work(done); close(over) }()
				out, err := rebuild.Company(t.Context(), w.c, time.Now, func(int) { wait.For(t.Context(), 30*time.Millisecond) })
				close(done)
				<-over
				errtest.Must(t, err)
				if out.Records == 0 {
					t.Error("the rebuild has read no records")
				}
				got, _, err := projection.Load(t.Context(), w.c)
				errtest.Must(t, err)
				want, _, failed := projection.Fold(projection.Empty("acme"), w.changes)
				errtest.Must(t, failed.Err())
				want.ContextVersion, want.Rebuilding = want.ContextVersion+1, got.Rebuilding
				if diff := cmp.Diff(text(t, want), text(t, got)); diff != "" {
					t.Errorf("context (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func text(t *testing.T, p projection.Context) string {
	t.Helper()
	raw, err := json.MarshalIndent(p, "", " ")
	errtest.Must(t, err)
	return string(raw)
}

// TestCompany_Idle ends a rebuild that no projector follows, and leaves the context as it is.
func TestCompany_Idle(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		w.write(3)
		w.project(3)
		before, version, err := projection.Load(t.Context(), w.c)
		errtest.Must(t, err)
		if _, err := rebuild.Company(t.Context(), w.c, time.Now, func(int) {}); !errors.Is(err, rebuild.ErrIdle) {
			t.Errorf("err = %v, want %v", err, rebuild.ErrIdle)
		}
		_, after, err := projection.Load(t.Context(), w.c)
		errtest.Must(t, err)
		if after != version {
			t.Errorf("version = %d, want %d as before", after, version)
		}
		w.project(10) // the mark, an hour late: nothing is tracked for a rebuild that is over
		wait.For(t.Context(), rebuild.MaxTime)
		w.write(1)
		w.project(10)
		p, _, err := projection.Load(t.Context(), w.c)
		errtest.Must(t, err)
		if p.Rebuilding.ID != "" {
			t.Errorf("rebuilding = %+v, want none", p.Rebuilding)
		}
		if p.ContextVersion <= before.ContextVersion {
			t.Errorf("contextVersion = %d, want more than %d", p.ContextVersion, before.ContextVersion)
		}
	})
}

// TestCompany_Other ends a rebuild when another one of the same company begins; the other one succeeds.
func TestCompany_Other(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 2)
		w.write(3)
		done, over, first := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		go func() { w.work(done); close(over) }()
		reading := make(chan struct{}, 100)
		go func() {
			_, err := rebuild.Company(t.Context(), w.c, time.Now, func(int) { reading <- struct{}{}; wait.For(t.Context(), time.Second) })
			first <- err
		}()
		<-reading
		_, err := rebuild.Company(t.Context(), w.c, time.Now, func(int) {})
		errtest.Must(t, err)
		if err := <-first; !errors.Is(err, rebuild.ErrOther) {
			t.Errorf("err = %v, want %v", err, rebuild.ErrOther)
		}
		close(done)
		<-over
	})
}
