package storetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/base/id"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
)

func testGet(t *testing.T, h Harness) {
	f := open(t, h)
	f.absent(t, "NOTE#1")
	f.commit(t, f.c.Create("NOTE#1", "note", note{N: 7, Text: "ä\x00<&\"☃"}))
	item := f.get(t, "NOTE#1", 1, 7)
	if diff := cmp.Diff(store.Item{Key: "NOTE#1", Entity: "note", Version: 1, At: f.clock.Now(), Body: item.Body}, item); diff != "" {
		t.Errorf("item (-want +got):\n%s", diff)
	}
	if got := item.At.Location(); got != time.UTC {
		t.Errorf("at a time of %v, want UTC", got)
	}
	var got note
	errtest.Must(t, json.Unmarshal(item.Body, &got))
	if want := "ä\x00<&\"☃"; got.Text != want {
		t.Errorf("text %q, want %q", got.Text, want)
	}

	f.commit(t, store.System().Entry("MARK", "mark", 0, note{N: 1}))
	mark, err := f.Get(t.Context(), store.System(), "MARK")
	if err != nil {
		t.Fatalf("get of a shared partition: %v", err)
	}
	if mark.Version != 1 {
		t.Errorf("item of a shared partition has version %d, want 1", mark.Version)
	}
	if _, err := f.Get(t.Context(), store.Registry(3), "MARK"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("item of another partition: %v, want ErrNotFound", err)
	}
}

func testConditions(t *testing.T, h Harness) {
	f := open(t, h)
	create := func(n int) store.Op { return f.c.Create("A", "note", note{N: n}) }
	replace := func(version int64, n int) store.Op { return f.c.Replace("A", "note", version, note{N: n}) }

	f.conflict(t, 0, replace(1, 1))
	f.conflict(t, 0, f.c.Delete("A", "note", 1))
	f.conflict(t, 0, f.c.Unchanged("A", 1))
	f.commit(t, create(1))
	f.conflict(t, 0, create(2))
	f.get(t, "A", 1, 1)

	f.clock.Advance(time.Minute)
	f.commit(t, replace(1, 2))
	if item := f.get(t, "A", 2, 2); !item.At.Equal(f.clock.Now()) {
		t.Errorf("at %v after a replacement, want %v", item.At, f.clock.Now())
	}
	f.conflict(t, 0, replace(1, 3))
	f.conflict(t, 0, replace(3, 3))
	f.conflict(t, 0, f.c.Delete("A", "note", 1))
	f.conflict(t, 0, f.c.Unchanged("A", 1))
	f.commit(t, f.c.Unchanged("A", 2))
	f.get(t, "A", 2, 2)

	f.commit(t, f.c.Delete("A", "note", 2))
	f.absent(t, "A")
	f.conflict(t, 0, replace(2, 3))
	f.commit(t, f.c.Save("A", "note", 0, note{N: 4}))
	f.get(t, "A", 1, 4) // versions start over
	f.commit(t, f.c.Create("B", "note", note{N: 6}).From(1<<48))
	f.get(t, "B", 1<<48, 6)
	f.conflict(t, 0, f.c.Create("B", "note", note{N: 7}).From(1<<48+1))
	f.conflict(t, 0, f.c.Replace("B", "note", 1, note{N: 7}))
	f.commit(t, f.c.Replace("B", "note", 1<<48, note{N: 7}))
	f.get(t, "B", 1<<48+1, 7)
	f.commit(t, f.c.Save("A", "memo", 1, note{N: 5}))
	if item := f.get(t, "A", 2, 5); item.Entity != "memo" {
		t.Errorf("entity %q after a replacement, want memo", item.Entity)
	}
}

func testTransactions(t *testing.T, h Harness) {
	f := open(t, h)
	f.commit(t, f.c.Create("A", "note", note{N: 1}), f.c.Create("B", "note", note{N: 1}))
	f.conflict(t, 2,
		f.c.Create("C", "note", note{N: 1}),
		f.c.Replace("A", "note", 1, note{N: 2}),
		f.c.Unchanged("B", 9),
		f.c.Replace("D", "note", 1, note{N: 3}), // also fails, but only the first is named
	)
	f.absent(t, "C")
	f.get(t, "A", 1, 1)

	f.commit(t,
		f.c.Create("C", "note", note{N: 1}),
		f.c.Replace("A", "note", 1, note{N: 2}),
		f.c.Delete("B", "note", 1),
		store.System().Entry(f.c.ID(), "mark", 0, note{N: 1}),
	)
	f.get(t, "A", 2, 2)
	f.absent(t, "B")
	f.get(t, "C", 1, 1)
	if _, err := f.Get(t.Context(), store.System(), f.c.ID()); err != nil {
		t.Errorf("op on another partition: %v", err)
	}

	var many []store.Op
	for i := range store.MaxOps {
		many = append(many, f.c.Create(fmt.Sprintf("MANY#%03d", i), "note", note{N: i}))
	}
	f.conflict(t, store.MaxOps-1, append(many[:store.MaxOps-1:store.MaxOps-1], f.c.Create("A", "note", note{}))...)
	f.absent(t, "MANY#000")
	f.commit(t, many...)
	f.get(t, "MANY#099", 1, 99)
}

