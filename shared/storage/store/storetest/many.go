package storetest

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
)

// testGetMany reads as many items at once as the contract allows, of which some are absent, have expired or were deleted.
func testGetMany(t *testing.T, h Harness) {
	f := open(t, h)
	var keys []string
	var ops []store.Op
	want := map[string]note{}
	for i := range store.MaxKeys {
		key := fmt.Sprintf("MANY#%03d", i)
		keys = append(keys, key)
		if i%2 == 0 {
			want[key] = note{N: i}
			ops = append(ops, f.c.Create(key, "note", want[key]))
		}
	}
	f.commit(t, ops...)
	f.commit(t, f.c.Replace(keys[0], "note", 1, note{N: 7}), f.c.Delete(keys[2], "note", 1), f.c.Create(keys[1], "note", note{}).Until(f.clock.Now().Add(time.Second)))
	f.clock.Advance(2 * time.Second)
	want[keys[0]] = note{N: 7}
	delete(want, keys[2])
	partition := f.c.Unchanged("A", 1).Partition

	items, err := f.GetMany(t.Context(), partition, keys)
	errtest.Must(t, err)
	got := map[string]note{}
	for _, item := range items {
		var n note
		errtest.Must(t, item.Decode(&n))
		got[item.Key] = n
		one, err := f.c.Get(t.Context(), item.Key, nil)
		errtest.Must(t, err)
		if diff := cmp.Diff(one, item); diff != "" {
			t.Errorf("%s (-get +get many):\n%s", item.Key, diff)
		}
	}
	if len(items) != len(got) {
		t.Errorf("%d items, want each of %d once", len(items), len(got))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("items (-want +got):\n%s", diff)
	}
	for name, refused := range map[string][]string{
		"too many keys": append(slices.Clone(keys), "ONE"), "a key twice": {"A", "A"}, "an empty key": {""}, "a long key": {strings.Repeat("k", store.MaxKey+1)},
	} {
		if _, err := f.GetMany(t.Context(), partition, refused); err == nil {
			t.Errorf("%s: read, want it refused", name)
		}
	}
	if items, err = f.GetMany(t.Context(), partition, nil); err != nil {
		t.Errorf("get many of no keys: %v, want no error", err)
	}
	if len(items) != 0 {
		t.Errorf("get many of no keys: %d items, want none", len(items))
	}

	f.getLarge(t)
}

// getLarge reads items that are larger together than what one commit takes. DynamoDB leaves keys out beyond 16 MB: the tests of its driver play that.
func (f *fixture) getLarge(t *testing.T) {
	t.Helper()
	noise := make([]byte, store.MaxBody*3/4-60) // as base64 it packs to its own size again
	_, _ = rand.Read(noise)                     // never returns an error
	body := note{Text: base64.StdEncoding.EncodeToString(noise)}
	const commits, each = 2, store.MaxCommit / store.MaxBody
	var keys []string
	for range commits {
		var ops []store.Op
		for range each {
			key := fmt.Sprintf("LARGE#%03d", len(keys))
			keys, ops = append(keys, key), append(ops, f.c.Create(key, "note", body))
		}
		f.commit(t, ops...)
	}
	items, err := f.GetMany(t.Context(), f.c.Unchanged("A", 1).Partition, keys)
	errtest.Must(t, err)
	if len(items) != len(keys) {
		t.Errorf("%d large items, want %d", len(items), len(keys))
	}
}

// testAhead reads items of a company ahead. Gets answer from what was read, and commits at its versions are guarded.
func testAhead(t *testing.T, h Harness) {
	f := open(t, h)
	f.commit(t, f.c.Create("A", "note", note{N: 1}), f.c.Create("B", "note", note{N: 2}), f.c.Create("C", "note", note{N: 3}))
	keys := []string{"A", "A", "ABSENT"}
	for i := range 2 * store.MaxKeys {
		keys = append(keys, fmt.Sprintf("ABSENT#%d", i))
	}
	c, err := f.c.Ahead(t.Context(), append(keys, "B")...)
	errtest.Must(t, err)
	f.commit(t, f.c.Replace("A", "note", 1, note{N: 4}), f.c.Replace("C", "note", 1, note{N: 5}), f.c.Create("ABSENT", "note", note{}))
	live := f.c
	f.c = c
	f.get(t, "A", 1, 1)
	f.get(t, "B", 1, 2)
	f.get(t, "C", 2, 5) // not read ahead
	f.absent(t, "ABSENT")
	if err := c.Commit(t.Context(), c.Replace("A", "note", 1, note{N: 6})); !errors.Is(err, store.ErrConflict) {
		t.Errorf("commit at a former version: %v, want ErrConflict", err)
	}
	errtest.Must(t, c.Commit(t.Context(), c.Replace("B", "note", 1, note{N: 7})))
	f.c = live
	f.get(t, "A", 2, 4)
	f.get(t, "B", 2, 7)
}
