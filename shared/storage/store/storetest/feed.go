package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/base/id"
	"orgops/shared/storage/store"
)

var errLater = errors.New("not now")

func testFeedChanges(t *testing.T, h Harness) {
	f := open(t, h)
	tap := listen(t, f, "alpha")
	at := f.clock.Now()
	f.commit(t, f.c.Create("A", "note", note{N: 1}), f.c.Create("B", "memo", note{N: 2}))
	f.commit(t, f.c.Replace("A", "note", 1, note{N: 3}), f.c.Unchanged("B", 1))
	f.conflict(t, 0, f.c.Create("A", "note", note{N: 9}))
	f.commit(t, store.RegistryOf(f.c.ID()).Entry(f.c.ID(), "entry", 0, note{}), f.c.Delete("A", "note", 2))
	changes := tap.changes(t, 4)
	got := briefs(t, changes)
	slices.Sort(got[:2]) // changes of one commit have no order
	want := []string{"A note - 1:1", "B memo - 1:2", "A note 1:1 2:3", "A note 2:3 -"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	last := map[string]store.Sequence{} // by shard
	for _, c := range changes {
		if c.Sequence.Compare(last[c.Shard]) <= 0 {
			t.Errorf("sequence %s after %s, want a greater one", c.Sequence, last[c.Shard])
		}
		last[c.Shard] = c.Sequence
		if c.Company != f.c.ID() {
			t.Errorf("%s: company %s, want %s", c.Key, c.Company, f.c.ID())
		}
		if !c.At.Equal(at) {
			t.Errorf("%s: at %v, want %v", c.Key, c.At, at)
		}
	}
}

func testFeedQuiet(t *testing.T, h Harness) {
	f := open(t, h)
	tap := listen(t, f, "alpha")
	f.commit(t, f.c.Create("A", "note", note{N: 1}).Quietly(), f.c.Timer(f.clock.Now(), "remind", "A"))
	f.commit(t, f.c.Replace("A", "note", 1, note{N: 2}).Quietly())
	gone := f.c.Delete("A", "note", 2)
	gone.Quiet = true
	f.commit(t, gone)
	f.commit(t, f.c.Create("LAST", "note", note{N: 3}))
	if got := brief(t, tap.changes(t, 1)[0]); got != "LAST note - 1:3" {
		t.Errorf("first change %s, want the first non-quiet one", got)
	}
}

// testFeedOrder commits for several companies in parallel and expects the changes of each item in commit order.
func testFeedOrder(t *testing.T, h Harness) {
	const companies, commits = 5, 40
	f := open(t, h)
	tap := listen(t, f, "alpha")
	next := make(map[string]int) // by company; each has one item
	var wg sync.WaitGroup
	for range companies {
		c := store.For(f.Driver, id.New())
		next[c.ID()] = 0
		wg.Go(func() {
			for i := range commits {
				if err := c.Commit(context.Background(), c.Save("N", "note", int64(i), note{N: i})); err != nil {
					t.Error(err)
				}
			}
		})
	}
	defer wg.Wait() // even when the test ends early: t.Error must not run after the test
	for seen := 0; seen < companies*commits; {
		b := tap.next(t)
		for _, c := range b.Changes {
			want, ours := next[c.Company]
			if !ours {
				continue
			}
			if n := decode(t, c.New); n != want {
				t.Fatalf("change %d of an item received, want change %d", n, want)
			}
			next[c.Company]++
			seen++
		}
		b.done(nil)
	}
}

func testFeedExpired(t *testing.T, h Harness) {
	f := open(t, h)
	tap := listen(t, f, "alpha")
	until := f.clock.Now().Add(2 * time.Second)
	f.commit(t, f.c.Create("A", "note", note{N: 1}).Until(until))
	f.clock.Advance(time.Minute)
	f.commit(t, f.c.Create("A", "note", note{N: 2}))
	changes := tap.changes(t, 2)
	if got := brief(t, changes[1]); got != "A note 1:1 1:2" {
		t.Errorf("creation over the expired item: %s, want its image as the old one", got)
	}
	if h.Sweep == nil {
		return
	}
	until = f.clock.Now().Add(2 * time.Second)
	f.commit(t, f.c.Create("B", "memo", note{N: 3}).Until(until), f.c.Create("C", "note", note{N: 4}).Until(until).Quietly())
	f.clock.Advance(time.Minute)
	h.Sweep(t, f.Driver)
	f.commit(t, f.c.Create("LAST", "note", note{N: 5}))
	want := []string{"B memo - 1:3", "B memo 1:3 -", "LAST note - 1:5"}
	if diff := cmp.Diff(want, briefs(t, tap.changes(t, 3))); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

// testFeedResume restarts a consumer and expects unfinished changes, but not finished ones.
func testFeedResume(t *testing.T, h Harness) {
	f := open(t, h)
	f.commit(t, f.c.Create("BEFORE", "note", note{N: 1})) // before any consumer runs
	tap := listen(t, f, "alpha")
	if got := tap.changes(t, 1)[0].Key; got != "BEFORE" {
		t.Fatalf("first change %s, want BEFORE", got)
	}
	tap.stop(t)

	f.commit(t, f.c.Create("BETWEEN", "note", note{N: 2}))
	tap = listen(t, f, "alpha")
	b := tap.next(t)
	if got := b.Changes[0].Key; got != "BETWEEN" {
		t.Fatalf("after the first restart: %s, want BETWEEN", got)
	}
	b.done(errLater)
	tap.stop(t)

	tap = listen(t, f, "alpha")
	if got := tap.changes(t, 1)[0].Key; got != "BETWEEN" {
		t.Fatalf("after the second restart: %s, want the unfinished BETWEEN", got)
	}
}

func testFeedRedelivery(t *testing.T, h Harness) {
	f := open(t, h)
	tap := listen(t, f, "alpha")
	f.commit(t, f.c.Create("A", "note", note{N: 1}))
	first := tap.next(t)
	f.commit(t, f.c.Create("B", "note", note{N: 2}))
	first.done(errLater)
	first.done(nil) // only the first call counts

	// B may have been in flight when A failed; otherwise A is redelivered first.
	second := tap.next(t)
	if second.Changes[0].Key == "B" {
		second.done(nil)
		second = tap.next(t)
	}
	if diff := cmp.Diff(first.Changes, second.Changes); diff != "" {
		t.Fatalf("redelivered batch (-first +second):\n%s", diff)
	}
	if !second.Replay {
		t.Error("redelivered batch is not marked as a replay")
	}
	second.done(errLater)
	third := tap.next(t)
	if third.Changes[0].Key == "B" {
		third.done(nil)
		third = tap.next(t)
	}
	if got := third.keys()[0]; got != "A*" {
		t.Fatalf("then %s, want A* (a replay)", got)
	}
	third.done(nil)
	f.commit(t, f.c.Create("C", "note", note{N: 3}))
	for {
		b := tap.next(t)
		b.done(nil)
		if b.Changes[0].Key == "A" {
			t.Fatal("A redelivered though finished")
		}
		if b.Changes[len(b.Changes)-1].Key == "C" {
			return
		}
	}
}

func testFeedReplay(t *testing.T, h Harness) {
	f := open(t, h)
	for i := range 3 {
		f.commit(t, f.c.Create(fmt.Sprintf("OLD#%d", i), "note", note{N: i}))
	}
	tap := listen(t, f, "alpha")
	for seen := 0; seen < 3; {
		b := tap.next(t)
		if !b.Replay {
			t.Error("changes from before the consumer's start are not marked as a replay")
		}
		seen += len(b.Changes)
		b.done(nil)
	}
	f.commit(t, f.c.Create("NEW", "note", note{N: 9}))
	b := tap.next(t)
	defer b.done(nil)
	if diff := cmp.Diff([]string{"NEW"}, b.keys()); diff != "" {
		t.Errorf("batch after the replays, which have a * (-want +got):\n%s", diff)
	}
}

// testFeedBackPressure finishes no batch and expects the driver to stop at its limit, then finishes all and expects the rest.
func testFeedBackPressure(t *testing.T, h Harness) {
	if h.Unfinished == 0 {
		t.Skip("the driver's limit is unknown")
	}
	f := open(t, h)
	total := 3 * h.Unfinished
	for i := range total { // of a company each: a driver may limit those of one
		f.commit(t, store.For(f, id.New()).Create(fmt.Sprintf("N#%06d", i), "note", note{N: i}))
	}
	tap := listen(t, f, "alpha")
	var open []handed
	unfinished, seen := 0, 0
	for seen < total {
		b := tap.next(t)
		open = append(open, b)
		unfinished += len(b.Changes)
		seen += len(b.Changes)
		if unfinished > h.Unfinished {
			t.Fatalf("%d changes in flight, want at most %d", unfinished, h.Unfinished)
		}
		if unfinished == h.Unfinished || seen == total {
			for _, b := range slices.Backward(open) { // out of order
				b.done(nil)
			}
			open, unfinished = nil, 0
		}
	}
	tap.stop(t)
	f.commit(t, f.c.Create("LAST", "note", note{N: 1}))
	if got := listen(t, f, "alpha").changes(t, 1)[0].Key; got != "LAST" {
		t.Errorf("then %s, want LAST", got)
	}
}

// testFeedShare finishes nothing of a company whose changes would fill the limit several times, and expects those of another company
// nevertheless. After a restart it expects the company's changes again, and no other ones. When they are finished, it expects the
// rest of them in order.
func testFeedShare(t *testing.T, h Harness) {
	if !h.Shares {
		t.Skip("the driver has no shares")
	}
	f := open(t, h)
	noisy, quiet := store.For(f, id.New()), store.For(f, id.New())
	total := 3 * h.Unfinished
	want := map[string][]string{}
	for i := range total {
		key := fmt.Sprintf("N#%06d", i)
		f.commit(t, noisy.Create(key, "note", note{N: i}))
		want[noisy.ID()] = append(want[noisy.ID()], key)
		if i%16 == 0 {
			f.commit(t, quiet.Create(key, "note", note{N: i}))
			want[quiet.ID()] = append(want[quiet.ID()], key)
		}
	}
	tap := listen(t, f, "alpha")
	got := map[string][]string{}
	var open []handed
	take := func(finish bool) {
		b := tap.next(t)
		loud := false
		for _, c := range b.Changes {
			got[c.Company] = append(got[c.Company], c.Key)
			loud = loud || c.Company == noisy.ID()
		}
		if finish || !loud {
			b.done(nil)
		} else {
			open = append(open, b)
		}
	}
	for len(got[quiet.ID()]) < len(want[quiet.ID()]) {
		take(false)
	}
	if n := len(got[noisy.ID()]); n >= h.Unfinished {
		t.Errorf("%d changes of one company in flight, want fewer than %d", n, h.Unfinished)
	}
	for _, b := range open {
		b.done(errLater)
	}
	tap.stop(t)

	clear(got)
	tap = listen(t, f, "alpha")
	for len(got[noisy.ID()]) < total {
		take(true)
	}
	if diff := cmp.Diff(want[noisy.ID()], got[noisy.ID()]); diff != "" {
		t.Errorf("the company's changes after the restart (-want +got):\n%s", diff)
	}
	tap.stop(t)
	f.commit(t, f.c.Create("LAST", "note", note{N: 1}))
	if got := listen(t, f, "alpha").changes(t, 1)[0].Key; got != "LAST" {
		t.Errorf("then %s, want LAST: all others are finished", got)
	}
}

func testFeedTwoConsumers(t *testing.T, h Harness) {
	f := open(t, h)
	a, b := listen(t, f, "alpha"), listen(t, f, "beta")
	f.commit(t, f.c.Create("A", "note", note{N: 1}))
	for _, tap := range []*tap{a, b} {
		if got := tap.changes(t, 1)[0].Key; got != "A" {
			t.Errorf("got %s, want A", got)
		}
	}
	b.stop(t)
	f.commit(t, f.c.Create("B", "note", note{N: 2}))
	f.commit(t, f.c.Create("C", "note", note{N: 3}))
	if diff := cmp.Diff([]string{"B note - 1:2", "C note - 1:3"}, briefs(t, a.changes(t, 2))); diff != "" {
		t.Errorf("first consumer's changes (-want +got):\n%s", diff)
	}
	if got := listen(t, f, "beta").changes(t, 1)[0].Key; got != "B" {
		t.Errorf("second consumer resumes with %s, want B", got)
	}
}

// testFeedEnd cancels a consumer with a batch in flight: Consume waits for it and records that it finished.
func testFeedEnd(t *testing.T, h Harness) {
	f := open(t, h)
	tap := listen(t, f, "alpha")
	f.commit(t, f.c.Create("A", "note", note{N: 1}))
	b := tap.next(t)
	tap.cancel()
	select {
	case <-tap.ended:
		t.Fatal("consume returned with a batch in flight")
	default:
	}
	b.done(nil)
	tap.stop(t)
	f.commit(t, f.c.Create("B", "note", note{N: 2}))
	if got := listen(t, f, "alpha").changes(t, 1)[0].Key; got != "B" {
		t.Errorf("then %s, want B: A was finished", got)
	}
}
