package dynamostore_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/google/go-cmp/cmp"

	"orgops/shared/logtest"
	"orgops/shared/store"
	"orgops/shared/store/dynamostore"
	"orgops/shared/store/dynamostream"
)

const patience = 20 * time.Second

// handed is a batch with its done.
type handed struct {
	store.Batch
	done func(error)
}

// consumption is a Consume whose batches a test takes one by one.
type consumption struct {
	batches chan handed
	stop    func()
}

func consume(t *testing.T, s *dynamostore.Store) *consumption {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	c := &consumption{batches: make(chan handed)}
	go func() {
		ended <- s.Consume(ctx, "alpha", func(ctx context.Context, b store.Batch, done func(error)) {
			select {
			case c.batches <- handed{b, done}:
			case <-ctx.Done():
				done(ctx.Err())
			}
		})
	}()
	c.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("consume: %v", err)
		}
	})
	t.Cleanup(c.stop)
	return c
}

func (c *consumption) next(t *testing.T) handed {
	t.Helper()
	select {
	case b := <-c.batches:
		return b
	case <-time.After(patience):
		t.Fatal("no batch came")
	}
	return handed{}
}

// take finishes batches until n changes came, and returns them as company:key, with a * for a replay.
func (c *consumption) take(t *testing.T, n int) []string {
	t.Helper()
	var got []string
	for len(got) < n {
		b := c.next(t)
		got = append(got, names(b)...)
		b.done(nil)
	}
	return got
}

func names(b handed) []string {
	var out []string
	for _, change := range b.Changes {
		name := change.Company + ":" + change.Key
		if b.Replay {
			name += "*"
		}
		out = append(out, name)
	}
	return out
}

