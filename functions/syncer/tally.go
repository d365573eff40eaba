package syncer

import (
	"context"
	"errors"
	"fmt"

	"orgops/shared/base/fault"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/syncrun"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/intake"
	"orgops/shared/storage/store"
)

// tallying returns the tallies that the page in hand goes on with. A run begins with those of the goals that the integration measures.
func (s *slice) tallying(ctx context.Context, i integration.Integration) (all []*goal.Tally, err error) {
	if s.record.Mode != syncrun.Live {
		return nil, nil
	}
	if s.record.Progress.Pages > 0 {
		for _, t := range s.record.Work.Tallies {
			all = append(all, &t)
		}
		return all, nil
	}
	for _, goalID := range i.Goals {
		g, err := s.measured(ctx, goalID)
		if err != nil {
			return nil, err
		}
		if source, ok := g.Source(); ok && source.Provider == i.Provider && g.State == goal.Open {
			all = append(all, &goal.Tally{Goal: goalID, Source: source})
		}
	}
	return all, nil
}

// measured reads a goal. Of a goal that is gone it returns the zero Goal.
func (s *slice) measured(ctx context.Context, goalID string) (g goal.Goal, err error) {
	_, err = s.company.Get(ctx, goal.Key(goalID), &g)
	if errors.Is(err, store.ErrNotFound) {
		return goal.Goal{}, nil
	}
	return g, err
}

// finish ends a run that has read, and swept, everything. A run that measures goals moves them in a transaction of its own, because that of its
// last page may be full.
func (s *slice) finish(ctx context.Context, i integration.Integration, c syncrun.Close) ([]store.Op, error) {
	if len(s.record.Work.Tallies) == 0 {
		return s.succeed(ctx, i, c)
	}
	s.record.Work.Sweep, s.record.Work.Close = nil, &c
	return nil, nil
}

// close moves the goals that the run measures, and ends it. It plans again after a concurrent write to one of the goals.
func (s *slice) close(ctx context.Context, i integration.Stored) error {
	for range maxTries {
		s.record = s.stored
		part, err := s.readings(ctx, i.Integration)
		if err != nil {
			return err
		}
		ops, err := s.succeed(ctx, i.Integration, *s.record.Work.Close)
		if err != nil {
			return err
		}
		ops = append(append(part.writes(s.company), ops...), s.company.Unchanged(integration.Key(i.Provider), i.Version))
		if err = s.commit(ctx, ops); !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return fault.Wrap(fault.Conflict, "other writers keep changing the goals that the sync measures; request another sync", store.ErrConflict)
}

// This constant compiles only if the readings of one run fit into one transaction.
const _ = uint(maxOps - goal.MaxSourced*intake.MaxOpsPerAction)

// readings plans the numbers that the run has read. A number that the goal has already needs no decision.
func (s *slice) readings(ctx context.Context, i integration.Integration) (part plan, err error) {
	planner := s.planner(i)
	for _, t := range s.record.Work.Tallies {
		if s.record.Work.Shifting && t.Source.Aggregate.Counts() {
			s.record.Warn("the pages of this list are numbered, so a record that was created or removed while it was read may be counted twice, or left out, until the next full sync")
		}
		old, err := s.measured(ctx, t.Goal)
		if err != nil {
			return plan{}, err
		}
		value, problem := t.Result()
		if problem != "" {
			s.unmoved(old, problem)
			continue
		}
		reading := goal.Reading{Goal: t.Goal, Title: old.Title, Source: t.Source, Current: value}
		g, changed := goal.Read(old, reading, planner.Now)
		if !changed {
			continue
		}
		reading.Progress = g.Progress
		planned, err := planner.Plan(ctx, connector.Action{Port: integration.GoalUpdate, Reading: &reading})
		if err != nil {
			return plan{}, err
		}
		if _, _, err := part.add(planned); err != nil {
			return plan{}, err
		}
		switch planned.Outcome {
		case intake.Refused:
			s.unmoved(old, "the policies deny it")
		case intake.Pending:
			s.unmoved(old, "it waits for an approval")
		}
	}
	return part, nil
}

// unmoved warns that a goal keeps its value.
func (s *slice) unmoved(g goal.Goal, why string) {
	s.record.Warn(fmt.Sprintf("the goal %q keeps its value: %s", g.Title, why))
}
