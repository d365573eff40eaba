package syncer

import (
	"context"
	"errors"

	"orgops/shared/base/fault"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/policy"
	"orgops/shared/provider/intake"
	"orgops/shared/storage/store"
)

// These bound the part of a page in one transaction. They leave room for the run's record, the slot and the check of the
// integration's version.
const (
	maxOps   = store.MaxOps - 3
	maxBytes = store.MaxCommit - 2*store.MaxBody
)

// maxTries bounds how often a part is planned again after a concurrent write to the same items.
const maxTries = 8

// part commits as many of a page's actions as fit into one transaction, starting at first, and returns their number. It
// plans again after a concurrent write to one of the items. The commit fails if the integration has changed since the policy
// engine's verdicts.
func (s *slice) part(ctx context.Context, i integration.Stored, p page, first int) (n int, err error) {
	for range maxTries {
		s.record = s.stored
		planned, err := s.plan(ctx, i.Integration, p, first)
		if err != nil {
			return 0, err
		}
		ops := planned.ops
		if first+planned.actions == len(p.actions) {
			more, err := s.turn(ctx, i, p)
			if err != nil {
				return 0, err
			}
			ops = append(ops, more...)
		} else {
			s.progress()
			s.record.Work.Done = max(s.record.Work.Done, first+planned.actions)
		}
		ops = append(ops, s.company.Unchanged(integration.Key(i.Provider), i.Version))
		if err = s.commit(ctx, ops); !errors.Is(err, store.ErrConflict) {
			return planned.actions, err
		}
	}
	return 0, fault.Wrap(fault.Conflict, "other writers keep changing the same items; request another sync", store.ErrConflict)
}

// plan collects the writes of a part.
type plan struct {
	ops     []store.Op
	actions int // how many actions the writes carry out
	bytes   int
	refused bool
}

// plan adds actions until the transaction is full, and counts their outcomes. An earlier try at this page may already have
// written and counted some actions. plan finds these unchanged and does not count them again.
func (s *slice) plan(ctx context.Context, i integration.Integration, p page, first int) (plan, error) {
	planner := intake.Planner{Company: s.company, Integration: i, Engine: s.Engine, Now: s.Now().UTC()}
	var part plan
	for n, a := range p.actions[first:] {
		planned, err := planner.Plan(ctx, a)
		if err != nil {
			return plan{}, err
		}
		took, fits := part.add(s.company, planned)
		if !fits {
			return part, nil
		}
		part.actions++
		written := took && planned.Outcome != intake.Refused
		if written || first+n >= s.stored.Work.Done {
			s.count(planned.Outcome, took)
		}
	}
	return part, nil
}

// add adds the writes of a planned action. took is false if there are no writes, or if the store does not accept their
// size. fits is false if the writes have to wait for the next transaction.
func (part *plan) add(c store.Company, planned intake.Planned) (took, fits bool) {
	if planned.Outcome == intake.Unchanged {
		return false, true
	}
	ops := []store.Op{policy.Create(c, planned.Decision)}
	refused := planned.Outcome == intake.Refused
	if !refused || !part.refused { // one timeline entry covers all refusals of a part
		ops = append(ops, planned.Ops...)
	}
	bytes := 0
	for _, op := range ops {
		if len(op.Body) > store.MaxBody {
			return false, true
		}
		bytes += len(op.Body)
	}
	if len(part.ops)+len(ops) > maxOps || part.bytes+bytes > maxBytes {
		return false, false
	}
	part.ops, part.bytes, part.refused = append(part.ops, ops...), part.bytes+bytes, part.refused || refused
	return true, true
}

func (s *slice) count(o intake.Outcome, took bool) {
	p := &s.record.Progress
	p.Fetched++
	switch {
	case o == intake.Unchanged:
		p.Unchanged++
	case o == intake.Refused, !took:
		p.Failed++
	case o == intake.Created:
		p.Created++
	case o == intake.Updated:
		p.Updated++
	}
}
