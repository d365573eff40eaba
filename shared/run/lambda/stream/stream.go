// Package stream passes the records of the table's stream, as Lambda delivers them, to the projector and the dispatcher.
//
// At a parallelization factor of 1, Lambda delivers a shard's records in order, one batch at a time. At a higher factor it
// keeps the order of each item only. After a failure it redelivers all records from the first reported one on. So
// the answer names only the first unfinished record. Lambda also redelivers the finished records after it, and their
// consumer must recognise them.
package stream

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/aws/aws-lambda-go/events"

	"orgops/shared/domain/parked"
	"orgops/shared/storage/store"
	"orgops/shared/storage/store/dynamostore"
)

// Event holds the records that Lambda delivers, all of one shard. Lambda names the shard if the mapping has a tumbling window. At the end
// of each window it delivers an event that may have no records.
type Event struct {
	Records []events.DynamoDBEventRecord `json:"Records"`
	Shard   string                       `json:"shardId"`
}

// Answer names the record from which Lambda redelivers. An answer in a tumbling window must have a state.
type Answer struct {
	BatchItemFailures []events.DynamoDBBatchItemFailure `json:"batchItemFailures"`
	State             map[string]string                 `json:"state,omitempty"`
}

// entry holds a change of the feed and the index of its record.
type entry struct {
	change store.Change
	index  int // of the record in the event
}

// entries returns the changes in an event. It parks a record that cannot be decoded, because a redelivery would fail the same
// way. failed is the index of the first record that could not be parked, or -1; the records after it are not in the result.
func entries(ctx context.Context, e Event, lot parked.Lot) (all []entry, failed int) {
	for i, r := range e.Records {
		record := record(r)
		change, ok, err := record.Change()
		if err != nil {
			raw := parked.NewRecord(record.Sequence, record.Created, record.Old, record.New)
			if err := lot.ParkRecord(ctx, change, raw, err); err != nil {
				lot.Logger.WarnContext(ctx, "stream record not parked; it will be redelivered", "sequence", record.Sequence, "error", err)
				return all, i
			}
		}
		if change.Shard = e.Shard; ok {
			all = append(all, entry{change, i})
		}
	}
	return all, -1
}

func record(r events.DynamoDBEventRecord) dynamostore.Record {
	return dynamostore.Record{
		Sequence: r.Change.SequenceNumber, Created: r.Change.ApproximateCreationDateTime.Time,
		Old: texts(r.Change.OldImage), New: texts(r.Change.NewImage),
	}
}

// texts converts an image's attributes into the form of dynamostore.Record.
func texts(image map[string]events.DynamoDBAttributeValue) map[string]string {
	if len(image) == 0 {
		return nil
	}
	out := make(map[string]string, len(image))
	for name, v := range image {
		switch v.DataType() {
		case events.DataTypeString:
			out[name] = v.String()
		case events.DataTypeNumber:
			out[name] = v.Number()
		case events.DataTypeBinary:
			out[name] = string(v.Binary())
		case events.DataTypeBoolean:
			if v.Boolean() {
				out[name] = "true"
			}
		default: // the service's items have no other types
		}
	}
	return out
}

// from returns the answer that makes Lambda redeliver the records from index on. A negative index means none.
func from(e Event, index int) Answer {
	answer := Answer{BatchItemFailures: []events.DynamoDBBatchItemFailure{}}
	if e.Shard != "" {
		answer.State = map[string]string{"shard": e.Shard}
	}
	if index >= 0 {
		answer.BatchItemFailures = append(answer.BatchItemFailures,
			events.DynamoDBBatchItemFailure{ItemIdentifier: e.Records[index].Change.SequenceNumber})
	}
	return answer
}

const parallel = 8 // companies handled concurrently

// errNoShard refuses an event for a consumer that keeps a position in each shard.
var errNoShard = errors.New("the event does not name its shard; give the event source mapping a tumbling window")

// ByCompany delivers each company's changes in a shard as one batch, several companies concurrently. A company that fails does not
// delay the others.
func ByCompany(handle func(context.Context, store.Batch) error, lot parked.Lot) func(context.Context, Event) (Answer, error) {
	work := carefully(func(ctx context.Context, e Event) result {
		batches, firsts := map[string]*store.Batch{}, map[string]int{}
		var companies []string // in the order of their first changes, so that the oldest change does not wait
		all, unparked := entries(ctx, e, lot)
		for _, n := range all {
			b := batches[n.change.Company]
			if b == nil {
				b = &store.Batch{Replay: true}
				batches[n.change.Company], firsts[n.change.Company] = b, n.index
				companies = append(companies, n.change.Company)
			}
			b.Changes = append(b.Changes, n.change)
		}
		failed := first{index: unparked}
		slots := make(chan struct{}, parallel)
		var working sync.WaitGroup
		for _, company := range companies {
			b := batches[company]
			slots <- struct{}{}
			working.Go(func() {
				defer func() { <-slots }()
				if err := handled(ctx, handle, *b, lot); err != nil {
					lot.Logger.WarnContext(ctx, "changes failed; they will be redelivered", "company", company, "changes", len(b.Changes), "error", err)
					failed.at(firsts[company])
				}
			})
		}
		working.Wait()
		return result{failed: failed.index}
	}, lot)
	return func(ctx context.Context, e Event) (Answer, error) {
		if e.Shard == "" {
			return Answer{}, errNoShard
		}
		return work(ctx, e)
	}
}

// handled calls handle. If it panics, handled passes it the changes one by one, and parks each with which it panics again.
func handled(ctx context.Context, handle func(context.Context, store.Batch) error, b store.Batch, lot parked.Lot) error {
	err := guarded(ctx, handle, b)
	switch {
	case !errors.Is(err, errPanic):
		return err
	case len(b.Changes) == 1:
		return lot.Park(ctx, b.Changes[0], err)
	}
	for _, c := range b.Changes {
		if err := handled(ctx, handle, store.Batch{Changes: []store.Change{c}, Replay: true}, lot); err != nil {
			return err
		}
	}
	return nil
}

// guarded calls handle and returns a panic as an error, because Guard does not cover this goroutine.
func guarded(ctx context.Context, handle func(context.Context, store.Batch) error, b store.Batch) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = panicked(v)
		}
	}()
	return handle(ctx, b)
}

var errPanic = errors.New("panic")

// panicked returns the error of a recovered panic.
func panicked(v any) error { return fmt.Errorf("%w: %v: %s", errPanic, v, debug.Stack()) }

// first keeps the lowest failed index, or -1 without a failure.
type first struct {
	mu    sync.Mutex
	index int
}

func (f *first) at(index int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.index < 0 || index < f.index {
		f.index = index
	}
}
