package stream_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/parked"
	"orgops/shared/run/lambda/stream"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
)

// function starts a process of a consumer that handles each change with do. do may not return: then the process is over.
type function func(lot parked.Lot, do func(store.Change) error) func(context.Context, stream.Event) (stream.Answer, error)

// functions returns the two kinds of consumers.
func functions() map[string]function {
	return map[string]function{
		"Run": func(lot parked.Lot, do func(store.Change) error) func(context.Context, stream.Event) (stream.Answer, error) {
			return stream.Run(consumer(func(c store.Change, done func(error)) { done(do(c)) }), lot)
		},
		"ByCompany": func(lot parked.Lot, do func(store.Change) error) func(context.Context, stream.Event) (stream.Answer, error) {
			return stream.ByCompany(func(_ context.Context, b store.Batch) error {
				for _, c := range b.Changes {
					if err := do(c); err != nil {
						return err
					}
				}
				return nil
			}, lot)
		},
	}
}

// shard hands an event to a consumer as Lambda does: again after the death of a process, and from the first failed record on
// after an answer.
type shard struct {
	lot    parked.Lot
	start  function
	deadly map[string]bool
	fails  map[string]int // how often a change fails yet

	mu      sync.Mutex
	handled map[string]bool
	deaths  int
	passed  time.Duration // since the first invocation
}

// later returns a lot whose clock is ahead.
func later(lot parked.Lot, by time.Duration) parked.Lot {
	now := lot.Now
	lot.Now = func() time.Time { return now().Add(by) }
	return lot
}

// run returns how many invocations it took to handle the event, at most 40.
func (s *shard) run(t *testing.T, e stream.Event) int {
	t.Helper()
	for n := range 40 {
		left, lived := s.invoke(t, e)
		s.passed += time.Minute
		switch {
		case !lived:
			s.deaths++
		case left == "":
			return n + 1
		default:
			i := slices.IndexFunc(e.Records, func(r events.DynamoDBEventRecord) bool { return r.Change.SequenceNumber == left })
			e.Records = e.Records[i:]
		}
	}
	t.Fatalf("%d records are left after 40 invocations", len(e.Records))
	return 0
}

// invoke runs one invocation. It has not lived if a change ended its process.
func (s *shard) invoke(t *testing.T, e stream.Event) (left string, lived bool) {
	died, end := make(chan struct{}, 100), make(chan struct{})
	t.Cleanup(func() { close(end) })
	handle := s.start(later(s.lot, s.passed), func(c store.Change) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.deadly[c.Key] {
			died <- struct{}{}
			s.mu.Unlock()
			<-end
			s.mu.Lock()
			return nil
		}
		if s.fails[c.Key] > 0 {
			s.fails[c.Key]--
			return errors.New("not now")
		}
		s.handled[c.Key] = true
		return nil
	})
	answered := make(chan string, 1)
	go func() {
		answer, err := handle(context.Background(), e)
		answered <- first(t, answer, err)
	}()
	select {
	case <-died:
		return "", false
	case left := <-answered:
		return left, true
	}
}

func parkedKeys(t *testing.T, s store.Store, company string) (keys []string) {
	t.Helper()
	page, err := store.For(s, company).Query(t.Context(), store.Query{Prefix: parked.Prefix})
	errtest.Must(t, err)
	for _, item := range page.Items {
		p, err := parked.Decode(item.Body)
		errtest.Must(t, err)
		if _, err := p.Original(company); err != nil {
			t.Errorf("parked %s gives no change to replay: %v", p.Key, err)
		}
		keys = append(keys, p.Key)
	}
	return keys
}

// written counts the writes of a store.
type written struct {
	store.Store
	mu sync.Mutex
	n  int
}

func (w *written) Commit(ctx context.Context, ops ...store.Op) error {
	w.mu.Lock()
	w.n++
	w.mu.Unlock()
	return w.Store.Commit(ctx, ops...)
}

