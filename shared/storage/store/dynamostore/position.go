package dynamostore

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"orgops/shared/storage/store"
	"orgops/shared/storage/store/inflight"
)

const (
	// saveEvery limits how often positions that moved are stored. After a crash, Consume redelivers the changes that were
	// finished after the last save.
	saveEvery   = 250 * time.Millisecond
	saveTimeout = 5 * time.Second
	// keepPosition expires a position that does not move. By then every record after it has left the stream.
	keepPosition   = 7 * 24 * time.Hour
	positionEntity = "feed-position"
)

// position records a consumer's progress in a shard: the body of an item whose key is the shard's id.
type position struct {
	Sequence string `json:"sequence"`        // finished up to here
	Ended    bool   `json:"ended,omitempty"` // the whole shard is finished
}

// positions reads the consumer's positions, by shard.
func (c *consumer) positions(ctx context.Context) (map[string]position, error) {
	out := make(map[string]position)
	s := *c.store
	s.o.Meter = nil // Meter leaves out the feed's calls
	for item, err := range store.Items(ctx, &s, store.Positions(c.name), store.Query{}) {
		if err != nil {
			return nil, err
		}
		var p position
		if err := json.Unmarshal(item.Body, &p); err != nil {
			return nil, fmt.Errorf("shard %s: %w", item.Key, err)
		}
		out[item.Key] = p
	}
	return out, nil
}

// save stores the positions that have moved. After a failure it tries again with the next move, because a stale position
// only causes a replay. A record outside the feed moves no position on its own. Every write of a position is such a record,
// and would otherwise cause the next write.
func (c *consumer) save(ctx context.Context, _ bool) {
	for _, m := range c.toSave() {
		ctx, cancel := context.WithTimeout(ctx, saveTimeout)
		err := c.store.savePosition(ctx, c.name, m.shard.id, m.position)
		cancel()
		if err != nil {
			c.store.o.Logger.WarnContext(ctx, "position in the change stream not stored; retrying", "consumer", c.name, "error", err)
			inflight.Signal(c.window.Moved)
			return
		}
		c.mu.Lock()
		m.shard.saved, m.shard.closed = m.position.Sequence, m.position.Ended
		c.mu.Unlock()
	}
}

type move struct {
	shard    *shard
	position position
}

func (c *consumer) toSave() []move {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []move
	for _, sh := range c.order {
		at, idle := sh.track.Position()
		if ended := sh.ended && idle; at != sh.saved || ended != sh.closed {
			out = append(out, move{sh, position{Sequence: at, Ended: ended}})
		}
	}
	return out
}

// savePosition writes unconditionally, because one process owns a consumer's positions.
func (s *Store) savePosition(ctx context.Context, consumer, shard string, p position) error {
	body, err := json.Marshal(p)
	if err != nil {
		return err
	}
	now := s.now()
	op := store.Op{
		Partition: store.Positions(consumer), Key: shard, Entity: positionEntity, Body: body, Quiet: true, Expires: now.Add(keepPosition),
	}
	_, err = s.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.o.Table, Item: s.itemOf(&op, now)})
	return err
}