func testRefused(t *testing.T, h Harness) {
	f := open(t, h)
	body := func(size int) json.RawMessage {
		return json.RawMessage(`{"text":"` + strings.Repeat("x", size-len(`{"text":""}`)) + `"}`)
	}
	var many, heavy []store.Op
	for i := range store.MaxOps + 1 {
		many = append(many, f.c.Create(fmt.Sprintf("N#%d", i), "note", note{}))
	}
	for i := range store.MaxCommit/store.MaxBody + 1 {
		heavy = append(heavy, f.c.Create(fmt.Sprintf("N#%d", i), "note", body(store.MaxBody)))
	}
	twice := []store.Op{f.c.Create("A", "note", note{}), f.c.Unchanged("B", 1), f.c.Delete("A", "note", 1)}
	tests := []struct {
		name string
		ops  []store.Op
	}{
		{"no ops", nil},
		{"too many ops", many},
		{"two ops on one item", twice},
		{"two ops on one item among many", append(many[:50:50], many[3])},
		{"an empty key", []store.Op{f.c.Create("", "note", note{})}},
		{"a long key", []store.Op{f.c.Create(strings.Repeat("k", store.MaxKey+1), "note", note{})}},
		{"a key that is not UTF-8", []store.Op{f.c.Create("a\xff", "note", note{})}},
		{"a large body", []store.Op{f.c.Create("A", "note", body(store.MaxBody+1))}},
		{"a large commit", heavy},
	}
	for _, tt := range tests {
		err := f.Commit(t.Context(), tt.ops...)
		if err == nil {
			t.Errorf("%s: committed, want it refused", tt.name)
		}
		for _, other := range []error{store.ErrConflict, store.ErrUnavailable} {
			if errors.Is(err, other) {
				t.Errorf("%s: %v, want it refused as invalid", tt.name, err)
			}
		}
	}
	f.absent(t, "A")
	f.absent(t, "N#0")

	largest := body(store.MaxBody)
	f.commit(t, f.c.Create(strings.Repeat("k", store.MaxKey), "note", largest))
	item, err := f.c.Get(t.Context(), strings.Repeat("k", store.MaxKey), nil)
	errtest.Must(t, err)
	if !bytes.Equal(item.Body, largest) {
		t.Errorf("largest item returned with other bytes, %d of them, want the %d that were stored", len(item.Body), len(largest))
	}
}

