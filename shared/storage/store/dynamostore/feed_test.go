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

	"orgops/shared/storage/store"
	"orgops/shared/storage/store/dynamostore"
	"orgops/shared/storage/store/dynamostream"
	"orgops/shared/testkit/logtest"
)

const patience = 20 * time.Second

// handed pairs a batch with its done.
type handed struct {
	store.Batch
	done func(error)
}

// consumption runs a Consume whose batches a test takes one by one.
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
		t.Fatal("no batch received")
	}
	return handed{}
}

// take finishes batches until it has n changes, and returns them as company:key, with a * for a replay.
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

func openStream(t *testing.T, change ...func(*dynamostore.Options)) (*dynamostore.Store, *stream, *logtest.Log) {
	t.Helper()
	st, l := &stream{}, &logtest.Log{}
	o := dynamostore.Options{Consumers: []string{"alpha"}, Stream: dynamostream.Of(st), Poll: 5 * time.Millisecond, Logger: slog.New(slog.NewTextHandler(l, nil))}
	for _, set := range change {
		set(&o)
	}
	return newStore(t, o), st, l
}

// logged expects the log to contain each of the texts.
func logged(t *testing.T, log *logtest.Log, texts ...string) {
	t.Helper()
	for _, want := range texts {
		if got := log.String(); !strings.Contains(got, want) {
			t.Errorf("log %q, want %q in it", got, want)
		}
	}
}

// TestFeed_TwoShards checks that shards proceed independently, each with its own position.
func TestFeed_TwoShards(t *testing.T) {
	t.Parallel()
	s, st, _ := openStream(t)
	st.open("one", "")
	st.open("two", "")
	st.write("one", "acme", "A1", "A2")
	st.write("two", "zeta", "Z1", "Z2")
	c := consume(t, s)
	first, second := c.next(t), c.next(t)
	expect(t, "first shard", []string{"acme:A1*", "acme:A2*"}, names(first))
	expect(t, "second shard, while the first is unfinished", []string{"zeta:Z1*", "zeta:Z2*"}, names(second))
	second.done(nil)
	st.write("two", "zeta", "Z3")
	expect(t, "written after the start", []string{"zeta:Z3"}, c.take(t, 1))
	first.done(fmt.Errorf("not now"))
	c.stop()

	c = consume(t, s)
	expect(t, "after a restart", []string{"acme:A1*", "acme:A2*"}, c.take(t, 2))
	st.write("one", "acme", "A3")
	expect(t, "then", []string{"acme:A3"}, c.take(t, 1))
}

// TestFeed_Split checks that child shards are read once all of their parent is finished, and not before.
func TestFeed_Split(t *testing.T) {
	t.Parallel()
	s, st, _ := openStream(t)
	st.open("parent", "")
	st.open("side", "")
	st.write("parent", "acme", "A1")
	c := consume(t, s)
	expect(t, "parent", []string{"acme:A1*"}, c.take(t, 1))

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
	expect(t, "last of the parent", []string{"acme:A2"}, names(last))
	turns := 0 // after which the children must be known: the list of shards takes three requests, one per page
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
		t.Error("child read before its parent was finished")
	}
	// zeta's change may come before, between or after those of acme, which keep their order.
	slices.SortStableFunc(got, func(a, b string) int { return strings.Compare(a[:4], b[:4]) })
	expect(t, "children", []string{"acme:A3", "acme:A4", "zeta:Z1"}, got)
	c.stop()

	st.write("leaf", "acme", "A5")
	expect(t, "after a restart, only new changes", []string{"acme:A5*"}, consume(t, s).take(t, 1))
}

// TestFeed_ExpiredIterator checks that an expired iterator is replaced without repeating or skipping a change.
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
	for i := range got { // replays are told apart by an iterator, which expired too
		got[i] = strings.TrimSuffix(got[i], "*")
	}
	expect(t, "changes", want, got)
}

// TestFeed_Trimmed checks that changes trimmed from the stream are skipped and logged.
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
	expect(t, "remaining changes", []string{"acme:A4*"}, c.take(t, 1))
	c.stop()
	logged(t, log, "changes were lost", "shard=one", "changes may have been lost", "shard=two")
}

// TestFeed_Foreign checks that a record of another program is skipped and logged.
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
	logged(t, log, "invalid record of the change stream skipped")
}

// TestFeed_Invalid checks that Invalid gets each record that gives no change, and that the record is read again until Invalid
// takes it.
func TestFeed_Invalid(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var tries []string
	s, st, _ := openStream(t, func(o *dynamostore.Options) {
		o.Invalid = func(_ context.Context, consumer string, r dynamostore.Record, c store.Change, _ error) error {
			mu.Lock()
			defer mu.Unlock()
			tries = append(tries, consumer+" "+c.Company+" "+c.Key+" "+r.New["at"])
			if len(tries) == 1 {
				return store.ErrUnavailable
			}
			return nil
		}
	})
	st.open("one", "")
	st.write("one", "acme", "A1")
	st.add("one", map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: "C#acme"}, "sk": &types.AttributeValueMemberS{Value: "A2"}, "at": &types.AttributeValueMemberS{Value: "noon"},
	})
	st.write("one", "acme", "A3")
	expect(t, "changes", []string{"acme:A1*", "acme:A3*"}, consume(t, s).take(t, 2))
	mu.Lock()
	defer mu.Unlock()
	expect(t, "invalid records", []string{"alpha acme A2 noon", "alpha acme A2 noon"}, tries)
}

func TestStore_ConsumeRefused(t *testing.T) {
	t.Parallel()
	s, st, _ := openStream(t)
	st.open("one", "")
	nothing := func(_ context.Context, _ store.Batch, done func(error)) { done(nil) }
	if err := s.Consume(t.Context(), "stranger", nothing); err == nil {
		t.Error("unknown consumer accepted")
	}
	st.write("one", "acme", "A1")
	c := consume(t, s)
	c.take(t, 1)
	if err := s.Consume(t.Context(), "alpha", nothing); err == nil {
		t.Error("second Consume under the same name accepted")
	}
}

// TestFeed_FailedBefore checks that a batch waits while one read together with it, and before it, waits for its retry.
func TestFeed_FailedBefore(t *testing.T) {
	t.Parallel()
	s, st, _ := openStream(t)
	st.open("one", "")
	for _, key := range []string{"A1", "A2"} {
		st.write("one", "acme", key)
	}
	// The first read happens after another write, past the end that the shard had at the start.
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

// TestFeed_Unfinished checks that the position does not pass an unfinished batch read together with a finished one.
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
	if err != nil {
		t.Fatal(err)
	}
	if seen != 2 {
		t.Fatalf("%d batches, want 2", seen)
	}
	expect(t, "after a restart", []string{"acme:A2*"}, consume(t, s).take(t, 1))
}

// TestFeed_Busy checks that reading resumes after a stream was unavailable for a while, and that this is logged.
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
	logged(t, log, "change stream not readable")
}

// TestFeed_Pace checks that a busy shard is read no more often than an idle one, because the stream allows few reads, and
// that the next read returns everything new.
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
	c.take(t, 4*reads) // the initial changes, and one per read
	st.mu.Lock()
	defer st.mu.Unlock()
	if took := time.Since(begun); took < (reads-2)*poll {
		t.Errorf("%d reads in %v, want one per %v", st.reads, took, poll)
	}
}
