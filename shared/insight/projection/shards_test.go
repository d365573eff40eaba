package projection_test

import (
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	diffs "github.com/google/go-cmp/cmp"

	"orgops/shared/domain/memory"
	"orgops/shared/domain/timeline"
	"orgops/shared/insight/projection"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
)

// sharded gives each change a shard by its item, and a number in the shard. Halfway each shard ends and two others go on. The
// numbers of a shard begin anywhere.
func sharded(r *rand.Rand, changes []store.Change, shards int) (all [][]store.Change) {
	numbers := map[string]int64{}
	byShard := map[string][]store.Change{}
	for n, c := range changes {
		h := fnv.New32a()
		_, _ = h.Write([]byte(c.Key)) // never returns an error
		c.Shard = fmt.Sprint("parent ", int(h.Sum32())%shards)
		if n > len(changes)/2 {
			c.Shard = fmt.Sprint(c.Shard, " child ", h.Sum32()>>16%2)
		}
		if numbers[c.Shard] == 0 {
			numbers[c.Shard] = 1 + r.Int64N(1000)
		}
		numbers[c.Shard]++
		c.Sequence, c.Stored = store.Sequence(fmt.Sprint(numbers[c.Shard])), c.At.Truncate(time.Second)
		byShard[c.Shard] = append(byShard[c.Shard], c)
	}
	for _, shard := range slices.Sorted(maps.Keys(byShard)) { // a parent before its children
		all = append(all, byShard[shard])
	}
	return all
}

// foldShards folds the changes of shards at once, in random batches, some of which come again.
func foldShards(t *testing.T, r *rand.Rand, shards [][]store.Change) (projection.Context, []timeline.Entry) {
	t.Helper()
	p, entries := projection.Empty("acme"), []timeline.Entry(nil)
	next := make([]int, len(shards))
	ended := map[string]bool{}
	for {
		var ready []int
		for n, changes := range shards {
			name := changes[0].Shard
			ended[name] = next[n] == len(changes)
			if parent := name[:len("parent 0")]; !ended[name] && (name == parent || ended[parent] || !slices.ContainsFunc(shards, func(s []store.Change) bool { return s[0].Shard == parent })) {
				ready = append(ready, n)
			}
		}
		if len(ready) == 0 {
			return p, entries
		}
		n := ready[r.IntN(len(ready))]
		to := min(next[n]+1+r.IntN(10), len(shards[n]))
		from := max(next[n]-r.IntN(10), 0)
		for from < next[n] && shards[n][from].At.Before(p.UpdatedAt.Add(-24*time.Hour)) { // it has left the stream
			from++
		}
		folded, more, failed := projection.Fold(p, shards[n][from:to])
		errtest.Must(t, failed.Err())
		p, entries, next[n] = again(t, folded), append(entries, more...), to
	}
}

// TestFold_Shards folds histories whose changes come by several shards at once, whose numbers say nothing about each other. The
// context and the entries are those of the order of the commits.
func TestFold_Shards(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			h := randomHistory(seed, 300)
			want, wantEntries := h.fold(t)
			r := rand.New(rand.NewPCG(seed, 5))
			for _, shards := range []int{1, 3, 8} {
				got, entries := foldShards(t, r, sharded(r, h.changes, shards))
				got.Applied, got.Shards = want.Applied, nil
				wantFold(t, fmt.Sprintf("%d shards", shards), want, wantEntries, got, entries)
			}
		})
	}
}

// TestFold_ShardsKept keeps the position in a shard for as long as its changes may come again, and no longer.
func TestFold_ShardsKept(t *testing.T) {
	t.Parallel()
	change := func(shard string, at time.Time) store.Change {
		h := newHistory()
		h.now = at
		c := h.put(memory.Entity, memory.Key(shard), memory.Memory{Provider: "feed"})
		c.Shard, c.Stored = shard, at
		return c
	}
	p := projection.Empty("acme")
	for n, after := range []time.Duration{0, 24 * time.Hour, 26 * time.Hour} {
		p, _, _ = projection.Fold(p, []store.Change{change(fmt.Sprint("shard ", n), noon().Add(after))})
	}
	if got := len(p.Shards); got != 2 {
		t.Errorf("positions in %d shards, want those of the last 25 hours: 2", got)
	}
	again, _, _ := projection.Fold(p, []store.Change{change("shard 1", noon().Add(24*time.Hour))})
	if again.Memory.Total != 3 {
		t.Errorf("%d memories, want 3: a change that comes again counts once", again.Memory.Total)
	}
}

// TestFold_Rebuilt counts no change that a rebuild has read from the records, also if its shard is late, and adds its entries.
func TestFold_Rebuilt(t *testing.T) {
	t.Parallel()
	h := newHistory()
	p := projection.Empty("acme")
	p.Memory.Total, p.Rebuilt = 1, noon().Add(time.Second)
	late := h.put(memory.Entity, memory.Key("1"), memory.Memory{Provider: "feed"})
	note := h.put(timeline.Entity, timeline.Key("n"), timeline.Entry{ID: "n", Kind: timeline.Note, Title: "T"})
	fresh := h.after(time.Second).put(memory.Entity, memory.Key("2"), memory.Memory{Provider: "feed"})
	var changes []store.Change
	for _, c := range []store.Change{late, note, fresh} {
		c.Shard, c.Stored = "shard", c.At
		changes = append(changes, c)
	}
	got, _, failed := projection.Fold(p, changes)
	errtest.Must(t, failed.Err())
	is := map[string]int64{"memories": got.Memory.Total, "entries": int64(len(got.Timeline)), "version": got.ContextVersion}
	if diff := diffs.Diff(map[string]int64{"memories": 2, "entries": 0, "version": 3}, is); diff != "" {
		t.Errorf("facts (-want +got):\n%s", diff)
	}
}
