package dynamostore

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// lookEvery separates two listings of the shards while no shard has ended.
const lookEvery = 10 * time.Second

// begin finds the stream and its shards, and the position in each shard at which to resume.
func (c *consumer) begin(ctx context.Context) error {
	var err error
	if c.arn, err = c.store.streamARN(ctx); err != nil {
		return err
	}
	ctx, call := begin(ctx)
	found, err := c.describe(ctx)
	if err != nil {
		return call.contractError(ctx, err)
	}
	positions, err := c.positions(ctx)
	if err != nil {
		return fmt.Errorf("positions of %s: %w", c.name, err)
	}
	c.warnLost(ctx, found, positions)
	for _, f := range found {
		if err := c.add(ctx, f, positions, false); err != nil {
			return call.contractError(ctx, err)
		}
	}
	c.lookedAt = time.Now()
	return nil
}

// look adds shards that have appeared, and drops finished shards that have left the stream.
func (c *consumer) look(ctx context.Context) error {
	if !c.lookSoon && time.Since(c.lookedAt) < lookEvery {
		return nil
	}
	if c.lookSoon && time.Since(c.lookedAt) < c.store.o.Poll {
		return nil
	}
	found, err := c.describe(ctx)
	if err != nil {
		return err
	}
	c.lookedAt, c.lookSoon = time.Now(), false
	known := make(map[string]bool)
	for _, f := range found {
		known[f.ID] = true
		if c.shards[f.ID] == nil {
			if err := c.add(ctx, f, nil, true); err != nil {
				return err
			}
		}
	}
	c.forget(known)
	return nil
}

// describe lists the shards that the stream still holds.
func (c *consumer) describe(ctx context.Context) ([]Shard, error) {
	found, err := c.store.o.Stream.Shards(ctx, c.arn)
	if err != nil {
		return nil, fmt.Errorf("shards: %w", err)
	}
	return found, nil
}

// add registers a shard. began is true if the shard appeared after Consume started.
func (c *consumer) add(ctx context.Context, f Shard, positions map[string]position, began bool) error {
	at := positions[f.ID]
	sh := &shard{id: f.ID, parent: f.Parent, isNew: began, saved: at.Sequence, ended: at.Ended, closed: at.Ended}
	if f.Open && !began && !at.Ended {
		var err error
		if sh.tip, err = c.iterator(ctx, sh, Newest); err != nil {
			return fmt.Errorf("end of shard %s: %w", sh.id, err)
		}
	}
	sh.track = c.window.Track(at.Sequence)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shards[sh.id] = sh
	c.order = append(c.order, sh)
	return nil
}

// forget drops finished shards that have left the stream.
func (c *consumer) forget(known map[string]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.order = slices.DeleteFunc(c.order, func(sh *shard) bool {
		drop := !known[sh.id] && sh.finished()
		if drop {
			delete(c.shards, sh.id)
			c.window.Remove(sh.track)
		}
		return drop
	})
}

// warnLost logs the shards that were started and left the stream before they were finished.
func (c *consumer) warnLost(ctx context.Context, found []Shard, positions map[string]position) {
	for id, at := range positions {
		there := slices.ContainsFunc(found, func(f Shard) bool { return f.ID == id })
		if !there && !at.Ended {
			c.store.o.Logger.ErrorContext(ctx, "changes may have been lost: an unfinished shard left the stream, which keeps records for 24 hours",
				"consumer", c.name, "shard", id, "after", at.Sequence)
		}
	}
}
