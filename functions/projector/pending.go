package projector

import (
	"context"
	"errors"
	"time"

	"orgops/shared/insight/projection"
	"orgops/shared/storage/store"
)

const (
	// rest is how long a company's context was not written before a change of the company is folded without being asked for.
	rest = 5 * time.Second
	// dueAgain is how long pending changes may wait until the projector asks for a fold again: the change that asked may have been discarded.
	dueAgain = time.Minute
	// maxGathered limits the bytes of records that one commit folds of what is pending, because the process holds all of them.
	maxGathered = 8 << 20
)

// follow folds changes, or makes them pending. asked says that a change that came with them asks to fold what is pending.
//
// A company in sub-partitions has many shards, and a context that was written for each of them each second would be the hottest item of
// all. So the changes of such a company become pending, in items that spread, and the first of them asks for a fold by a change of a
// further item. That change comes by one shard, for which Lambda gathers a second. The process that receives it folds what is pending of all
// shards. A company that rests has its changes folded at once.
//
// What is pending is a shard's changes after its position in the context, so a fold of the company includes them or conflicts. A company
// that has begun to gather does not stop, because its changes might then be folded before pending ones. The first changes of a shard
// are folded at once, after all that is pending: so a shard that split is folded before those that came of it.
func (p *Projector) follow(ctx context.Context, c store.Company, changes []store.Change, asked bool) (conflict bool, err error) {
	if asked { // a context that was kept may be of a time before the company gathered
		p.forget(c.ID())
	}
	was, err := p.load(ctx, c)
	if err != nil {
		return false, err
	}
	if !was.context.Gathers {
		p.keep(c.ID(), was) // so attempt does not read it again
		return p.attempt(ctx, c, changes)
	}
	if !asked && p.Now().Sub(was.at).Abs() < rest && was.context.Follows(changes) {
		if err := p.pend(ctx, c, was.context, changes); !errors.Is(err, projection.ErrManyPending) {
			return errors.Is(err, store.ErrConflict), err
		}
	}
	if asked {
		if err := p.answer(ctx, c); err != nil {
			return errors.Is(err, store.ErrConflict), err
		}
	}
	return p.gather(ctx, c, was, changes)
}

// pend makes changes pending, and asks for a fold unless one is asked for.
func (p *Projector) pend(ctx context.Context, c store.Company, facts projection.Context, changes []store.Change) error {
	ops, err := projection.Pend(ctx, c, facts, changes, p.Now())
	if err != nil {
		return err
	}
	for _, op := range ops {
		if err := c.Commit(store.Patiently(ctx), op); err != nil {
			return err
		}
	}
	due, version, err := readDue(ctx, c)
	if err != nil || due.Asked && p.Now().Sub(due.At).Abs() < dueAgain {
		return err
	}
	return c.Commit(store.Patiently(ctx), c.Save(projection.DueKey, projection.DueEntity, version, projection.Due{Asked: true, At: p.Now().UTC()}))
}

// answer notes that what is pending is about to be read. Changes that become pending from now on ask again.
func (p *Projector) answer(ctx context.Context, c store.Company) error {
	due, version, err := readDue(ctx, c)
	if err != nil || !due.Asked {
		return err
	}
	return c.Commit(store.Patiently(ctx), c.Replace(projection.DueKey, projection.DueEntity, version, projection.Due{At: due.At}).Quietly())
}

// asks reports whether a change asks for a fold.
func asks(c store.Change) bool { return c.Entity == projection.DueEntity }

func readDue(ctx context.Context, c store.Company) (due projection.Due, version int64, err error) {
	item, err := c.Get(ctx, projection.DueKey, &due)
	if errors.Is(err, store.ErrNotFound) {
		err = nil
	}
	return due, item.Version, err
}

// gather folds what is pending, and then these changes.
func (p *Projector) gather(ctx context.Context, c store.Company, was cached, changes []store.Change) (conflict bool, err error) {
	p.keep(c.ID(), was) // for the first attempt
	defer p.forget(c.ID())
	var all []store.Change
	held := 0
	err = projection.EachPending(ctx, c, was.context, func(waiting []store.Change) (err error) {
		all = append(all, waiting...)
		for i := range waiting {
			held += waiting[i].Size()
		}
		if held < maxGathered {
			return nil
		}
		conflict, err = p.attempt(ctx, c, all)
		all, held = nil, 0
		return err
	})
	if err != nil {
		return conflict, err
	}
	return p.attempt(ctx, c, append(all, changes...))
}
