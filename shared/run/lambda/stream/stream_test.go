package stream_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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
	"orgops/shared/testkit/webtest"
	"orgops/shared/testkit/worktest"
)

// event returns an event with one record for each company; its sequence number is its position.
func event(companies ...string) stream.Event {
	e := stream.Event{Shard: "shard"}
	for i, company := range companies {
		e.Records = append(e.Records, events.DynamoDBEventRecord{Change: events.DynamoDBStreamRecord{
			SequenceNumber:              strconv.Itoa(i),
			ApproximateCreationDateTime: events.SecondsEpochTime{Time: time.Unix(1_771_840_800, 0)},
			NewImage: map[string]events.DynamoDBAttributeValue{
				"pk": events.NewStringAttribute("C#" + company), "sk": events.NewStringAttribute("MEMORY#" + strconv.Itoa(i)),
				"entity": events.NewStringAttribute("memory"), "version": events.NewNumberAttribute("1"), "at": events.NewNumberAttribute("1771840800001"),
				"body": events.NewStringAttribute("{}"),
			},
		}})
	}
	return e
}

// first returns the record from which an answer requests redelivery, or "".
func first(t *testing.T, a stream.Answer, err error) string {
	t.Helper()
	errtest.Must(t, err)
	switch len(a.BatchItemFailures) {
	case 0:
		return ""
	case 1:
		return a.BatchItemFailures[0].ItemIdentifier
	}
	t.Fatalf("redelivery from %+v, want one record at most", a.BatchItemFailures)
	return ""
}

// consumer returns a consumer that handles changes with do.
func consumer(do func(c store.Change, done func(error))) func(context.Context, store.Feed) error {
	return func(ctx context.Context, f store.Feed) error {
		return f.Consume(ctx, "test", func(_ context.Context, b store.Batch, done func(error)) { do(b.Changes[0], done) })
	}
}

// quiet returns a lot on a store of its own.
func quiet(t *testing.T) parked.Lot {
	t.Helper()
	return parked.Lot{Store: webtest.OpenStore(t), Consumer: "test", Logger: slog.New(slog.DiscardHandler), Now: time.Now}
}

func TestRun(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		do   func(c store.Change, done func(error))
		want string
	}{
		{"all succeed", func(_ store.Change, done func(error)) { done(nil) }, ""},
		{"asynchronously", func(_ store.Change, done func(error)) { go done(nil) }, ""},
		{"some fail", func(c store.Change, done func(error)) {
			if c.Key == "MEMORY#7" || c.Key == "MEMORY#5" {
				done(errors.New("no"))
				return
			}
			done(nil)
		}, "5"},
		{"one panics", func(c store.Change, done func(error)) {
			if c.Key == "MEMORY#3" {
				panic("boom")
			}
			done(nil)
		}, ""},
		{"a panic after done", func(_ store.Change, done func(error)) {
			done(nil)
			panic("boom")
		}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			answer, err := stream.Run(consumer(tt.do), quiet(t))(t.Context(), event("a", "a", "a", "a", "b", "b", "b", "b", "b"))
			if got := first(t, answer, err); got != tt.want {
				t.Errorf("redelivery from %q, want %q", got, tt.want)
			}
		})
	}
}