func expect(t *testing.T, what string, want, got []string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func openStream(t *testing.T) (*dynamostore.Store, *stream, *logtest.Log) {
	t.Helper()
	st, l := &stream{}, &logtest.Log{}
	o := dynamostore.Options{Consumers: []string{"alpha"}, Stream: dynamostream.Of(st), Poll: 5 * time.Millisecond, Logger: slog.New(slog.NewTextHandler(l, nil))}
	return newStore(t, o), st, l
}

// TestFeed_TwoShards: each shard goes on by itself, and has a position of its own.
func TestFeed_TwoShards(t *testing.T) {
	t.Parallel()
	s, st, _ := openStream(t)
	st.open("one", "")
	st.open("two", "")
	st.write("one", "acme", "A1", "A2")
	st.write("two", "zeta", "Z1", "Z2")
	c := consume(t, s)
	first, second := c.next(t), c.next(t)
	expect(t, "of the first shard", []string{"acme:A1*", "acme:A2*"}, names(first))
	expect(t, "of the second, while the first is unfinished", []string{"zeta:Z1*", "zeta:Z2*"}, names(second))
	second.done(nil)
	st.write("two", "zeta", "Z3")
	expect(t, "behind the end at the beginning", []string{"zeta:Z3"}, c.take(t, 1))
	first.done(fmt.Errorf("not now"))
	c.stop()

	c = consume(t, s)
	expect(t, "after another beginning", []string{"acme:A1*", "acme:A2*"}, c.take(t, 2))
	st.write("one", "acme", "A3")
	expect(t, "then", []string{"acme:A3"}, c.take(t, 1))
}

// TestFeed_Split: what follows a shard waits until all of the shard is finished, and is then read.
func TestFeed_Split(t *testing.T) {
	t.Parallel()
	s, st, _ := openStream(t)
	st.open("parent", "")
	st.open("side", "")
	st.write("parent", "acme", "A1")
	c := consume(t, s)
	expect(t, "of the parent", []string{"acme:A1*"}, c.take(t, 1))

	st.write("parent", "acme", "A2")
	var finished atomic.Bool
	var early atomic.Bool
	st.mu.Lock()
	st.onRead = func(shard string) {
		if shard != "parent" && shard != "side" && !finished.Load() {
			early.Store(true)
		}
	}
	st.mu.Unlock()
	st.open("left", "parent")
	st.open("right", "parent")
	st.open("leaf", "left")
	st.close("parent")
	st.write("left", "acme", "A3")
	st.close("left")
	st.write("leaf", "acme", "A4")
	st.write("right", "zeta", "Z1")

	last := c.next(t)
	expect(t, "the last of the parent", []string{"acme:A2"}, names(last))
	turns := 0 // since the children must be known: as they come in pages, the shards are asked for three times
	for before := st.looked(); turns < 3; {
		if st.looked() >= before+3 {
			turns++
		}
		st.write("side", "side", fmt.Sprint("S", st.looked(), turns))
		c.take(t, 1)
	}
	finished.Store(true)
	last.done(nil)
	got := c.take(t, 3)
	if early.Load() {
		t.Error("a child was read before its parent was finished")
	}
	if i, j := slices.Index(got, "acme:A3"), slices.Index(got, "acme:A4"); i < 0 || j < i || !slices.Contains(got, "zeta:Z1") {
		t.Errorf("of the children came %q", got)
	}
	c.stop()

	st.write("leaf", "acme", "A5")
	expect(t, "after another beginning, what is new alone", []string{"acme:A5*"}, consume(t, s).take(t, 1))
}

// TestFeed_ExpiredIterator: an iterator that was held for too long is replaced; nothing comes twice and nothing is missed.
func TestFeed_ExpiredIterator(t *testing.T) {
	t.Parallel()
	s, st, _ := openStream(t)
	st.open("one", "")
	c := consume(t, s)
	var got, want []string
	for i := range 20 {
		key := fmt.Sprintf("A%02d", i)
		want = append(want, "acme:"+key)
		st.write("one", "acme", key)
		got = append(got, c.take(t, 1)...)
		st.expire()
	}
	for i := range got { // which are replays is told by an iterator, which had expired as well
		got[i] = strings.TrimSuffix(got[i], "*")
	}
	expect(t, "changes", want, got)
}

// TestFeed_Trimmed: what the stream has dropped is missed, and said to be.
func TestFeed_Trimmed(t *testing.T) {
	t.Parallel()
	s, st, log := openStream(t)
	st.open("one", "")
	st.open("two", "")
	st.write("one", "acme", "A1")
	st.write("two", "zeta", "Z1")
	c := consume(t, s)
	c.take(t, 2)
	c.stop()

	st.write("one", "acme", "A2", "A3", "A4")
	st.change("one", func(sh *testShard) { sh.trimmed = 3 })
	st.remove("two")
	c = consume(t, s)
	expect(t, "what is left", []string{"acme:A4*"}, c.take(t, 1))
	c.stop()
	if !strings.Contains(log.String(), "changes were lost") || !strings.Contains(log.String(), "shard=one") {
		t.Error("that changes were lost is not said")
	}
	if !strings.Contains(log.String(), "changes may have been lost") || !strings.Contains(log.String(), "shard=two") {
		t.Error("that a shard went away is not said")
	}
}

// TestFeed_Foreign: a record that this program did not write stops nothing.
func TestFeed_Foreign(t *testing.T) {
	t.Parallel()
	s, st, log := openStream(t)
	st.open("one", "")
	st.add("one", map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "elsewhere"}})
	st.add("one", map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: "C#acme"}, "sk": &types.AttributeValueMemberS{Value: "A0"}, "at": &types.AttributeValueMemberS{Value: "noon"},
	})
	st.write("one", "acme", "A1")
	expect(t, "changes", []string{"acme:A1*"}, consume(t, s).take(t, 1))
	if !strings.Contains(log.String(), "is left out") {
		t.Error("that a record is left out is not said")
	}
}

func TestConsume_Refused(t *testing.T) {
	t.Parallel()
	s, st, _ := openStream(t)
	st.open("one", "")
	nothing := func(_ context.Context, _ store.Batch, done func(error)) { done(nil) }
	if err := s.Consume(t.Context(), "nobody", nothing); err == nil {
		t.Error("a consumer that the feed was not opened with is accepted")
	}
	st.write("one", "acme", "A1")
	c := consume(t, s)
	c.take(t, 1)
	if err := s.Consume(t.Context(), "alpha", nothing); err == nil {
		t.Error("a name is consumed twice at a time")
	}
}

