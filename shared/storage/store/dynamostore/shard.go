package dynamostore

import (
	"context"
	"errors"
	"fmt"
	"time"

	"orgops/shared/storage/store"
	"orgops/shared/storage/store/inflight"
)

type batch = inflight.Batch[string]

// shard tracks the reading of one shard of the stream.
type shard struct {
	id, parent string

	iterator string // where the next read starts; "": request one
	// tip is a second iterator. It starts at the end that the shard had when Consume started. peek reads it until the first
	// record after that end arrives: no earlier Consume has seen that record. tip is "" when peek need not look.
	tip   string
	fresh string // sequence number of the first change that is not a replay; "": unknown
	isNew bool   // the shard appeared after Consume started, so it has no replays
	// due is the time of the next read after a page that was not full. A busy shard waits too, because a shard allows only
	// five reads a second for all consumers together.
	due time.Time

	track *inflight.Track[string]

	// Guarded by the consumer's lock.
	ended  bool   // read to its end
	saved  string // the stored position
	closed bool   // the stored position says that the shard has ended
}

// finished reports whether the shard was read to its end and all of it is finished. The caller holds the consumer's lock.
func (sh *shard) finished() bool {
	_, idle := sh.track.Position()
	return sh.ended && idle
}

// read hands over a page of a shard. full is true if the page had n records: more records may follow.
func (c *consumer) read(ctx context.Context, sh *shard, n int) (full bool, err error) {
	if sh.iterator == "" {
		if err := c.aim(ctx, sh); err != nil || sh.iterator == "" {
			return false, err
		}
	}
	records, next, err := c.store.o.Stream.Read(ctx, sh.iterator, n)
	if err != nil {
		return false, c.readError(ctx, sh, err)
	}
	if len(records) > 0 && sh.fresh == "" && !sh.isNew && sh.tip != "" {
		c.peek(ctx, sh)
	}
	batches, err := c.batches(ctx, sh, records)
	if err != nil {
		return false, err
	}
	sh.iterator = next
	if len(records) > 0 {
		sh.track.Admit(records[len(records)-1].Sequence, batches...)
	}
	for _, b := range batches {
		if c.window.Failing() || ctx.Err() != nil {
			c.window.Keep(b)
			continue
		}
		c.window.Hand(ctx, b)
	}
	if sh.iterator == "" {
		c.end(sh)
	}
	return len(records) >= n, nil
}

// batches groups a page's changes into one batch of replays and one of new changes. It drops records outside the feed. An
// error means that Invalid did not take a record.
func (c *consumer) batches(ctx context.Context, sh *shard, records []Record) (out []*batch, err error) {
	for _, r := range records {
		change, ok, err := r.Change()
		if err != nil {
			if err := c.invalid(ctx, r, change, err); err != nil {
				return nil, fmt.Errorf("record %s: %w", r.Sequence, err)
			}
		}
		if !ok {
			continue
		}
		replay := sh.replayed(r.Sequence)
		if len(out) == 0 || out[len(out)-1].Replay != replay {
			out = append(out, &batch{Replay: replay})
		}
		b := out[len(out)-1]
		change.Shard = sh.id
		b.Changes, b.Last = append(b.Changes, change), r.Sequence
	}
	return out, nil
}

// invalid passes a record that gives no change to Invalid.
func (c *consumer) invalid(ctx context.Context, r Record, identity store.Change, reason error) error {
	if take := c.store.o.Invalid; take != nil {
		return take(ctx, c.name, r, identity, reason)
	}
	c.store.o.Logger.ErrorContext(ctx, "invalid record of the change stream skipped", "consumer", c.name, "error", reason)
	return nil
}

func (sh *shard) replayed(sequence string) bool {
	if sh.isNew {
		return false
	}
	return sh.fresh == "" || store.Sequence(sequence).Compare(store.Sequence(sh.fresh)) < 0
}

// peek looks for the first change after the shard's initial end. Until peek finds it, all changes count as replays.
func (c *consumer) peek(ctx context.Context, sh *shard) {
	records, next, err := c.store.o.Stream.Read(ctx, sh.tip, 1)
	if err != nil {
		if errors.Is(err, ErrExpired) {
			sh.tip, _ = c.iterator(ctx, sh, Newest)
		}
		return
	}
	if len(records) > 0 {
		sh.fresh, sh.tip = records[0].Sequence, ""
		return
	}
	sh.tip = next
}

// aim requests an iterator after the cursor, or at the oldest record if there is no cursor.
func (c *consumer) aim(ctx context.Context, sh *shard) (err error) {
	from := Oldest
	if sh.track.Cursor() != "" {
		from = After
	}
	if sh.iterator, err = c.iterator(ctx, sh, from); err != nil {
		return c.readError(ctx, sh, err)
	}
	return nil
}

func (c *consumer) iterator(ctx context.Context, sh *shard, from Start) (string, error) {
	after := ""
	if from == After {
		after = sh.track.Cursor()
	}
	return c.store.o.Stream.Iterator(ctx, c.arn, sh.id, from, after)
}

// readError recovers from three errors of the stream and returns any other error. After ErrExpired (an iterator expires
// after 15 minutes), the next read requests another iterator. After ErrTrimmed, the next read starts at the oldest record
// that the stream still holds. After ErrGone, the consumer continues with the other shards.
func (c *consumer) readError(ctx context.Context, sh *shard, err error) error {
	log := c.store.o.Logger.With("consumer", c.name, "shard", sh.id, "after", sh.track.Cursor())
	sh.iterator = ""
	switch {
	case errors.Is(err, ErrExpired):
		return nil
	case errors.Is(err, ErrTrimmed):
		log.ErrorContext(ctx, "changes were lost: records after the position left the stream, which keeps records for 24 hours", "error", err)
		sh.track.Seek("")
		return nil
	case errors.Is(err, ErrGone):
		log.ErrorContext(ctx, "changes may have been lost: the shard left the stream, which keeps records for 24 hours", "error", err)
		c.end(sh)
		return nil
	}
	return err
}

// end marks a shard as read to its end.
func (c *consumer) end(sh *shard) {
	c.mu.Lock()
	sh.ended = true
	c.mu.Unlock()
	c.lookSoon = true
	inflight.Signal(c.window.Moved)
}
