package projection

import (
	"maps"
	"slices"
	"time"

	"orgops/shared/domain/arrival"
	"orgops/shared/domain/audit"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/executive"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/syncrun"
	"orgops/shared/domain/timeline"
	"orgops/shared/storage/store"
)

// sizeSteps is into how many steps the time is divided for which a kind of records is kept. The oldest step counts until all of it has
// expired, so a size is at most this part too large.
const sizeSteps = 6

// SizeStep counts the records of a kind that were begun in a step of time.
type SizeStep struct {
	From  time.Time `json:"from" doc:"start of the step"`
	Items int64     `json:"items" doc:"records that were begun in it"`
	Bytes int64     `json:"bytes" doc:"their bytes, as they are stored"`
}

// KeptFor returns how long the records of an entity are kept that grow with use and expire; 0 for any other entity.
func KeptFor(entity string) time.Duration {
	switch entity {
	case arrival.ReceiptEntity:
		return arrival.ReceiptKept
	case audit.Entity:
		return audit.Kept
	case delivery.Entity:
		return delivery.Kept
	case executive.RecordEntity:
		return executive.Kept
	case policy.Entity:
		return policy.Kept
	case syncrun.Entity:
		return syncrun.Kept
	case timeline.Entity:
		return timeline.Kept
	}
	return 0
}

// Grown lists the entities of the records that grow with use and expire.
func Grown() []string {
	return []string{
		arrival.ReceiptEntity, audit.Entity, delivery.Entity, executive.RecordEntity, policy.Entity, syncrun.Entity, timeline.Entity,
	}
}

// Expires reports whether the removal of an item of an entity means nothing: because the item counts by the time at which it was begun, or
// asks for something.
func Expires(entity string) bool {
	return entity == arrival.ReceiptEntity || entity == DueEntity || isCounted(entity)
}

// isCounted reports whether a context shows nothing of the items of an entity but their size.
func isCounted(entity string) bool {
	return entity == audit.Entity || entity == executive.RecordEntity || entity == policy.Entity
}

// counted folds a change of which the context shows nothing but the size.
func (f *folding) counted(store.Change) error {
	f.unseen = true
	return nil
}

// measure adds what a change adds to the size of its kind of records. No size follows from a removal: what has expired leaves with its
// step. So the sizes depend on no order, and a lost or repeated change counts wrongly only for as long as its record is kept. Two sizes are
// too small: a record from before the first count has no item, and what a change adds to its bytes can be negative; and a delivery that is
// attempted late outlives its step.
func (f *folding) measure(c store.Change) {
	if KeptFor(c.Entity) == 0 || c.New == nil {
		return
	}
	begun, dated := store.DateOf(c.Key)
	if !dated {
		begun = c.At
	}
	items := int64(0)
	if c.Old == nil {
		items = 1
	}
	f.size(c.Entity, begun, items, size(c.New)-size(c.Old))
	if c.Entity != arrival.ReceiptEntity {
		return
	}
	if body, err := decode[arrival.Receipt](c.New); err == nil && body.Decided != nil {
		f.size(policy.Entity, c.At, body.Decided.Items, body.Decided.Bytes)
	}
}

// size adds records of an entity that were begun at a time.
func (f *folding) size(entity string, begun time.Time, items, bytes int64) {
	from := begun.UTC().Truncate(KeptFor(entity) / sizeSteps)
	if outdated(entity, from, f.UpdatedAt) {
		return
	}
	if f.Sizes == nil {
		f.Sizes = map[string][]SizeStep{}
	}
	steps := f.Sizes[entity]
	at, found := slices.BinarySearchFunc(steps, from, func(s SizeStep, from time.Time) int { return s.From.Compare(from) })
	if found {
		steps[at].Items, steps[at].Bytes = steps[at].Items+items, steps[at].Bytes+bytes
		return
	}
	f.Sizes[entity] = slices.Insert(steps, at, SizeStep{From: from, Items: items, Bytes: bytes})
}

// outdated reports whether all records of a step have expired.
func outdated(entity string, from, now time.Time) bool {
	kept := KeptFor(entity)
	return !from.Add(kept/sizeSteps + kept).After(now)
}

// forgetSizes drops the steps of which all records have expired.
func (f *folding) forgetSizes(now time.Time) {
	for entity, steps := range f.Sizes {
		if steps = slices.DeleteFunc(steps, func(s SizeStep) bool { return outdated(entity, s.From, now) }); len(steps) > 0 {
			f.Sizes[entity] = steps
		} else {
			delete(f.Sizes, entity)
		}
	}
}

// cloneSizes returns a copy that shares nothing.
func cloneSizes(all map[string][]SizeStep) map[string][]SizeStep {
	all = maps.Clone(all)
	for entity, steps := range all {
		all[entity] = slices.Clone(steps)
	}
	return all
}
