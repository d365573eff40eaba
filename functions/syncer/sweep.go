package syncer

import (
	"context"
	"errors"
	"slices"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/syncrun"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/intake"
	"orgops/shared/storage/store"
)

// These bound one turn of a sweep: the pages of stored items that it reads, and their size.
const (
	sweepPages = 10
	sweepItems = 90
)

// lists returns what this run lists completely; ok is false for a run that removes nothing.
func (s *slice) lists(i integration.Integration) (listed connector.Listed, ok bool) {
	lister, ok := s.lister()
	if !ok || !s.record.Full || s.record.Mode != syncrun.Live {
		return connector.Listed{}, false
	}
	return lister.Lists(i.Config), true
}

func (s *slice) lister() (connector.Lister, bool) {
	lister, ok := s.conn.(connector.Lister)
	return lister, ok
}

// shown returns the ids of all items of a page, also of those that were refused.
func (s *slice) shown(page connector.FetchedPage) []string {
	ids := make([]string, 0, len(page.Memories)+len(page.Goals))
	for _, m := range page.Memories {
		ids = append(ids, memory.IDOf(s.record.Provider, s.record.Incarnation, m.ExternalID))
	}
	for _, g := range page.Goals {
		ids = append(ids, goal.IDOf(s.record.Provider, s.record.Incarnation, g.ExternalID))
	}
	return ids
}

// sweep looks at the next stored items and removes those that no page of the run has shown. It commits the removals with its
// place in one transaction, and plans again after a concurrent write to one of the items. At the end it ends the run.
func (s *slice) sweep(ctx context.Context, i integration.Stored) (err error) {
	if s.seen == nil {
		if s.seen, err = syncrun.LoadSeen(ctx, s.company, s.record.ID); err != nil {
			return err
		}
	}
	for range maxTries {
		s.record = s.stored
		ops, err := s.removals(ctx, i)
		if err != nil {
			return err
		}
		ops = append(ops, s.company.Unchanged(integration.Key(i.Provider), i.Version))
		if err = s.commit(ctx, ops); !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return fault.Wrap(fault.Conflict, "other writers keep changing the same items; request another sync", store.ErrConflict)
}

// removals returns the writes of one turn, and moves the run's place behind the items that it has looked at.
func (s *slice) removals(ctx context.Context, i integration.Stored) ([]store.Op, error) {
	listed, _ := s.lists(i.Integration)
	s.progress()
	at := *s.record.Work.Sweep
	if ops, goOn, err := s.weigh(ctx, i.Integration, listed, &at); err != nil || !goOn {
		return ops, err
	}
	var part plan
	for range sweepPages {
		if at.Entity == "" {
			ops, err := s.finish(ctx, i.Integration, syncrun.Close{State: at.State, Swept: s.missing(at)})
			return append(part.writes(s.company), ops...), err
		}
		page, err := s.company.Query(ctx, store.Query{Prefix: prefixOf(at.Entity), After: at.After, Limit: sweepItems})
		if err != nil {
			return nil, err
		}
		full, err := s.remove(ctx, i.Integration, listed, &part, &at, page.Items)
		if err != nil {
			return nil, err
		}
		if !full {
			at.Entity, at.After = behind(at.Entity, page.Next, listed)
		}
		s.record.Work.Sweep = &at
		if len(part.ops) > 0 {
			break
		}
	}
	return part.writes(s.company), nil
}

// remove adds the removal of each item that is gone to a part. full reports that the part took no more; at then points behind
// the last item that it took.
func (s *slice) remove(
	ctx context.Context, i integration.Integration, listed connector.Listed, part *plan, at *syncrun.Sweep, items []store.Item,
) (full bool, err error) {
	planner := s.planner(i)
	for _, item := range items {
		c, err := s.candidate(item, listed)
		if err != nil {
			return false, err
		}
		if s.misses(c) {
			planned, err := planner.Remove(ctx, c.action, item.Version)
			if err != nil {
				return false, err
			}
			if fits, err := s.carryOut(ctx, i, c, planned, part, at); err != nil || !fits {
				return true, err
			}
		}
		at.After = item.Key
	}
	return false, nil
}

// carryOut adds a planned removal to a part, or puts it off to the next full run. A refusal is not put off: the list would fill
// with items that are never removed.
func (s *slice) carryOut(
	ctx context.Context, i integration.Integration, c candidate, planned intake.Planned, part *plan, at *syncrun.Sweep,
) (fits bool, err error) {
	removed := planned.Outcome == intake.Removed
	if removed {
		sure, err := s.sure(ctx, i, c)
		if err != nil {
			return false, err
		}
		if !sure {
			s.putOff(c, at)
			return true, nil
		}
	}
	_, fits, err = part.add(planned)
	if err == nil && fits && removed {
		s.record.Progress.Deleted++
	}
	return fits, err
}

// candidate holds a stored item that a sweep looks at.
type candidate struct {
	action  connector.Action // about the item
	id      string
	updated time.Time
	listed  bool // the run lists all items of this kind
	version int64
}

// added reports whether the item was stored first since a time.
func (c candidate) added(since time.Time) bool { return c.version == 1 && !c.updated.Before(since) }

func (s *slice) candidate(item store.Item, listed connector.Listed) (candidate, error) {
	if item.Entity == goal.Entity {
		var g goal.Goal
		err := item.Decode(&g)
		return candidate{intake.StoredGoal(g), g.ID, g.UpdatedAt, s.own(g.Provider, g.Incarnation), item.Version}, err
	}
	var m memory.Memory
	err := item.Decode(&m)
	return candidate{intake.StoredMemory(m), m.ID, m.UpdatedAt, s.own(m.Provider, m.Incarnation) && slices.Contains(listed.Kinds, m.Kind), item.Version}, err
}

// own reports whether an item belongs to the integration of the run, and not to a former one of its name.
func (s *slice) own(provider, incarnation string) bool {
	return provider == s.record.Provider && incarnation == s.record.Incarnation
}

// misses reports whether the run should have shown an item and has not. It spares an item that changed during the run, because
// the provider may have sent it after its page was fetched.
func (s *slice) misses(c candidate) bool {
	return c.listed && c.updated.Before(*s.record.StartedAt) && !s.seen.Has(c.id)
}

// behind returns the place behind a page of stored items.
func behind(entity, after string, listed connector.Listed) (string, string) {
	if after == "" {
		entity = following(entity, listed)
	}
	return entity, after
}

// following returns the entity that a sweep looks at after another one, or "" at the end.
func following(entity string, listed connector.Listed) string {
	switch {
	case entity == "" && len(listed.Kinds) > 0:
		return memory.Entity
	case entity != goal.Entity && listed.Goals:
		return goal.Entity
	}
	return ""
}

func prefixOf(entity string) string {
	if entity == goal.Entity {
		return goal.Prefix
	}
	return memory.Prefix
}

// writes returns the writes of a part with its decisions.
func (part *plan) writes(c store.Company) []store.Op {
	if len(part.decisions) == 0 {
		return part.ops
	}
	return append(part.ops, policy.CreatePage(c, part.decisions))
}
