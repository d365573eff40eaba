package projector_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/functions/projector"
	"orgops/shared/domain/memory"
	"orgops/shared/insight/projection"
	"orgops/shared/storage/sqlitedb"
	"orgops/shared/storage/store"
	"orgops/shared/storage/store/sqlitestore"
	"orgops/shared/testkit/clocktest"
	"orgops/shared/testkit/errtest"
)

// shardsOf is a table whose stream has several shards, and in which every company has eight sub-partitions.
type shardsOf struct {
	store.Store

	clock  *clocktest.Clock
	mu     sync.Mutex
	next   int64                     // number in the stream
	feed   map[string][]store.Change // by shard, what the projector has not received
	wrote  map[string]int            // commits by entity
	folds  []time.Time               // of the context
	before func(ops []store.Op)
}

func newShards(t *testing.T) *shardsOf {
	t.Helper()
	clock := clocktest.At(time.Now())
	db, err := sqlitedb.Open(t.Context(), filepath.Join(t.TempDir(), "orgops.db"), sqlitedb.Options{})
	errtest.Must(t, err)
	s, err := sqlitestore.Open(t.Context(), db, sqlitestore.Options{Now: clock.Now})
	errtest.Must(t, err)
	t.Cleanup(func() {
		errtest.Must(t, s.Close())
		errtest.Must(t, db.Close())
	})
	return &shardsOf{Store: s, clock: clock, feed: map[string][]store.Change{}, wrote: map[string]int{}}
}

// Parts implements store.Spreader.
func (*shardsOf) Parts(context.Context, string) (int, error) { return 8, nil }

// Spread implements store.Spreader.
func (*shardsOf) Spread(_ context.Context, _ string, parts int) (int, error) { return parts, nil }

// Commit implements store.Store. A change that asks for a fold comes by the shard "due".
func (s *shardsOf) Commit(ctx context.Context, ops ...store.Op) error {
	if s.before != nil {
		s.before(ops)
	}
	if err := s.Store.Commit(ctx, ops...); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	op := ops[0]
	s.wrote[op.Entity]++
	switch {
	case op.Entity == projection.Entity:
		s.folds = append(s.folds, s.clock.Now())
	case op.Entity == projection.DueEntity && !op.Quiet:
		company, _ := op.Partition.CompanyID()
		s.add("due", store.Change{Company: company, Key: op.Key, Entity: op.Entity, New: &store.Image{Version: op.Version + 1, Body: op.Body}})
	}
	return nil
}

// add adds a change to a shard.
func (s *shardsOf) add(shard string, c store.Change) {
	s.next++
	now := s.clock.Now().UTC()
	c.Shard, c.Sequence, c.At, c.Stored = shard, store.Sequence(fmt.Sprintf("%020d", s.next)), now, now.Truncate(time.Second)
	s.feed[shard] = append(s.feed[shard], c)
}

// remember adds changes that create memories to a shard.
func (s *shardsOf) remember(shard string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range n {
		s.add(shard, remembered("a", int(s.next)))
	}
}

// take returns what a shard has, and takes it.
func (s *shardsOf) take(shard string) store.Batch {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.feed[shard]
	delete(s.feed, shard)
	return store.Batch{Changes: all}
}

func (s *shardsOf) projector() *projector.Projector {
	return &projector.Projector{Store: s, Logger: slog.New(slog.DiscardHandler), Now: s.clock.Now}
}

// deliver lets a new process fold what a shard has.
func (s *shardsOf) deliver(t *testing.T, shard string) {
	t.Helper()
	errtest.Must(t, s.projector().Handle(t.Context(), s.take(shard)))
}

// finish folds what is left in the shards.
func (s *shardsOf) finish(t *testing.T, shards []string) {
	t.Helper()
	for _, shard := range shards {
		s.deliver(t, shard)
	}
	s.clock.Advance(time.Second)
	s.deliver(t, "due")
}

func shardNames(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("shard %02d", i))
	}
	return all
}

// begin lets the projector follow each shard, so that the company gathers.
func (s *shardsOf) begin(t *testing.T, shards []string) {
	t.Helper()
	for _, shard := range shards {
		s.remember(shard, 1)
		s.deliver(t, shard)
	}
	clear(s.wrote)
	s.folds = nil
}

