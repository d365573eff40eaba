package projector_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/arrival"
	"orgops/shared/domain/audit"
	"orgops/shared/domain/memory"
	"orgops/shared/insight/projection"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
)

// marked returns the change of a rebuild's mark.
func marked(company string, n int, until time.Time) store.Change {
	return put(company, n, projection.MarkEntity, projection.MarkKey, projection.Rebuilding{ID: "r", Mark: 1, Until: until})
}

// touched returns the keys that the store lists as touched during the rebuild r, each with its last version.
func touched(t *testing.T, s store.Store, company string) map[string]int64 {
	t.Helper()
	found := map[string]int64{}
	_, err := projection.ReadTouched(t.Context(), store.For(s, company), "r", "", func(item projection.Touched) { found[item.Key] = item.Version })
	errtest.Must(t, err)
	return found
}

// TestProjector_Handle_Rebuilding lists the items that changes touch from a rebuild's mark on until its time is over.
func TestProjector_Handle_Rebuilding(t *testing.T) {
	t.Parallel()
	p, s := setup(t)
	handle := func(changes ...store.Change) {
		t.Helper()
		errtest.Must(t, p.Handle(t.Context(), store.Batch{Changes: changes}))
	}
	until := time.Now().Add(time.Hour)
	handle(remembered("a", 1))
	handle(marked("a", 2, until))
	handle(remembered("a", 3), wanted("a", 4))
	removed := remembered("a", 3)
	removed.Sequence, removed.Old, removed.New = "5", removed.New, nil
	handle(removed, removed)
	want := map[string]int64{memory.Key("3"): 0, "GOAL#4": 1}
	if diff := cmp.Diff(want, touched(t, s, "a")); diff != "" {
		t.Errorf("touched (-want +got):\n%s", diff)
	}
	late := remembered("a", 6)
	late.At = until
	handle(late)
	if diff := cmp.Diff(want, touched(t, s, "a")); diff != "" {
		t.Errorf("touched after the time is over (-want +got):\n%s", diff)
	}
	wantKnown(t, s, "a", known{Changes: 6, Memories: 2, Goals: 1, Entries: 1})
}

// TestProjector_Handle_RebuildingLarge folds a batch whose touched items are too large for one item of the store, and a
// change that alone is too large: it ends the rebuild.
func TestProjector_Handle_RebuildingLarge(t *testing.T) {
	t.Parallel()
	const count = 20
	p, s := setup(t)
	changes := []store.Change{marked("a", 1, time.Now().Add(time.Hour))}
	for n := range count {
		m := memory.Memory{Provider: "feed", Body: strings.Repeat("x", 60_000)}
		changes = append(changes, put("a", n+2, memory.Entity, memory.Key(fmt.Sprint(n)), m))
	}
	errtest.Must(t, p.Handle(t.Context(), store.Batch{Changes: changes}))
	if got := len(touched(t, s, "a")); got != count {
		t.Errorf("%d items touched, want %d", got, count)
	}
	huge := put("a", count+2, memory.Entity, memory.Key("huge"), memory.Memory{Provider: "feed", Body: strings.Repeat("<", 100_000)}) // "<" takes six bytes
	errtest.Must(t, p.Handle(t.Context(), store.Batch{Changes: []store.Change{huge}}))
	known, _, err := projection.Load(t.Context(), store.For(s, "a"))
	errtest.Must(t, err)
	if known.Rebuilding.ID != "" {
		t.Errorf("rebuilding = %+v, want none", known.Rebuilding)
	}
	if got, want := known.Memory.Total, int64(count+1); got != want {
		t.Errorf("%d memories, want %d", got, want)
	}
}

// TestProjector_Handle_Unseen stores the size of records of which the context shows nothing, and leaves its version and its weekly brief
// alone. A rebuild learns of each item that it reads, and nothing is written for the others.
func TestProjector_Handle_Unseen(t *testing.T) {
	t.Parallel()
	p, s := setup(t)
	handle := func(changes ...store.Change) {
		t.Helper()
		errtest.Must(t, p.Handle(t.Context(), store.Batch{Changes: changes}))
	}
	audited := func(n int) store.Change { return put("a", n, audit.Entity, "AUDIT#"+fmt.Sprint(n), struct{}{}) }
	denied := func(n int) store.Change {
		key := arrival.ReceiptPrefix(arrival.Owner{Provider: "github"}) + fmt.Sprint(n)
		return put("a", n, arrival.ReceiptEntity, key, arrival.Receipt{Denied: true})
	}
	facts := func() projection.Context {
		p, _, err := projection.Load(t.Context(), store.For(s, "a"))
		errtest.Must(t, err)
		return p
	}
	writes := 0
	s.fail = func(_ int, ops []store.Op) error {
		writes += len(ops)
		return nil
	}
	handle(audited(1))
	handle(audited(2))
	if writes != 2 {
		t.Errorf("%d writes for two audit records, want one for each", writes)
	}
	handle(remembered("a", 3), marked("a", 4, time.Now().Add(time.Hour)))
	before := facts()
	handle(audited(5))
	handle(denied(6))
	handle(denied(7))
	handle(denied(7))
	after := facts()
	if diff := cmp.Diff(before.Shown(), after.Shown()); diff != "" {
		t.Errorf("what the context shows (-before +after):\n%s", diff)
	}
	items := map[string]int64{}
	for entity, steps := range after.Sizes {
		for _, step := range steps {
			items[entity] += step.Items
		}
	}
	if diff := cmp.Diff(map[string]int64{audit.Entity: 3, arrival.ReceiptEntity: 2}, items); diff != "" {
		t.Errorf("items (-want +got):\n%s", diff)
	}
	prefix := arrival.ReceiptPrefix(arrival.Owner{Provider: "github"})
	if diff := cmp.Diff(map[string]int64{memory.Key("3"): 1, prefix + "6": 1, prefix + "7": 1}, touched(t, s, "a")); diff != "" {
		t.Errorf("touched (-want +got):\n%s", diff)
	}
}
