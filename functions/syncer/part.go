package syncer

import (
	"context"
	"errors"

	"orgops/shared/fault"
	"orgops/shared/intake"
	"orgops/shared/integration"
	"orgops/shared/policy"
	"orgops/shared/store"
)

// What a transaction may hold of a page, beside the run's record, the slot and the integration's version.
const (
	maxOps   = store.MaxOps - 3
	maxBytes = store.MaxCommit - 2*store.MaxBody
)

// maxTries bounds how often a part is planned again because somebody else wrote the same items.
const maxTries = 8

// part commits as many of a page's actions, from the one at first on, as fit into one transaction, and says how many.
// When somebody else wrote one of the items in between, it is planned again. It holds only while the integration is
// what its verdicts were about.
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
	return 0, fault.Wrap(fault.Conflict, "others keep writing the same items", store.ErrConflict)
}

// plan is the writes of a part.
type plan struct {
	ops     []store.Op
	actions int // how many they carry out
	bytes   int
	refused bool
}

// plan takes actions until the transaction is full, and counts what they come to. What an earlier try at this page has
// counted, and what is unchanged for that reason, is not counted twice.
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

// add takes a planned action's writes. took is false where there are none, or where they are larger than the store
// takes; fits is false when they have to wait for the next transaction.
func (part *plan) add(c store.Company, planned intake.Planned) (took, fits bool) {
	if planned.Outcome == intake.Unchanged {
		return false, true
	}
	ops := []store.Op{policy.Record(c, planned.Decision)}
	refused := planned.Outcome == intake.Refused
	if !refused || !part.refused { // one timeline entry tells of all of a part's refusals
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
