package admin

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"orgops/functions/dispatcher"
	"orgops/functions/projector"
	"orgops/shared/domain/parked"
	"orgops/shared/run/cloud"
	"orgops/shared/run/cloud/dynamodb"
	"orgops/shared/run/config"
	"orgops/shared/storage/queue/sqsqueue"
	"orgops/shared/storage/store"
	"orgops/shared/storage/store/dynamostore"
	"orgops/shared/storage/store/dynamostream"
)

// Limits of a replay.
const (
	replayTimeout = 5 * time.Minute  // of a range
	pointerLease  = 10 * time.Minute // hides a pointer from other operators while its range is replayed
	pointerWait   = 2 * time.Second  // without another pointer, the queue counts as empty
)

// extent names records of the stream: a range of a shard, for one of its readers.
type extent struct {
	Consumer string `json:"consumer"`
	Stream   string `json:"-"`
	Shard    string `json:"shard"`
	From     string `json:"from"`
	To       string `json:"to"`
}

// replayed reports a replay of an extent.
type replayed struct {
	extent
	GivenBack int      `json:"givenBack"`         // changes that the dispatcher gets again
	Rebuild   []string `json:"rebuild,omitempty"` // companies whose context lacks changes
	Error     string   `json:"error,omitempty"`   // why not all was replayed
	Remedy    string   `json:"remedy,omitempty"`  // what to do then
	companies map[string]bool
}

// errNotReplayed ends the command with an error; the lines before it give the reasons.
var errNotReplayed = errors.New("some changes were not replayed; see the errors above")

// replayStream reads records of the stream again that Lambda discarded, and prints a line for each range. It gives the changes
// back to the dispatcher, or names the companies whose context is to be rebuilt.
func replayStream(ctx context.Context, e Env, flags *flag.FlagSet, args []string) error {
	failed := flags.Bool("failed", false, "replay every range that the queue of discarded changes names (ORGOPS_FAILED_CHANGES), and remove its message")
	consumer := flags.String("consumer", dispatcher.Consumer, "the reader that missed the range: dispatcher or projector")
	shard := flags.String("shard", "", "the shard's id")
	from := flags.String("from", "", "the first sequence number")
	to := flags.String("to", "", "the last sequence number")
	if err := parse(flags, args); err != nil {
		return err
	}
	one := extent{Consumer: *consumer, Shard: *shard, From: *from, To: *to}
	switch {
	case e.Config.Backend != config.AWS:
		return errors.New("only a stack on AWS has a stream whose readers discard changes; the local process retries a change until it is handled")
	case *failed == (one.Shard != "" || one.From != "" || one.To != ""):
		return errors.New("pass --failed, or --shard, --from and --to")
	case !*failed && (one.Shard == "" || one.From == "" || one.To == ""):
		return errors.New("pass --shard, --from and --to")
	case one.Consumer != dispatcher.Consumer && one.Consumer != projector.Consumer:
		return fmt.Errorf("--consumer: %q is not dispatcher or projector", one.Consumer)
	}
	c, err := cloud.Read(e.Getenv)
	if err != nil {
		return err
	}
	c.Logger = slog.New(slog.DiscardHandler)
	r := replayer{table: dynamodb.MainWithFeed(c, dynamostream.New(c.Access)), out: json.NewEncoder(e.Out), now: time.Now}
	if *failed {
		c.Need("ORGOPS_FAILED_CHANGES", c.Settings.FailedChanges)
	}
	if err := c.Missing(); err != nil {
		return err
	}
	if !*failed {
		return r.extent(ctx, one)
	}
	return r.failed(ctx, sqsqueue.New(c.Access, sqsqueue.Options{URL: c.Settings.FailedChanges}))
}

// replayer replays records of a table's stream.
type replayer struct {
	table *dynamostore.Store
	out   *json.Encoder
	now   func() time.Time
}

// pointer holds the part of a message about a discarded batch that names its records.
type pointer struct {
	RequestContext struct {
		FunctionArn string `json:"functionArn"`
	} `json:"requestContext"`
	Batch struct {
		ShardID             string `json:"shardId"`
		StartSequenceNumber string `json:"startSequenceNumber"`
		EndSequenceNumber   string `json:"endSequenceNumber"`
		StreamArn           string `json:"streamArn"`
	} `json:"DDBStreamBatchInfo"`
}