// TestFeed_FailedBefore: what was read together with a batch that failed waits until that has been handed over again.
func TestFeed_FailedBefore(t *testing.T) {
	t.Parallel()
	s, st, _ := openStream(t)
	st.open("one", "")
	for _, key := range []string{"A1", "A2"} {
		st.write("one", "acme", key)
	}
	// The first read comes when more has been written behind the end that the shard had at the beginning.
	var once sync.Once
	st.onRead = func(string) {
		once.Do(func() {
			st.mu.Unlock()
			st.write("one", "acme", "A3")
			st.mu.Lock()
		})
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var got []string
	err := s.Consume(ctx, "alpha", func(_ context.Context, b store.Batch, done func(error)) {
		got = append(got, strings.ReplaceAll(strings.Join(names(handed{Batch: b}), " "), "*", ""))
		switch len(got) {
		case 1:
			done(fmt.Errorf("not now"))
		case 3:
			done(nil)
			cancel()
		default:
			done(nil)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "batches", []string{"acme:A1 acme:A2", "acme:A1 acme:A2", "acme:A3"}, got)
}

// TestFeed_Unfinished: a position does not move over what was read together with what is finished.
func TestFeed_Unfinished(t *testing.T) {
	t.Parallel()
	s, st, _ := openStream(t)
	st.open("one", "")
	st.write("one", "acme", "A1")
	var once sync.Once
	st.onRead = func(string) { // so that one page holds a replay and another change
		once.Do(func() {
			st.mu.Unlock()
			st.write("one", "acme", "A2")
			st.mu.Lock()
		})
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	seen := 0
	err := s.Consume(ctx, "alpha", func(_ context.Context, _ store.Batch, done func(error)) {
		if seen++; seen == 1 {
			done(nil)
			return
		}
		cancel()
		done(ctx.Err())
	})
	if err != nil || seen != 2 {
		t.Fatalf("%d batches, %v; want 2", seen, err)
	}
	expect(t, "after another beginning", []string{"acme:A2*"}, consume(t, s).take(t, 1))
}

// TestFeed_Busy: a stream that answers nothing for a while is told once, and read on from where it was.
func TestFeed_Busy(t *testing.T) {
	t.Parallel()
	s, st, log := openStream(t)
	st.open("one", "")
	st.write("one", "acme", "A1")
	c := consume(t, s)
	expect(t, "before", []string{"acme:A1*"}, c.take(t, 1))
	st.mu.Lock()
	st.busy = 3
	st.mu.Unlock()
	st.write("one", "acme", "A2")
	expect(t, "after", []string{"acme:A2"}, c.take(t, 1))
	if !strings.Contains(log.String(), "the change stream cannot be read") {
		t.Error("that the stream cannot be read is not said")
	}
}

// TestFeed_Pace: a shard on which something is always new is read no more often than an idle one, for the stream allows few
// reads; all that is new comes with the next.
func TestFeed_Pace(t *testing.T) {
	t.Parallel()
	const poll, reads = 50 * time.Millisecond, 8
	st := &stream{}
	s := newStore(t, dynamostore.Options{Consumers: []string{"alpha"}, Stream: dynamostream.Of(st), Poll: poll})
	st.open("one", "")
	for i := range 3 * reads {
		st.write("one", "acme", fmt.Sprintf("A%02d", i))
	}
	st.onRead = func(string) {
		st.mu.Unlock()
		st.write("one", "acme", fmt.Sprintf("B%03d", st.reads))
		st.mu.Lock()
	}
	begun := time.Now()
	c := consume(t, s)
	c.take(t, 4*reads) // what was there, and one for each of reads
	st.mu.Lock()
	defer st.mu.Unlock()
	if took := time.Since(begun); took < (reads-2)*poll {
		t.Errorf("%d reads in %v, want one in %v", st.reads, took, poll)
	}
}