// TestLost parks the changes that end the process, and handles all others.
func TestLost(t *testing.T) {
	t.Parallel()
	for name, start := range functions() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lot := quiet(t)
			s := &shard{lot: lot, start: start, handled: map[string]bool{}, deadly: map[string]bool{"MEMORY#2": true, "MEMORY#4": true, "MEMORY#6": true}}
			s.run(t, event("a", "a", "a", "b", "a", "b", "a"))
			if diff := cmp.Diff(map[string]bool{"MEMORY#0": true, "MEMORY#1": true, "MEMORY#3": true, "MEMORY#5": true}, s.handled); diff != "" {
				t.Errorf("handled changes (-want +got):\n%s", diff)
			}
			got := parkedKeys(t, lot.Store, "a")
			slices.Sort(got)
			if diff := cmp.Diff([]string{"MEMORY#2", "MEMORY#4", "MEMORY#6"}, got); diff != "" {
				t.Errorf("parked changes (-want +got):\n%s", diff)
			}
			if want := 1 + 3*parked.MaxLost; s.deaths != want {
				t.Errorf("%d processes ended, want %d: one with all changes, and each change alone %d times", s.deaths, want, parked.MaxLost)
			}
		})
	}
}

// TestLost_Fails parks no change that fails as long as an outage takes, and handles it then.
func TestLost_Fails(t *testing.T) {
	t.Parallel()
	for name, start := range functions() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lot := quiet(t)
			s := &shard{lot: lot, start: start, handled: map[string]bool{}, fails: map[string]int{"MEMORY#0": 7, "MEMORY#2": 7}}
			s.run(t, event("a", "a", "b"))
			if len(s.handled) != 3 {
				t.Errorf("handled %v, want 3 changes", s.handled)
			}
			if got := slices.Concat(parkedKeys(t, lot.Store, "a"), parkedKeys(t, lot.Store, "b")); len(got) > 0 {
				t.Errorf("parked %v, want nothing", got)
			}
		})
	}
}

// TestLost_GivenBack does not park a parked change again that an operator has given back, and that ends the process again.
func TestLost_GivenBack(t *testing.T) {
	t.Parallel()
	lot := quiet(t)
	e := event("a")
	e.Records[0].Change.NewImage["entity"] = events.NewStringAttribute(parked.Entity)
	e.Records[0].Change.NewImage["sk"] = events.NewStringAttribute(parked.Key("1"))
	s := &shard{lot: lot, start: functions()["Run"], handled: map[string]bool{}, deadly: map[string]bool{parked.Key("1"): true}}
	s.run(t, e)
	if got := parkedKeys(t, lot.Store, "a"); len(got) > 0 {
		t.Errorf("parked %v, want nothing next to the item that the operator sees", got)
	}
}

// TestLost_Young stores no trial of changes that no earlier process can have begun.
func TestLost_Young(t *testing.T) {
	t.Parallel()
	for name, start := range functions() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lot := quiet(t)
			counted := &written{Store: lot.Store}
			lot.Store = counted
			for age, want := range map[time.Duration]int{59 * time.Second: 0, time.Minute: 1} {
				lot.Now = func() time.Time { return time.Unix(1_771_840_800, 0).Add(age) }
				s := &shard{lot: lot, start: start, handled: map[string]bool{}}
				if n := s.run(t, event("a", "b", "a")); n != 1 {
					t.Errorf("%d invocations, want 1", n)
				}
				if counted.n != want {
					t.Errorf("%d writes for changes that are %v old, want %d", counted.n, age, want)
				}
				counted.n = 0
			}
		})
	}
}

// TestLost_NoEnd parks a change whose work has no end, although the process answers in time.
func TestLost_NoEnd(t *testing.T) {
	t.Parallel()
	lot := quiet(t)
	do := func(c store.Change, done func(error)) {
		if c.Key != "MEMORY#1" {
			done(nil)
		}
	}
	e := event("a", "a", "a")
	for n := 0; len(e.Records) > 0; n++ {
		if n == 10 {
			t.Fatal("the change is not parked after 10 invocations")
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		answer, err := stream.Run(consumer(do), later(lot, time.Duration(n)*time.Minute))(ctx, e)
		cancel()
		left := first(t, answer, err)
		if left == "" {
			break
		}
		from, err := strconv.Atoi(left)
		errtest.Must(t, err)
		e = event("a", "a", "a")
		e.Records = e.Records[from:]
	}
	if diff := cmp.Diff([]string{"MEMORY#1"}, parkedKeys(t, lot.Store, "a")); diff != "" {
		t.Errorf("parked changes (-want +got):\n%s", diff)
	}
}
