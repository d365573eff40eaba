package projection

import (
	"bytes"
	"compress/flate"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"orgops/shared/storage/store"
)

// DueEntity and DueKey name the entity and the sort key of the item whose change asks the projector to fold what is pending.
const (
	DueEntity = "context-due"
	DueKey    = "CONTEXT-DUE"
)

// Due says whether pending changes wait to be folded.
type Due struct {
	Asked bool      `json:"asked"`
	At    time.Time `json:"at"` // when it was last asked
}

// Pending changes lie in pendingItems items, each shard's in one of them. The keys spread. What was folded leaves an item with the next
// changes of one of its shards, or when the item expires: late enough for clocks that are a day apart.
const (
	pendingEntity = "context-pending"
	pendingPrefix = "PENDING#"
	pendingItems  = 64
	pendingKept   = 72 * time.Hour
)

// pending holds changes that left the feed and may not be in the context yet, those of one shard in order. Packed is the JSON of []waiting,
// compressed with DEFLATE.
type pending struct {
	Packed []byte `json:"packed"`
}

// waiting holds a change with each body as text, because sizes count its bytes, which JSON within JSON may lose.
type waiting struct {
	store.Change
	Old, New *waitingImage `json:",omitempty"`
}

type waitingImage struct {
	Version int64
	Body    string
}

func toWaiting(i *store.Image) *waitingImage {
	if i == nil {
		return nil
	}
	return &waitingImage{i.Version, string(i.Body)}
}

func (i *waitingImage) image() *store.Image {
	if i == nil {
		return nil
	}
	return &store.Image{Version: i.Version, Body: json.RawMessage(i.Body)}
}

func pendingKey(n int) string { return fmt.Sprintf("%s%02d", pendingPrefix, n) }

func pendingKeyOf(shard string) string {
	return pendingKey(int(sha256.Sum256([]byte(shard))[0]) % pendingItems)
}

// maxPending limits what an item of pending changes may become, in bytes of JSON: a process that folds reads many of them.
const maxPending = 2 << 20

// ErrManyPending says that changes do not fit an item of pending changes.
var ErrManyPending = errors.New("too many pending changes for one item")

// Follows reports whether the context has a position in the shard of each change, and keeps it for at least an hour.
func (p Context) Follows(changes []store.Change) bool {
	newest := p.newest()
	return !slices.ContainsFunc(changes, func(c store.Change) bool {
		at, known := p.Shards[shortName(c.Shard)]
		return !known || at.At.Before(newest.Add(time.Hour-positionKept))
	})
}

// Pend returns the writes that make changes pending which are neither in the context nor pending, one for each item of pending changes. The
// context must follow their shards.
func Pend(ctx context.Context, c store.Company, p Context, changes []store.Change, now time.Time) (ops []store.Op, err error) {
	byKey := map[string][]store.Change{}
	for _, one := range changes {
		key := pendingKeyOf(one.Shard)
		byKey[key] = append(byKey[key], one)
	}
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		item, err := c.Get(ctx, key, nil)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return nil, err
		}
		all, err := p.stillPending(item)
		if err != nil {
			return nil, err
		}
		last := map[string]store.Sequence{}
		for _, one := range all {
			last[one.Shard] = one.Sequence
		}
		added := slices.DeleteFunc(byKey[key], func(one store.Change) bool {
			return p.has(one) || one.Sequence.Compare(last[one.Shard]) <= 0
		})
		if len(added) == 0 {
			continue
		}
		op, err := pend(c, key, item.Version, append(all, added...))
		if err != nil {
			return nil, err
		}
		ops = append(ops, op.Until(now.Add(pendingKept)))
	}
	return ops, nil
}

func pend(c store.Company, key string, version int64, changes []store.Change) (store.Op, error) {
	all := make([]waiting, len(changes))
	for n, one := range changes {
		all[n] = waiting{one, toWaiting(one.Old), toWaiting(one.New)}
	}
	raw, err := json.Marshal(all)
	if err != nil {
		return store.Op{}, err
	}
	packed, err := deflate(raw)
	if err != nil {
		return store.Op{}, err
	}
	op := c.Save(key, pendingEntity, version, pending{packed})
	if len(op.Body) > store.MaxBody || len(raw) > maxPending {
		return store.Op{}, ErrManyPending
	}
	return op.Quietly(), nil
}

// EachPending passes the pending changes that the context does not include to fold, those of one shard in order, until it returns an error.
func EachPending(ctx context.Context, c store.Company, p Context, fold func([]store.Change) error) error {
	var keys []string
	for n := range pendingItems {
		keys = append(keys, pendingKey(n))
	}
	c, err := c.Ahead(ctx, keys...)
	if err != nil {
		return err
	}
	for _, key := range keys {
		item, err := c.Get(ctx, key, nil)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		changes, err := p.stillPending(item)
		if err == nil {
			err = fold(changes)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// stillPending returns the changes of an item of pending changes that the context does not include. It includes those of a shard in which
// it has no position: Pend takes none of such a shard, so the position was dropped since, or the context was rebuilt from restored records.
func (p Context) stillPending(item store.Item) (changes []store.Change, err error) {
	if item.Version == 0 {
		return nil, nil
	}
	var of pending
	if err := item.Decode(&of); err != nil {
		return nil, err
	}
	raw, err := inflate(of.Packed)
	if err != nil {
		return nil, fmt.Errorf("unpack pending changes: %w", err)
	}
	var all []waiting
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, fmt.Errorf("decode pending changes: %w", err)
	}
	for _, one := range all {
		one.Change.Old, one.Change.New = one.Old.image(), one.New.image()
		if _, known := p.Shards[shortName(one.Shard)]; known && !p.has(one.Change) {
			changes = append(changes, one.Change)
		}
	}
	return changes, nil
}

func deflate(raw []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.BestSpeed)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(raw); err != nil {
		return nil, err
	}
	err = w.Close()
	return out.Bytes(), err
}

func inflate(packed []byte) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), maxUnpacked+1))
	if err == nil && len(raw) > maxUnpacked {
		err = fmt.Errorf("more than %d bytes", maxUnpacked)
	}
	return raw, err
}