// TestRun_AtOnce checks that a change that waits does not delay the others, up to a bound.
func TestRun_AtOnce(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	under, most := 0, 0
	enough := make(chan struct{})
	do := func(_ store.Change, done func(error)) {
		mu.Lock()
		under++
		if most = max(most, under); under == 16 {
			close(enough)
		}
		mu.Unlock()
		<-enough
		mu.Lock()
		under--
		mu.Unlock()
		done(nil)
	}
	companies := make([]string, 16)
	for i := range companies {
		companies[i] = fmt.Sprint(i % 3)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	answer, err := stream.Run(consumer(do), quiet(t))(ctx, event(companies...))
	if got := first(t, answer, err); got != "" {
		t.Errorf("redelivery from %q, want none", got)
	}
	if most != 16 {
		t.Errorf("%d changes at once, want 16", most)
	}
}

// TestRun_End requests redelivery of the changes without an outcome at the deadline, from the first of their records.
func TestRun_End(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	do := func(c store.Change, done func(error)) {
		if c.Key == "MEMORY#2" {
			cancel()
			return
		}
		done(nil)
	}
	answer, err := stream.Run(consumer(do), quiet(t))(ctx, event("a", "a", "a"))
	if got := first(t, answer, err); got == "" {
		t.Error("no redelivery requested")
	}
}

func TestByCompany(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	seen := map[string]int{}
	handle := func(_ context.Context, b store.Batch) error {
		mu.Lock()
		defer mu.Unlock()
		company := b.Changes[0].Company
		seen[company] += len(b.Changes)
		if company == "b" {
			return errors.New("not now")
		}
		return nil
	}
	answer, err := stream.ByCompany(handle, quiet(t))(t.Context(), event("a", "c", "b", "a", "b", "c"))
	if got := first(t, answer, err); got != "2" {
		t.Errorf("redelivery from %q, want 2", got)
	}
	if diff := cmp.Diff(map[string]int{"a": 2, "b": 2, "c": 2}, seen); diff != "" {
		t.Errorf("changes by company (-want +got):\n%s", diff)
	}
}

// invalid returns an event whose second and third record cannot be decoded.
func invalid() stream.Event {
	e := event("a", "b", "b", "c")
	e.Records[1].Change.NewImage["version"] = events.NewStringAttribute("one")
	e.Records[2].Change.NewImage["at"] = events.NewStringAttribute("noon")
	return e
}

// TestInvalid parks the records that cannot be decoded. If they cannot be parked, they are redelivered.
func TestInvalid(t *testing.T) {
	t.Parallel()
	for name, serve := range map[string]func(func(company string), parked.Lot) func(context.Context, stream.Event) (stream.Answer, error){
		"Run": func(see func(string), lot parked.Lot) func(context.Context, stream.Event) (stream.Answer, error) {
			return stream.Run(consumer(func(c store.Change, done func(error)) { see(c.Company); done(nil) }), lot)
		},
		"ByCompany": func(see func(string), lot parked.Lot) func(context.Context, stream.Event) (stream.Answer, error) {
			return stream.ByCompany(func(_ context.Context, b store.Batch) error { see(b.Changes[0].Company); return nil }, lot)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			seen := map[string]int{}
			lot := quiet(t)
			lot.Now = func() time.Time { return time.Unix(1_771_840_800, 0) }
			faulty := &worktest.Store{Store: lot.Store}
			lot.Store = faulty
			handle := serve(func(company string) {
				mu.Lock()
				defer mu.Unlock()
				seen[company]++
			}, lot)

			faulty.Before(func([]store.Op) error { return store.ErrUnavailable })
			answer, err := handle(t.Context(), invalid())
			if got := first(t, answer, err); got != "1" {
				t.Errorf("without a store: redelivery from %q, want 1", got)
			}
			faulty.Before(nil)
			answer, err = handle(t.Context(), invalid())
			if got := first(t, answer, err); got != "" {
				t.Errorf("redelivery from %q, want none", got)
			}
			if diff := cmp.Diff(map[string]int{"a": 2, "c": 1}, seen); diff != "" {
				t.Errorf("changes by company (-want +got):\n%s", diff)
			}
			page, err := store.For(lot.Store, "b").Query(t.Context(), store.Query{Prefix: parked.Prefix})
			errtest.Must(t, err)
			if len(page.Items) != 2 {
				t.Errorf("%d parked records, want 2", len(page.Items))
			}
		})
	}
}

// TestPanic parks the change whose handling panics, and finishes the others.
func TestPanic(t *testing.T) {
	t.Parallel()
	odd := func(c store.Change) {
		if c.Key == "MEMORY#1" {
			panic("boom")
		}
	}
	for name, serve := range map[string]func(parked.Lot) func(context.Context, stream.Event) (stream.Answer, error){
		"Run": func(lot parked.Lot) func(context.Context, stream.Event) (stream.Answer, error) {
			return stream.Run(consumer(func(c store.Change, done func(error)) { odd(c); done(nil) }), lot)
		},
		"ByCompany": func(lot parked.Lot) func(context.Context, stream.Event) (stream.Answer, error) {
			return stream.ByCompany(func(_ context.Context, b store.Batch) error {
				for _, c := range b.Changes {
					odd(c)
				}
				return nil
			}, lot)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lot := quiet(t)
			answer, err := serve(lot)(t.Context(), event("a", "a", "a"))
			if got := first(t, answer, err); got != "" {
				t.Errorf("redelivery from %q, want none", got)
			}
			page, err := store.For(lot.Store, "a").Query(t.Context(), store.Query{Prefix: parked.Prefix})
			errtest.Must(t, err)
			if len(page.Items) != 1 {
				t.Fatalf("%d parked changes, want 1", len(page.Items))
			}
			p, err := parked.Decode(page.Items[0].Body)
			errtest.Must(t, err)
			if p.Key != "MEMORY#1" {
				t.Errorf("parked %s, want MEMORY#1", p.Key)
			}
		})
	}
}

// TestByCompany_Window answers each event of a tumbling window with a state, also the one at its end without records, and refuses an
// event that does not name its shard.
func TestByCompany_Window(t *testing.T) {
	t.Parallel()
	shards := make(chan string, 2)
	handle := stream.ByCompany(func(_ context.Context, b store.Batch) error {
		shards <- b.Changes[0].Shard
		return nil
	}, quiet(t))
	for _, e := range []stream.Event{event("a"), {Shard: "shard"}} {
		answer, err := handle(t.Context(), e)
		errtest.Must(t, err)
		if answer.State == nil {
			t.Errorf("%d records: no state", len(e.Records))
		}
	}
	if shard := <-shards; shard != "shard" {
		t.Errorf("the change came by shard %q, want the event's", shard)
	}
	nameless := event("a")
	nameless.Shard = ""
	if _, err := handle(t.Context(), nameless); err == nil {
		t.Error("an event without a shard was handled, want an error")
	}
}
