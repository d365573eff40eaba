package admin_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/shared/base/awsclient"
	"orgops/shared/domain/parked"
	"orgops/shared/storage/queue"
	"orgops/shared/storage/queue/sqsqueue"
	"orgops/shared/storage/store"
	"orgops/shared/storage/store/dynamostore"
	"orgops/shared/storage/store/dynamostream"
	"orgops/shared/testkit/awstest"
	"orgops/shared/testkit/errtest"
)

// spy notes the name of the stream that a store reads.
type spy struct {
	dynamostream.Stream
	arn chan string
}

// Shards implements dynamostore.Stream.
func (s spy) Shards(ctx context.Context, arn string) ([]dynamostore.Shard, error) {
	select {
	case s.arn <- arn:
	default:
	}
	return s.Stream.Shards(ctx, arn)
}

// lastRecord returns the last record of a table's stream, and its shard.
func lastRecord(t *testing.T, access awsclient.Access, table string) (arn, shard, number string) {
	t.Helper()
	s := spy{dynamostream.New(access), make(chan string, 1)}
	ctx, stop := context.WithCancel(t.Context())
	reader := dynamostore.New(access, dynamostore.Options{Table: table, Stream: s, Consumers: []string{"test"}, Logger: slog.New(slog.DiscardHandler)})
	ended := make(chan error, 1)
	go func() {
		ended <- reader.Consume(ctx, "test", func(_ context.Context, _ store.Batch, done func(error)) { done(nil) })
	}()
	arn = <-s.arn
	stop()
	errtest.Must(t, <-ended)
	shards, err := s.Stream.Shards(t.Context(), arn)
	errtest.Must(t, err)
	for _, sh := range shards {
		iterator, err := s.Iterator(t.Context(), arn, sh.ID, dynamostore.Oldest, "")
		errtest.Must(t, err)
		records, _, err := s.Read(t.Context(), iterator, 1000)
		errtest.Must(t, err)
		if len(records) > 0 {
			shard, number = sh.ID, records[len(records)-1].Sequence
		}
	}
	return arn, shard, number
}

// message returns the message that Lambda sends about a discarded record.
func message(function, arn, shard, number string) queue.Message {
	return queue.Message{Body: fmt.Appendf(nil, `{"requestContext": {"requestId": "316aa6d0", "functionArn": "arn:aws:lambda:eu-central-1:111122223333:function:Orgops-Events%sFunction1A2B-x:$LATEST",
		"condition": "RetryAttemptsExhausted", "approximateInvokeCount": 1}, "version": "1.0", "timestamp": "2026-05-01T12:00:00.000Z",
		"DDBStreamBatchInfo": {"shardId": %q, "startSequenceNumber": %q, "endSequenceNumber": %q, "batchSize": 1, "streamArn": %q}}`,
		function, shard, number, number, arn)}
}

type replayLine struct {
	Consumer, Shard, Error, Remedy string
	GivenBack                      int
	Rebuild                        []string
}

// TestStream_Replay gives the records that Lambda discarded back to the dispatcher, and names the companies whose context lacks
// them. It leaves the message about records that are gone.
func TestStream_Replay(t *testing.T) {
	t.Parallel()
	e, main := deployed(t)
	access := awstest.Access(t, dynamo, sqs)
	acme := store.For(main, "acme")
	errtest.Must(t, acme.Commit(t.Context(), acme.Create("MEMORY#1", "memory", map[string]int{"n": 1})))
	arn, shard, number := lastRecord(t, access, t.Name())

	replay := func(e environment, args ...string) (map[string]replayLine, error) {
		t.Helper()
		out, _, err := e.run(t, append([]string{"stream", "replay"}, args...)...)
		byShard := map[string]replayLine{}
		for _, line := range lines[replayLine](t, out) {
			byShard[line.Consumer+" "+line.Shard] = line
		}
		return byShard, err
	}
	got, err := replay(e, "--shard", shard, "--from", number, "--to", number)
	errtest.Must(t, err)
	want := map[string]replayLine{"dispatcher " + shard: {Consumer: "dispatcher", Shard: shard, GivenBack: 1}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines differ (-want +got):\n%s", diff)
	}
	page, err := acme.Query(t.Context(), store.Query{Prefix: parked.Prefix})
	errtest.Must(t, err)
	if len(page.Items) != 1 {
		t.Fatalf("%d parked changes, want 1", len(page.Items))
	}
	p, err := parked.Decode(page.Items[0].Body)
	errtest.Must(t, err)
	original, err := p.Original("acme")
	errtest.Must(t, err)
	if got, want := string(original.New.Body), `{"n":1}`; got != want {
		t.Errorf("body %s, want %s", got, want)
	}

	url, _, err := sqsqueue.CreatePair(t.Context(), access, strings.ToLower(t.Name()))
	errtest.Must(t, err)
	failed := sqsqueue.New(access, sqsqueue.Options{URL: url})
	errtest.Must(t, failed.Send(t.Context(), message("projector", arn, shard, number), message("dispatcher", arn, "shardId-gone", number)))
	got, err = replay(e.with("ORGOPS_FAILED_CHANGES="+url), "--failed")
	if err == nil {
		t.Error("a shard that is gone: no error")
	}
	if gone := got["dispatcher shardId-gone"]; !strings.Contains(gone.Remedy, "24 hours") {
		t.Errorf("a shard that is gone: %+v, want a remedy with %q", gone, "24 hours")
	}
	delete(got, "dispatcher shardId-gone")
	want = map[string]replayLine{"projector " + shard: {Consumer: "projector", Shard: shard, Rebuild: []string{"acme"}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines differ (-want +got):\n%s", diff)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	left, err := failed.Receive(ctx, 1, time.Minute)
	errtest.Must(t, err)
	if len(left) != 0 {
		t.Errorf("%d messages are visible, want none: one is removed, one is leased", len(left))
	}
	for _, args := range [][]string{{}, {"--failed", "--shard", "x"}, {"--shard", "x"}, {"--shard", "x", "--from", "1", "--to", "2", "--consumer", "ticker"}} {
		if _, err := replay(e, args...); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}
