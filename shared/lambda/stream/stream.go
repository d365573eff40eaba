// Package stream hands a table's stream, as Lambda delivers it, to the two that follow it.
//
// Lambda delivers a shard's records in order and, after a failure, again from the first record on that was reported. So the
// answer names one record, the first that is not finished; what came behind it and was finished is delivered once more,
// and has to be known by its reader.
package stream

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"

	"github.com/aws/aws-lambda-go/events"

	"orgops/shared/store"
	"orgops/shared/store/dynamostore"
)

// Event is what Lambda sends.
type Event = events.DynamoDBEvent

// Answer is what it takes.
type Answer = events.DynamoDBEventResponse

// entry is a change of the feed and the record that shows it.
type entry struct {
	change store.Change
	index  int // of the record in the event
}

// entries are the changes in an event. A record that is none of this program's is logged and passed over: it would be the
// same the next time.
func entries(ctx context.Context, e Event, logger *slog.Logger) []entry {
	var all []entry
	for i, r := range e.Records {
		change, ok, err := record(r).Change()
		switch {
		case err != nil:
			logger.ErrorContext(ctx, "a record of the stream is passed over", "error", err)
		case ok:
			all = append(all, entry{change, i})
		}
	}
	return all
}

func record(r events.DynamoDBEventRecord) dynamostore.Record {
	return dynamostore.Record{
		Sequence: r.Change.SequenceNumber, Created: r.Change.ApproximateCreationDateTime.Time,
		Old: texts(r.Change.OldImage), New: texts(r.Change.NewImage),
	}
}

// texts are an image's attributes as dynamostore.Record wants them.
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
		default: // this program's items have no others
		}
	}
	return out
}

// from asks for the records from index on to be delivered again; below 0, for none.
func from(e Event, index int) Answer {
	answer := Answer{BatchItemFailures: []events.DynamoDBBatchItemFailure{}}
	if index >= 0 {
		answer.BatchItemFailures = append(answer.BatchItemFailures,
			events.DynamoDBBatchItemFailure{ItemIdentifier: e.Records[index].Change.SequenceNumber})
	}
	return answer
}

const parallel = 8 // companies that are handled at the same time

// ByCompany hands each company's changes over as one batch, several companies at a time. One whose changes cannot be
// handled now does not keep the others from theirs.
func ByCompany(handle func(context.Context, store.Batch) error, logger *slog.Logger) func(context.Context, Event) (Answer, error) {
	return func(ctx context.Context, e Event) (Answer, error) {
		batches, firsts := map[string]*store.Batch{}, map[string]int{}
		for _, n := range entries(ctx, e, logger) {
			b := batches[n.change.Company]
			if b == nil {
				b = &store.Batch{Replay: true}
				batches[n.change.Company], firsts[n.change.Company] = b, n.index
			}
			b.Changes = append(b.Changes, n.change)
		}
		failed := first{index: -1}
		slots := make(chan struct{}, parallel)
		var working sync.WaitGroup
		for company, b := range batches {
			slots <- struct{}{}
			working.Go(func() {
				defer func() { <-slots }()
				if err := handled(ctx, handle, *b); err != nil {
					logger.WarnContext(ctx, "changes are delivered again", "company", company, "changes", len(b.Changes), "error", err)
					failed.at(firsts[company])
				}
			})
		}
		working.Wait()
		return from(e, failed.index), nil
	}
}

// handled is handle with a panic as an error: it runs beside the invocation, where nobody else recovers it.
func handled(ctx context.Context, handle func(context.Context, store.Batch) error, b store.Batch) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v: %s", v, debug.Stack())
		}
	}()
	return handle(ctx, b)
}

// first is the least index that something failed at; -1 when nothing did.
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
