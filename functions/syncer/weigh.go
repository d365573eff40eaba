package syncer

import (
	"context"
	"fmt"
	"strings"
	"time"

	"orgops/shared/domain/integration"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/syncrun"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/intake"
	"orgops/shared/storage/store"
)

// weigh counts what a sweep would remove, before it removes anything. goOn reports that the removal may begin; ops belong to this
// turn otherwise. The sweep then points at the first item that the run has not shown, and at the end if the run has shown all of them.
func (s *slice) weigh(
	ctx context.Context, i integration.Integration, listed connector.Listed, at *syncrun.Sweep,
) (ops []store.Op, goOn bool, err error) {
	if at.Weighed {
		return nil, true, nil
	}
	if at.Entity == "" {
		at.Entity = following("", listed)
	}
	for range sweepPages {
		page, err := s.company.Query(ctx, store.Query{Prefix: prefixOf(at.Entity), After: at.After, Limit: sweepItems})
		if err != nil {
			return nil, false, err
		}
		if err := s.weighPage(ctx, i, listed, at, page.Items); err != nil {
			return nil, false, err
		}
		was := at.Entity
		at.Entity, at.After = behind(at.Entity, page.Next, listed)
		if at.Entity != was {
			at.Weight = at.Weight.Turn()
		}
		s.record.Work.Sweep = at
		if at.Entity == "" {
			return s.weighed(ctx, i, at)
		}
	}
	return nil, false, nil
}

// weighPage counts stored items. Those whose removal the policies deny, or which the next full run decides on, stay.
func (s *slice) weighPage(ctx context.Context, i integration.Integration, listed connector.Listed, at *syncrun.Sweep, items []store.Item) error {
	planner := s.planner(i)
	for _, item := range items {
		c, err := s.candidate(item, listed)
		if err != nil {
			return err
		}
		if c.listed {
			at.Weight.List.Items++
		}
		if c.listed && !c.added(*s.record.StartedAt) {
			at.Weight.Items++
		}
		if s.misses(c) {
			if at.Weight.First == nil {
				at.Weight.First = &syncrun.Place{Entity: at.Entity, After: at.After}
			}
			goes, err := s.goes(ctx, planner, c, item.Version)
			if err != nil {
				return err
			}
			if goes {
				at.Weight.Gone++
				at.Weight.List.Gone++
			}
		}
		at.After = item.Key
	}
	return nil
}

// goes reports whether this run would remove an item that it has missed.
func (s *slice) goes(ctx context.Context, planner *intake.Planner, c candidate, version int64) (bool, error) {
	planned, err := planner.Remove(ctx, c.action, version)
	if err != nil || planned.Outcome != intake.Removed {
		return false, err
	}
	return s.sure(ctx, planner.Integration, c)
}

func (s *slice) planner(i integration.Integration) *intake.Planner {
	return &intake.Planner{Company: s.company, Integration: i, Engine: s.Engine, Now: s.Now().UTC()}
}

// weighed decides on a removal that was counted. A heavy one needs a policy that allows it, or a user.
func (s *slice) weighed(ctx context.Context, i integration.Integration, at *syncrun.Sweep) (ops []store.Op, goOn bool, err error) {
	w := at.Weight
	at.Weighed, at.Weight = true, syncrun.Weight{}
	if w.First != nil {
		at.Entity, at.After = w.First.Entity, w.First.After
	}
	if w.Gone > 0 && !w.Emptied {
		slot, err := s.held(ctx)
		if err != nil {
			return nil, false, err
		}
		w.Emptied = slot.Filled.Emptied(s.record.Work.Lists, s.source)
	}
	if !w.Heavy() {
		return nil, true, nil
	}
	d, refusal, err := s.planner(i).RemoveMany(ctx, w.Gone, w.Items)
	if err != nil {
		return nil, false, err
	}
	told := &syncrun.Removal{Items: w.Gone, Of: w.Items}
	ops = []store.Op{policy.Create(s.company, d)}
	switch {
	case d.Verdict == policy.Permitted:
		told.Reason = "the policies allow the removal in advance"
	case len(d.Policies) > 0:
		told.Reason = "the policies forbid the removal, so nothing was removed: " + strings.Join(d.Reasons, "; ")
		more, err := s.finish(ctx, i, syncrun.Close{State: at.State})
		s.record.Removal = told
		return append(append(ops, refusal), more...), false, err
	default: // no policy is about it
		s.await(told, w)
		return nil, false, nil
	}
	s.record.Removal = told
	return ops, false, nil
}

// await lets the run wait for a user. It gives the lease back, because no worker has anything to do meanwhile.
func (s *slice) await(told *syncrun.Removal, w syncrun.Weight) {
	until := s.Now().UTC().Add(syncrun.Await)
	told.Until = &until
	told.Reason = fmt.Sprintf("the run would remove %d of %d items, which is more than half", w.Gone, w.Items)
	if w.Emptied {
		told.Reason = fmt.Sprintf("a list of the provider is empty now, and the run would remove %d of %d items", w.Gone, w.Items)
	}
	s.record.State, s.record.Removal = syncrun.Awaiting, told
	s.record.Error = fmt.Sprintf("%s; nothing is removed before a user confirms it, or cancels the run, until %s", told.Reason, until.Format(time.RFC3339))
	s.record.Work.LeaseUntil, s.record.Work.Begun = time.Time{}, 0
	s.record.Work.Ask(until)
}