// extentOf reads the message that Lambda sends about a discarded batch.
func extentOf(body []byte) (extent, error) {
	var p pointer
	if err := json.Unmarshal(body, &p); err != nil || p.Batch.ShardID == "" {
		return extent{}, fmt.Errorf("not a message about a discarded batch: %s", body)
	}
	x := extent{Stream: p.Batch.StreamArn, Shard: p.Batch.ShardID, From: p.Batch.StartSequenceNumber, To: p.Batch.EndSequenceNumber}
	for _, consumer := range []string{dispatcher.Consumer, projector.Consumer} {
		if strings.Contains(p.RequestContext.FunctionArn, consumer) {
			x.Consumer = consumer
			return x, nil
		}
	}
	return extent{}, fmt.Errorf("the message is of no known reader: %s", p.RequestContext.FunctionArn)
}

// failed replays what the queue of discarded batches names. A message whose range was replayed is removed, any other stays.
func (r replayer) failed(ctx context.Context, q *sqsqueue.Queue) error {
	var failures []error
	for {
		waiting, cancel := context.WithTimeout(ctx, pointerWait)
		got, err := q.Receive(waiting, 1, pointerLease)
		cancel()
		if err != nil || len(got) == 0 {
			return errors.Join(append(failures, err)...)
		}
		x, err := extentOf(got[0].Body)
		if err == nil {
			err = r.extent(ctx, x)
		}
		if err == nil {
			err = q.Ack(ctx, got...)
		}
		if err != nil {
			failures = append(failures, err)
		}
	}
}

// extent replays one range and prints its line.
func (r replayer) extent(ctx context.Context, x extent) error {
	ctx, cancel := context.WithTimeout(ctx, replayTimeout)
	defer cancel()
	done := replayed{extent: x, companies: map[string]bool{}}
	err := r.table.Records(ctx, x.Stream, x.Shard, x.From, x.To, func(record dynamostore.Record) error { return r.record(ctx, record, &done) })
	if err != nil {
		done.Error = err.Error()
	}
	if errors.Is(err, dynamostore.ErrTrimmed) || errors.Is(err, dynamostore.ErrGone) {
		done.Remedy = "the stream keeps records for 24 hours, and these are gone; rebuild the contexts (orgops admin context rebuild), and " +
			"let the tenants recover their deliveries. Events without a delivery's record cannot be sent any more"
	}
	if err := r.out.Encode(done); err != nil {
		return err
	}
	if err != nil {
		return errNotReplayed
	}
	return nil
}

// errReplayed is the reason in a parked change that a replay gave back.
var errReplayed = errors.New("replayed from the stream")

// record gives the change in a record back to the dispatcher, or notes its company for a rebuild.
func (r replayer) record(ctx context.Context, record dynamostore.Record, done *replayed) error {
	change, ok, err := record.Change()
	lot := parked.Lot{Store: r.table, Consumer: done.Consumer, Logger: slog.New(slog.DiscardHandler), Now: r.now}
	switch {
	case err != nil:
		return lot.ParkRecord(ctx, change, parked.NewRecord(record.Sequence, record.Created, record.Old, record.New), err)
	case !ok || change.Entity == parked.Entity: // parked retry gives a parked change back
		return nil
	case done.Consumer == projector.Consumer:
		if !done.companies[change.Company] {
			done.companies[change.Company] = true
			done.Rebuild = append(done.Rebuild, change.Company)
		}
		return nil
	}
	p := parked.New(done.Consumer, change, errReplayed, r.now())
	p.Retries = 1
	c := store.For(r.table, change.Company)
	err = c.Commit(ctx, c.Create(parked.Key(p.ID), parked.Entity, p).Until(p.ParkedAt.Add(parked.Kept)))
	if errors.Is(err, store.ErrConflict) { // parked before, or given back a moment ago
		return nil
	}
	if err == nil {
		done.GivenBack++
	}
	return err
}
