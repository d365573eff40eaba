package projection_test

import (
	"encoding/json"
	"testing"
	"time"

	diffs "github.com/google/go-cmp/cmp"

	"orgops/shared/domain/memory"
	"orgops/shared/insight/projection"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/webtest"
)

// TestPend stores changes as they were, because sizes count the bytes of their bodies: each once, and no longer than the context lacks it.
// What is pending of a shard that the context does not follow is in it, because it was rebuilt from restored records.
func TestPend(t *testing.T) {
	t.Parallel()
	c := store.For(webtest.New(t).Store, "acme")
	body := json.RawMessage(`{"title": "a < b",  "text":"\u00e4 ä"}`)
	change := func(sequence store.Sequence) store.Change {
		return store.Change{
			Sequence: sequence, Shard: "s", Company: "acme", Key: memory.Key("1"), Entity: memory.Entity, At: noon(), Stored: noon().Truncate(time.Second),
			New: &store.Image{Version: 1, Body: body},
		}
	}
	removed := change("3")
	removed.Old, removed.New = removed.New, nil
	p, _, failed := projection.Fold(projection.Empty("acme"), []store.Change{change("1")})
	errtest.Must(t, failed.Err())
	pend := func(changes ...store.Change) {
		ops, err := projection.Pend(t.Context(), c, p, changes, time.Now())
		errtest.Must(t, err)
		for _, op := range ops {
			errtest.Must(t, c.Commit(t.Context(), op))
		}
	}
	want := func(p projection.Context, want ...store.Change) {
		t.Helper()
		var got []store.Change
		errtest.Must(t, projection.EachPending(t.Context(), c, p, func(changes []store.Change) error {
			got = append(got, changes...)
			return nil
		}))
		if diff := diffs.Diff(want, got); diff != "" {
			t.Errorf("pending changes (-want +got):\n%s", diff)
		}
	}
	pend(change("1"), change("2"))
	pend(change("2"), removed)
	want(p, change("2"), removed)
	want(p.Unplaced())
	p, _, failed = projection.Fold(p, []store.Change{change("2")})
	errtest.Must(t, failed.Err())
	want(p, removed)
	pend(change("4"))
	want(p, removed, change("4"))
}
