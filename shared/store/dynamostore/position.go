package dynamostore

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"orgops/shared/store"
	"orgops/shared/store/handover"
)

const (
	// saveEvery is how often positions that move are stored. What is finished and not stored when the process dies is
	// handed over again.
	saveEvery   = 250 * time.Millisecond
	saveTimeout = 5 * time.Second
	// keepPosition is how long a position stays that does not move. Whatever lay behind it has left the stream long before.
	keepPosition   = 7 * 24 * time.Hour
	positionEntity = "feed-position"
)

// position is how far a consumer has come in a shard: the body of an item, whose key is the shard's id.
type position struct {
	Sequence string `json:"sequence"`        // finished up to here
	Ended    bool   `json:"ended,omitempty"` // finished to its end
}

// positions are a consumer's, by shard.
func (c *consumer) positions(ctx context.Context) (map[string]position, error) {
	out := make(map[string]position)
	s := *c.store
	s.o.Meter = nil // the feed's calls are not counted
	for q := (store.Query{}); ; {
		page, err := s.Query(ctx, store.Positions(c.name), q)
		if err != nil {
			return nil, err
		}
		for _, item := range page.Items {
			var p position
			if err := json.Unmarshal(item.Body, &p); err != nil {
				return nil, fmt.Errorf("shard %s: %w", item.Key, err)
			}
			out[item.Key] = p
		}
		if q.After = page.Next; q.After == "" {
			return out, nil
		}
	}
}

// save stores positions now and then while they move, and once more when stop closes.
func (c *consumer) save(ctx context.Context, stop <-chan struct{}) {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for running := true; running; {
		select {
		case <-c.window.Moved:
		case <-stop:
			running = false
		}
		c.saveMoved(ctx)
		pause.Reset(saveEvery)
		if running {
			select {
			case <-pause.C:
			case <-stop:
			}
		}
	}
}

// saveMoved stores the positions that moved since they were stored. What cannot be stored now is stored with the next
// move; a position that is behind costs no more than a replay. Records that are no part of the feed move no position by
// themselves: the positions' own writes are such records.
func (c *consumer) saveMoved(ctx context.Context) {
	for _, m := range c.toSave() {
		ctx, cancel := context.WithTimeout(ctx, saveTimeout)
		err := c.store.savePosition(ctx, c.name, m.shard.id, m.position)
		cancel()
		if err != nil {
			c.store.o.Logger.WarnContext(ctx, "a position in the change stream cannot be stored", "consumer", c.name, "error", err)
			handover.Signal(c.window.Moved)
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
		at, idle := sh.lane.Position()
		if ended := sh.ended && idle; at != sh.saved || ended != sh.closed {
			out = append(out, move{sh, position{Sequence: at, Ended: ended}})
		}
	}
	return out
}

// savePosition writes without a condition: a consumer's positions are one process's.
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
