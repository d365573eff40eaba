package restore

import (
	"encoding/json"
	"fmt"
	"time"

	"orgops/shared/domain/delivery"
	"orgops/shared/domain/export"
	"orgops/shared/domain/recovery"
	"orgops/shared/domain/syncrun"
	"orgops/shared/insight/projection"
	"orgops/shared/storage/store"
)

// leftBehind settles the items that waited for what no export has: a place in a line, a slot or a message in a queue. Without it they
// would wait for ever.
type leftBehind struct {
	c       store.Company // encodes items
	now     time.Time
	changes []store.Change // of items that the context counts by their state
}

// settled is why a sync run has ended.
const settled = "the company was imported to another deployment; request the sync again"

// settle changes the body of an item that waits for what was left behind. A delivery in a line is held, the line's head too, and a recovery
// sends all of them in their order. A recovery and a sync run end.
func (b *leftBehind) settle(l *export.Line) error {
	switch l.Entity {
	case delivery.Entity:
		var head delivery.Head
		if err := delivery.DecodeHead(l.Body, &head); err != nil {
			return unreadable(l)
		}
		if head.Line == "" || head.State != delivery.Waiting && head.State != delivery.Scheduled {
			return nil
		}
		var d delivery.Delivery
		if err := json.Unmarshal(l.Body, &d); err != nil {
			return unreadable(l)
		}
		d.Hold(delivery.HeldLine)
		l.Body = b.c.Create(l.Key, l.Entity, d).Body
	case recovery.Entity:
		var r recovery.Stored
		if err := json.Unmarshal(l.Body, &r); err != nil {
			return unreadable(l)
		}
		if r.State != recovery.Requested {
			return nil
		}
		r.Finish(b.now)
		l.Body = b.c.Create(l.Key, l.Entity, r).Body
	case syncrun.Entity:
		var r syncrun.StoredRun
		if err := json.Unmarshal(l.Body, &r); err != nil {
			return unreadable(l)
		}
		if r.State == "" || r.State.Ended() {
			return nil
		}
		r.State, r.Error, r.ThrottledUntil, r.FinishedAt = syncrun.Cancelled, settled, nil, &b.now
		l.Body = b.c.Create(l.Key, l.Entity, r).Body
	}
	return nil
}

func unreadable(l *export.Line) error { return fmt.Errorf("the %s %s cannot be read", l.Entity, l.Key) }

// collect notes how settling changes an item that the context counts.
func (b *leftBehind) collect(l export.Line) error {
	was := l.Body
	if err := b.settle(&l); err != nil || string(was) == string(l.Body) || l.Entity == recovery.Entity {
		return err
	}
	b.changes = append(b.changes, store.Change{Entity: l.Entity, Key: l.Key, Old: b.image(l, was), New: b.image(l, l.Body)})
	return nil
}

// image returns what the context counts of an item. The payloads of all deliveries would take too much memory.
func (b *leftBehind) image(l export.Line, body json.RawMessage) *store.Image {
	var d delivery.Delivery
	if l.Entity == delivery.Entity && json.Unmarshal(body, &d) == nil {
		body = b.c.Create(l.Key, l.Entity, delivery.Delivery{Head: d.Head}).Body
	}
	return &store.Image{Body: body}
}

// counted returns the context of another deployment as it is after the items were settled, without its positions.
func (b *leftBehind) counted(is projection.Context) (projection.Context, error) {
	for n := range b.changes {
		b.changes[n].At, b.changes[n].Sequence = is.UpdatedAt, store.Sequence(fmt.Sprintf("%09d", n+1))
	}
	is, _, failed := projection.Fold(is.Unplaced(), b.changes)
	return is.Unplaced(), failed.Err()
}
