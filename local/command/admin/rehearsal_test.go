package admin_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"orgops/functions/dispatcher"
	"orgops/shared/domain/parked"
	"orgops/shared/run/lambda/stream"
	"orgops/shared/storage/queue/sqsqueue"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/awstest"
	"orgops/shared/testkit/errtest"
	"orgops/shared/webhook/courier"
)

// TestStream_Rehearsal follows the runbook: a reader fails until Lambda discards a change, the operator repairs it and replays
// the change from the stream, and the reader takes it back.
func TestStream_Rehearsal(t *testing.T) {
	t.Parallel()
	e, main := deployed(t)
	access, acme := awstest.Access(t, dynamo, sqs), store.For(main, "acme")
	errtest.Must(t, acme.Commit(t.Context(), acme.Create("MEMORY#1", "memory", map[string]string{"title": "Hiring"})))
	arn, shard, number := lastRecord(t, access, t.Name())

	lot := parked.Lot{Store: main, Consumer: dispatcher.Consumer, Logger: slog.New(slog.DiscardHandler), Now: time.Now}
	broken := stream.ByCompany(func(context.Context, store.Batch) error { return errors.New("a setting is missing") }, lot)
	record := events.DynamoDBEventRecord{Change: events.DynamoDBStreamRecord{
		SequenceNumber: number, ApproximateCreationDateTime: events.SecondsEpochTime{Time: time.Now().Add(-11 * time.Hour)},
		NewImage: map[string]events.DynamoDBAttributeValue{
			"pk": events.NewStringAttribute("C#acme"), "sk": events.NewStringAttribute("MEMORY#1"), "entity": events.NewStringAttribute("memory"),
			"version": events.NewNumberAttribute("1"), "at": events.NewNumberAttribute("1"), "body": events.NewStringAttribute("{}"),
		},
	}}
	for range 5 { // of the tries of 12 hours
		answer, err := broken(t.Context(), stream.Event{Records: []events.DynamoDBEventRecord{record}, Shard: shard})
		errtest.Must(t, err)
		if len(answer.BatchItemFailures) != 1 {
			t.Fatalf("answer %+v, want the change to be redelivered: a reader that fails parks nothing", answer)
		}
	}

	url, _, err := sqsqueue.CreatePair(t.Context(), access, strings.ToLower(t.Name()))
	errtest.Must(t, err)
	failed := sqsqueue.New(access, sqsqueue.Options{URL: url})
	errtest.Must(t, failed.Send(t.Context(), message("dispatcher", arn, shard, number)))
	if _, _, err := e.with("ORGOPS_FAILED_CHANGES="+url).run(t, "stream", "replay", "--failed"); err != nil {
		t.Fatal(err)
	}
	page, err := acme.Query(t.Context(), store.Query{Prefix: parked.Prefix})
	errtest.Must(t, err)
	if len(page.Items) != 1 {
		t.Fatalf("%d changes were given back, want 1", len(page.Items))
	}

	d := dispatcher.New(dispatcher.Deps{
		Store: main, Courier: courier.New(courier.Deps{Store: main, Logger: lot.Logger, Now: time.Now, Separate: true}), Logger: lot.Logger, Now: time.Now,
	})
	taken := make(chan error, 1)
	given := store.Change{Sequence: "9", Company: "acme", Key: page.Items[0].Key, Entity: parked.Entity, New: &store.Image{Version: page.Items[0].Version, Body: page.Items[0].Body}}
	d.Handle(t.Context(), store.Batch{Changes: []store.Change{given}, Replay: true}, func(err error) { taken <- err })
	errtest.Must(t, <-taken)
	if _, err := acme.Get(t.Context(), page.Items[0].Key, nil); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the change after the dispatcher took it back: err = %v, want %v", err, store.ErrNotFound)
	}
}
