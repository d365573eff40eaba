package projection

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"orgops/shared/storage/store"
)

// MarkEntity and MarkKey name the entity and the sort key of the item with which a rebuild marks places in the change feed.
const (
	MarkEntity = "context-rebuild"
	MarkKey    = "CONTEXT-REBUILD"
)

// Rebuilding names the rebuild of a context that is under way, and the last of its marks that was folded. From the first mark
// on, the projector stores the items of all changes that it folds as Touched, until a rebuilt context replaces this one or
// the time is over.
type Rebuilding struct {
	ID    string    `json:"id" doc:"id of the rebuild" format:"uuid"`
	Mark  int       `json:"mark" doc:"number of the last mark in the change feed" format:"int32"`
	Until time.Time `json:"until" doc:"when the rebuild ends at the latest"`
	At    time.Time `json:"at,omitzero" doc:"when the last mark was stored, if the change feed has several shards"`
}

// mark folds a mark of a rebuild.
func (f *folding) mark(c store.Change) error {
	r, err := decode[Rebuilding](c.New)
	if err != nil {
		return err
	}
	f.reach(c.At)
	if f.UpdatedAt.Before(r.Until) {
		f.Rebuilding = r
		if c.Shard != "" {
			f.Rebuilding.At = c.Stored
		}
	}
	return nil
}

// Touched holds an item as a change left it. Version is 0 if the change removed the item.
type Touched struct {
	Key     string          `json:"key"`
	Entity  string          `json:"entity"`
	At      time.Time       `json:"at"`
	Stored  time.Time       `json:"stored,omitzero"` // zero: the feed has one part
	Version int64           `json:"version,omitempty"`
	Body    json.RawMessage `json:"body,omitempty"`
}

// touchedItems holds the items that one commit of the projector touched.
type touchedItems struct {
	Items []Touched `json:"items"`
}

// touchedEntity names the entity of stored lists of Touched. touchedKept sets how long they are kept after their rebuild.
const (
	touchedEntity = "context-touched"
	touchedKept   = 24 * time.Hour
)

func touchedPrefix(rebuild string) string { return MarkKey + "#" + rebuild + "#" }

// Track returns the writes that store the items touched by the changes that Fold has just folded from was, an item of the version, to next:
// none while no rebuild is under way, or if the changes touched nothing that a rebuild reads. They belong into the transaction that
// stores next. Track returns an error if they are too large for one item; fold fewer changes then.
func Track(c store.Company, version int64, was, next Context, changes []store.Change) ([]store.Op, error) {
	if next.Rebuilding.ID == "" {
		return nil, nil
	}
	var touched []Touched
	for _, change := range changes {
		if was.has(change) || change.Entity == MarkEntity || !Shows(change.Entity) {
			continue
		}
		t := Touched{Key: change.Key, Entity: change.Entity, At: change.At}
		if change.Shard != "" {
			t.Stored = change.Stored
		}
		if change.New != nil {
			t.Version, t.Body = change.New.Version, change.New.Body
		}
		touched = append(touched, t)
	}
	if len(touched) == 0 {
		return nil, nil
	}
	key := fmt.Sprintf("%s%020d", touchedPrefix(next.Rebuilding.ID), version)
	op := c.Create(key, touchedEntity, touchedItems{touched})
	if len(op.Body) > store.MaxBody {
		return nil, fmt.Errorf("%d items touched during a rebuild have %d bytes, more than one item may have", len(touched), len(op.Body))
	}
	return []store.Op{op.Until(next.Rebuilding.Until.Add(touchedKept)).Quietly()}, nil
}

// ReadTouched passes the items touched since a rebuild's first mark to each, the latest state of an item last. after is ""
// or what an earlier call returned: then it passes only what was touched since.
func ReadTouched(ctx context.Context, c store.Company, rebuild, after string, each func(Touched)) (last string, err error) {
	last = after
	for item, err := range c.Items(ctx, store.Query{Prefix: touchedPrefix(rebuild), After: after}) {
		if err != nil {
			return last, err
		}
		var stored touchedItems
		if err := item.Decode(&stored); err != nil {
			return last, err
		}
		for _, t := range stored.Items {
			each(t)
		}
		last = item.Key
	}
	return last, nil
}