// testConcurrency increments one item from many goroutines. It expects the right count and each step in order in the feed.
func testConcurrency(t *testing.T, h Harness) {
	const workers, rounds = 8, 25
	f := open(t, h)
	tap := listen(t, f, "alpha")
	f.commit(t, f.c.Create("COUNT", "count", note{}))
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for range rounds {
				if err := f.increment(context.Background(), "COUNT"); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	f.get(t, "COUNT", workers*rounds+1, workers*rounds)
	want := []string{"COUNT count - 1:0"}
	for i := 1; i <= workers*rounds; i++ {
		want = append(want, fmt.Sprintf("COUNT count %d:%d %d:%d", i, i-1, i+1, i))
	}
	if diff := cmp.Diff(want, briefs(t, tap.changes(t, len(want)))); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

func (f *fixture) increment(ctx context.Context, key string) error {
	for {
		var n note
		item, err := f.c.Get(ctx, key, &n)
		if err != nil {
			return err
		}
		n.N++
		err = f.c.Commit(ctx, f.c.Replace(key, "count", item.Version, n))
		if !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
}

// testCreateAtOnce creates each item from many goroutines: one succeeds, and every other one gets a conflict.
func testCreateAtOnce(t *testing.T, h Harness) {
	f := open(t, h)
	const keys, each = 20, 16
	var wg sync.WaitGroup
	errs := make([]error, keys*each)
	for i := range errs {
		wg.Go(func() {
			errs[i] = f.c.Commit(t.Context(), f.c.Create(fmt.Sprintf("A#%d", i/each), "note", note{N: i}))
		})
	}
	wg.Wait()
	created := make([]int, keys)
	for i, err := range errs {
		switch {
		case err == nil:
			created[i/each]++
		case !errors.Is(err, store.ErrConflict):
			t.Errorf("%d: %v, want ErrConflict", i, err)
		}
	}
	for key, n := range created {
		if n != 1 {
			t.Errorf("key %d created %d times, want once", key, n)
		}
	}
}

func testExpiry(t *testing.T, h Harness) {
	f := open(t, h)
	end := f.clock.Now().Truncate(time.Second).Add(10 * time.Second)
	f.commit(t, f.c.Create("A", "note", note{N: 1}).Until(end), f.c.Create("B", "note", note{N: 2}))
	if item := f.get(t, "A", 1, 1); !item.Expires.Equal(end) {
		t.Errorf("expires %v, want %v", item.Expires, end)
	}
	f.commit(t, f.c.Replace("A", "note", 1, note{N: 2}).Until(end))

	f.clock.Advance(end.Sub(f.clock.Now()) - time.Millisecond)
	f.get(t, "A", 2, 2)
	f.conflict(t, 0, f.c.Create("A", "note", note{}))
	f.clock.Advance(time.Millisecond)
	f.absent(t, "A")
	page, err := f.c.Query(t.Context(), store.Query{})
	errtest.Must(t, err)
	if diff := cmp.Diff([]string{"B"}, keys(page.Items)); diff != "" {
		t.Errorf("query after A expired (-want +got):\n%s", diff)
	}
	f.conflict(t, 0, f.c.Replace("A", "note", 2, note{N: 3}))
	f.conflict(t, 0, f.c.Delete("A", "note", 2))
	f.conflict(t, 0, f.c.Unchanged("A", 2))

	f.commit(t, f.c.Create("A", "note", note{N: 4})) // over the expired item, whether swept or not
	f.clock.Advance(time.Hour)
	if item := f.get(t, "A", 1, 4); !item.Expires.IsZero() {
		t.Errorf("expires %v, want never", item.Expires)
	}
	if h.Sweep != nil {
		f.commit(t, f.c.Create("C", "note", note{}).Until(f.clock.Now().Add(time.Second)))
		f.clock.Advance(time.Minute)
		h.Sweep(t, f.Driver)
		f.get(t, "A", 1, 4)
		f.absent(t, "C")
	}
}

func testCompany(t *testing.T, h Harness) {
	f := open(t, h)
	other := store.For(f.Driver, id.New())
	f.commit(t, f.c.Create("A", "note", note{N: 1}))
	if _, err := other.Get(t.Context(), "A", nil); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("get by another company: %v, want ErrNotFound", err)
	}
	page, err := other.Query(t.Context(), store.Query{})
	errtest.Must(t, err)
	if len(page.Items) != 0 {
		t.Errorf("query by another company: %+v, want no items", page.Items)
	}
	if err := other.Commit(t.Context(), other.Create("B", "note", note{}), f.c.Replace("A", "note", 1, note{N: 2})); err == nil {
		t.Error("another company's op committed")
	}
	if err := other.Commit(t.Context(), store.System().Entry("A", "note", 0, note{})); err == nil {
		t.Error("op on a shared partition committed by a company")
	}
	f.get(t, "A", 1, 1)
	if err := other.Commit(t.Context(), other.Create("A", "note", note{N: 9})); err != nil {
		t.Errorf("same key in another company: %v", err)
	}
	f.get(t, "A", 1, 1)
	if _, err := (store.Company{}).Get(t.Context(), "A", nil); err == nil {
		t.Error("unbound company can read")
	}
}

func testTimer(t *testing.T, h Harness) {
	f := open(t, h)
	at := f.clock.Now().Add(90 * time.Minute)
	if err := f.c.Commit(t.Context(), f.c.Create("A", "note", note{}), f.c.Timer(at, "remind", "A")); err != nil {
		t.Fatal(err)
	}
	var timers []store.Item
	for shard := range store.DueShards {
		page, err := f.Query(t.Context(), store.Due(shard), store.DueBy(at))
		if err != nil {
			t.Fatal(err)
		}
		timers = append(timers, page.Items...)
	}
	if len(timers) != 1 {
		t.Fatalf("%d timers, want 1", len(timers))
	}
	var got store.Timer
	if err := json.Unmarshal(timers[0].Body, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(store.Timer{At: at, Company: f.c.ID(), Kind: "remind", Subject: "A"}, got); diff != "" {
		t.Errorf("timer (-want +got):\n%s", diff)
	}
	err := f.c.Commit(t.Context(), f.c.Timer(at, "remind", "A"))
	if !errors.Is(err, store.ErrConflict) {
		t.Errorf("duplicate timer: %v, want ErrConflict", err)
	}
}

func testCancelled(t *testing.T, h Harness) {
	f := open(t, h)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.Commit(ctx, f.c.Create("A", "note", note{})); !errors.Is(err, context.Canceled) {
		t.Errorf("commit: %v, want the context's error", err)
	}
	if _, err := f.c.Get(ctx, "A", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("get: %v, want the context's error", err)
	}
	if _, err := f.c.Ahead(ctx, "A"); !errors.Is(err, context.Canceled) {
		t.Errorf("get many: %v, want the context's error", err)
	}
	if _, err := f.c.Query(ctx, store.Query{}); !errors.Is(err, context.Canceled) {
		t.Errorf("query: %v, want the context's error", err)
	}
	f.absent(t, "A")
}