// TestProjector_Handle_Gathers folds five seconds of changes of 64 shards, which come as Lambda gathers them: each shard's once a second.
// The context is written at most once a second, and a change is in it after three.
func TestProjector_Handle_Gathers(t *testing.T) {
	t.Parallel()
	const seconds, steps = 5, 100
	s, shards, r := newShards(t), shardNames(64), rand.New(rand.NewPCG(31, 4))
	s.begin(t, shards)
	phases := map[string]int{"due": r.IntN(steps)}
	for _, shard := range shards {
		phases[shard] = r.IntN(steps)
	}
	for step := range seconds * steps {
		for _, shard := range append(shards, "due") {
			if step%steps != phases[shard] {
				continue
			}
			if shard != "due" {
				s.remember(shard, 3)
			}
			s.deliver(t, shard)
		}
		s.clock.Advance(time.Second / steps)
	}
	last := s.clock.Now().Add(-time.Second)
	for n := 1; n < len(s.folds); n++ {
		if gap := s.folds[n].Sub(s.folds[n-1]); gap < time.Second {
			t.Errorf("the context was written again after %v, want at most once a second", gap)
		}
	}
	if got := len(s.folds); got < seconds-2 {
		t.Errorf("the context was written %d times in %d s, want at least %d", got, seconds, seconds-2)
	}
	if late := last.Sub(s.folds[len(s.folds)-1]); late > 2*time.Second {
		t.Errorf("the context was not written in the last %v", late)
	}
	s.finish(t, nil)
	memories := 64 + seconds*64*3
	wantKnown(t, s, "a", known{Changes: int64(memories), Memories: memories})
}

// TestProjector_Handle_Rests folds the changes of a company at once that has gathered and rests, with one commit.
func TestProjector_Handle_Rests(t *testing.T) {
	t.Parallel()
	s, shards := newShards(t), shardNames(4)
	s.begin(t, shards)
	for _, shard := range shards {
		s.clock.Advance(10 * time.Second)
		s.remember(shard, 1)
		s.deliver(t, shard)
	}
	wantKnown(t, s, "a", known{Changes: 8, Memories: 8})
	if diff := cmp.Diff(map[string]int{projection.Entity: 4}, s.wrote); diff != "" {
		t.Errorf("commits (-want +got):\n%s", diff)
	}
}

// TestProjector_Handle_Pending counts each change once, in any order of the shards and their redeliveries, and folds what is pending before
// the first changes of a shard. The clock of one process is more than a day ahead.
func TestProjector_Handle_Pending(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		r := rand.New(rand.NewPCG(seed, 1))
		s, shards := newShards(t), shardNames(4)
		var projectors []*projector.Projector
		for range 3 {
			projectors = append(projectors, s.projector())
		}
		total := 0
		for round := range 80 {
			s.clock.Advance(time.Duration(r.IntN(700)) * time.Millisecond)
			shard := shards[r.IntN(len(shards))]
			switch n := 1 + r.IntN(5); {
			case round%7 == 6:
				shard = "due"
			case round == 30: // the shards split
				shards = append(shards, "child 0", "child 1")
			default:
				s.remember(shard, n)
				total += n
			}
			batch := s.take(shard)
			if len(batch.Changes) == 0 {
				continue
			}
			for range 1 + r.IntN(2) {
				who, ahead := r.IntN(3), time.Duration(0)
				if who == 0 {
					ahead = 26 * time.Hour
				}
				s.clock.Advance(ahead)
				errtest.Must(t, projectors[who].Handle(t.Context(), batch))
				s.clock.Advance(-ahead)
			}
		}
		s.clock.Advance(time.Second)
		errtest.Must(t, projectors[1].Handle(t.Context(), s.take("due")))
		wantKnown(t, s, "a", known{Changes: int64(total), Memories: total})
	}
}

// TestProjector_Handle_Pending_Ahead loses no pending change when the next change was committed by a process whose clock is more than a day
// ahead, and counts a redelivered one once.
func TestProjector_Handle_Pending_Ahead(t *testing.T) {
	t.Parallel()
	s, shards := newShards(t), shardNames(3)
	s.begin(t, shards)
	s.remember(shards[0], 1)
	waits := s.take(shards[0])
	errtest.Must(t, s.projector().Handle(t.Context(), waits))
	s.remember(shards[1], 1)
	ahead := s.take(shards[1])
	ahead.Changes[0].At = s.clock.Now().Add(26 * time.Hour)
	s.clock.Advance(10 * time.Second)
	for _, batch := range []store.Batch{ahead, waits} {
		errtest.Must(t, s.projector().Handle(t.Context(), batch))
	}
	s.finish(t, nil)
	wantKnown(t, s, "a", known{Changes: 5, Memories: 5})
}

