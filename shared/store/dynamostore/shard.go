package dynamostore

import (
	"context"
	"errors"
	"time"

	"orgops/shared/store"
	"orgops/shared/store/handover"
)

type batch = handover.Batch[string]

// shard is one of the stream's.
type shard struct {
	id, parent string

	iterator string // where the next read begins; "" has to be asked for
	// tip reads beside the shard from the end that it had when Consume began, until something comes: that is the first
	// change which no earlier Consume can have seen. "" when there is none to wait for.
	tip   string
	fresh string // the sequence number from which on changes are no replay; "" is not known
	anew  bool   // the shard began after Consume did: none of it is a replay
	// due is when to read again after a page that was not full, however busy the shard is: it allows five reads a second, for
	// all consumers together.
	due time.Time

	lane *handover.Lane[string]

	// Under the consumer's lock.
	ended  bool   // read to its end
	saved  string // the position as stored
	closed bool   // the end as stored
}

// finished reports whether the shard was read to its end and all of it is finished. The consumer's lock is held.
func (sh *shard) finished() bool {
	_, idle := sh.lane.Position()
	return sh.ended && idle
}

// read hands over a page of a shard. full is true when it had n records: there may be more.
func (c *consumer) read(ctx context.Context, sh *shard, n int) (full bool, err error) {
	if sh.iterator == "" {
		if err := c.aim(ctx, sh); err != nil || sh.iterator == "" {
			return false, err
		}
	}
	records, next, err := c.store.o.Stream.Read(ctx, sh.iterator, n)
	if err != nil {
		return false, c.missed(ctx, sh, err)
	}
	sh.iterator = next
	if len(records) > 0 && sh.fresh == "" && !sh.anew && sh.tip != "" {
		c.peek(ctx, sh)
	}
	batches := c.batches(ctx, sh, records)
	if len(records) > 0 {
		sh.lane.Admit(records[len(records)-1].Sequence, batches...)
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

// batches makes a page's changes batches: one of replays, one of others. Records that are no part of the feed are in none.
func (c *consumer) batches(ctx context.Context, sh *shard, records []Record) []*batch {
	var out []*batch
	for _, r := range records {
		change, ok, err := r.Change()
		if err != nil {
			c.store.o.Logger.ErrorContext(ctx, "a record of the change stream is left out", "consumer", c.name, "error", err)
		}
		if !ok {
			continue
		}
		replay := sh.replayed(r.Sequence)
		if len(out) == 0 || out[len(out)-1].Replay != replay {
			out = append(out, &batch{Replay: replay})
		}
		b := out[len(out)-1]
		b.Changes, b.Last = append(b.Changes, change), r.Sequence
		b.Bytes += bodies(change)
	}
	return out
}

// bodies is how many bytes a change's bodies have.
func bodies(c store.Change) (n int) {
	for _, image := range []*store.Image{c.Old, c.New} {
		if image != nil {
			n += len(image.Body)
		}
	}
	return n
}

func (sh *shard) replayed(sequence string) bool {
	if sh.anew {
		return false
	}
	return sh.fresh == "" || store.Sequence(sequence).Compare(store.Sequence(sh.fresh)) < 0
}

// peek looks for the first change behind the end that the shard had. What cannot be told is a replay.
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

// aim gets an iterator behind the cursor, or at the oldest record.
func (c *consumer) aim(ctx context.Context, sh *shard) (err error) {
	from := Oldest
	if sh.lane.Cursor() != "" {
		from = After
	}
	if sh.iterator, err = c.iterator(ctx, sh, from); err != nil {
		return c.missed(ctx, sh, err)
	}
	return nil
}

func (c *consumer) iterator(ctx context.Context, sh *shard, from Start) (string, error) {
	after := ""
	if from == After {
		after = sh.lane.Cursor()
	}
	return c.store.o.Stream.Iterator(ctx, c.arn, sh.id, from, after)
}

// missed deals with a shard that cannot be read on as it was. An iterator lives for a quarter of an hour: another is
// asked for. Records older than a day are gone, and shards with them: what is left is gone on with.
func (c *consumer) missed(ctx context.Context, sh *shard, err error) error {
	log := c.store.o.Logger.With("consumer", c.name, "shard", sh.id, "after", sh.lane.Cursor())
	sh.iterator = ""
	switch {
	case errors.Is(err, ErrExpired):
		return nil
	case errors.Is(err, ErrTrimmed):
		log.ErrorContext(ctx, "changes were lost: the stream no longer has what follows, for it keeps a day", "error", err)
		sh.lane.Seek("")
		return nil
	case errors.Is(err, ErrGone):
		log.ErrorContext(ctx, "changes may have been lost: the stream no longer has the shard, for it keeps a day", "error", err)
		c.end(sh)
		return nil
	}
	return err
}

// end notes that there is nothing more in a shard.
func (c *consumer) end(sh *shard) {
	c.mu.Lock()
	sh.ended = true
	c.mu.Unlock()
	c.lookSoon = true
	handover.Signal(c.window.Moved)
}