// TestProjector_Handle_Pending_Old counts nothing again that stayed pending while the context forgot its position.
func TestProjector_Handle_Pending_Old(t *testing.T) {
	t.Parallel()
	s, shards := newShards(t), shardNames(3)
	s.begin(t, shards[:2])
	s.remember(shards[0], 1)
	s.finish(t, shards[:1])
	s.clock.Advance(26 * time.Hour)
	s.remember(shards[1], 1)
	s.deliver(t, shards[1])
	s.remember(shards[2], 1)
	s.deliver(t, shards[2])
	s.remember(shards[0], 1)
	s.deliver(t, shards[0])
	wantKnown(t, s, "a", known{Changes: 6, Memories: 6})
}

// TestProjector_Handle_Pending_Late makes changes pending while another process folds: they ask again, or are in the fold.
func TestProjector_Handle_Pending_Late(t *testing.T) {
	t.Parallel()
	for _, entity := range []string{projection.DueEntity, projection.Entity} {
		s, shards := newShards(t), shardNames(2)
		s.begin(t, shards)
		s.remember(shards[0], 1)
		s.deliver(t, shards[0])
		s.clock.Advance(time.Second)
		s.before = func(ops []store.Op) {
			if ops[0].Entity == entity {
				s.before = nil
				s.remember(shards[1], 1)
				s.deliver(t, shards[1])
			}
		}
		s.deliver(t, "due")
		s.finish(t, nil)
		wantKnown(t, s, "a", known{Changes: 4, Memories: 4})
	}
}

// TestProjector_Handle_Pending_Large folds at once what does not fit an item of pending changes.
func TestProjector_Handle_Pending_Large(t *testing.T) {
	t.Parallel()
	s, shards := newShards(t), shardNames(2)
	s.begin(t, shards)
	r := rand.NewChaCha8([32]byte{})
	noise := func() string {
		raw := make([]byte, 100_000)
		_, _ = r.Read(raw) // never returns an error
		return fmt.Sprintf("%x", raw)
	}
	for n := range 5 {
		s.add(shards[0], put("a", n, memory.Entity, memory.Key(fmt.Sprint(n)), memory.Memory{Provider: "feed", Body: noise()}))
	}
	s.deliver(t, shards[0])
	wantKnown(t, s, "a", known{Changes: 7, Memories: 7})
	if diff := cmp.Diff(map[string]int{projection.Entity: 1}, s.wrote); diff != "" {
		t.Errorf("commits (-want +got):\n%s", diff)
	}
}

// TestProjector_Handle_Pending_Bytes folds large records that were compressed in several commits, so that a process holds few of them.
func TestProjector_Handle_Pending_Bytes(t *testing.T) {
	t.Parallel()
	const size, each = 64 << 10, 15
	s, shards := newShards(t), shardNames(24)
	s.begin(t, shards)
	text := strings.Repeat("long ", size/5)
	for k, shard := range shards {
		for n := range each {
			s.add(shard, put("a", k*each+n, memory.Entity, memory.Key(fmt.Sprint(k, n)), memory.Memory{Provider: "feed", Body: text}))
		}
		s.deliver(t, shard)
	}
	s.finish(t, nil)
	wantKnown(t, s, "a", known{Changes: 24 + 24*each, Memories: 24 + 24*each})
	if got, want := s.wrote[projection.Entity], 24*each*size/(8<<20); got < want {
		t.Errorf("the context was written %d times, want at least %d", got, want)
	}
}

// TestProjector_Handle_Pending_Unreadable leaves changes pending while the context cannot be decoded, and parks no change that asks.
func TestProjector_Handle_Pending_Unreadable(t *testing.T) {
	t.Parallel()
	s, shards := newShards(t), shardNames(2)
	s.begin(t, shards)
	s.remember(shards[0], 1)
	s.deliver(t, shards[0])
	a := store.For(s, "a")
	is, err := a.Get(t.Context(), projection.Key, nil)
	errtest.Must(t, err)
	write := func(version int64, body any) {
		errtest.Must(t, a.Commit(t.Context(), a.Replace(projection.Key, projection.Entity, version, body)))
	}
	write(is.Version, map[string]any{"integrations": nil})
	s.deliver(t, "due")
	wantParked(t, s, "a")
	write(is.Version+1, is.Body)
	s.clock.Advance(rest)
	s.remember(shards[1], 1)
	s.deliver(t, shards[1])
	wantKnown(t, s, "a", known{Changes: 4, Memories: 4})
}

// rest is longer than the projector waits before it folds a change without being asked.
const rest = time.Minute
