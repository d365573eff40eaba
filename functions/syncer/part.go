package syncer

import (
	"context"
	"encoding/json"
	"errors"

	"orgops/shared/base/fault"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/policy"
	"orgops/shared/provider/intake"
	"orgops/shared/storage/store"
)

// These bound what one transaction holds of a page, next to the run's record, the slot, the integration's version and the
// decisions. A page of up to maxOps memories therefore commits with its checkpoint in one transaction.
const (
	maxOps       = store.MaxOps - 4
	maxBytes     = store.MaxCommit - 3*store.MaxBody
	maxDecisions = store.MaxBody - 1<<10 // bytes of all decisions, which are one item
)

// maxTries bounds how often a part is planned again after a concurrent write to the same items.
const maxTries = 8

// part commits as many of a page's actions as fit into one transaction, starting at first, and returns their number. It
// plans again after a concurrent write to one of the items. The commit fails if the integration has changed since the policy
// engine's verdicts.
func (s *slice) part(ctx context.Context, i integration.Stored, p *page, first int) (n int, err error) {
	for range maxTries {
		s.record = s.stored
		planned, err := s.plan(ctx, i.Integration, p, first)
		if err != nil {
			return 0, err
		}
		ops := planned.writes(s.company)
		if first+planned.actions == len(p.actions) {
			more, err := s.turn(ctx, i, *p)
			if err != nil {
				return 0, err
			}
			ops = append(ops, more...)
			if s.skips(*p, ops) {
				s.keep()
				return planned.actions, nil
			}
		} else {
			s.progress()
			s.record.Work.Done = max(s.record.Work.Done, first+planned.actions)
		}
		ops = append(ops, s.company.Unchanged(integration.Key(i.Provider), i.Version))
		if err = s.commit(ctx, ops); !errors.Is(err, store.ErrConflict) {
			return planned.actions, err
		}
		p.readTo = 0
	}
	return 0, fault.Wrap(fault.Conflict, "other writers keep changing the same items; request another sync", store.ErrConflict)
}

// read reads the stored items of the next actions with one call, unless those of action n have been read.
func (p *page) read(ctx context.Context, planner *intake.Planner, n int) (err error) {
	if n < p.readTo {
		return nil
	}
	next := p.actions[n:min(n+store.MaxKeys, len(p.actions))]
	var keys []string
	for _, a := range next {
		if key := planner.Key(a); key != "" {
			keys = append(keys, key)
		}
	}
	p.readTo = n + len(next)
	p.items, err = planner.Company.Ahead(ctx, keys...)
	return store.Fault(err, "")
}

// plan collects the writes of a part.
type plan struct {
	ops       []store.Op
	decisions []policy.Decision
	actions   int // how many actions the writes carry out
	bytes     int // of ops
	decided   int // bytes of decisions
	refused   bool
}

// plan adds actions until the transaction is full, and counts their outcomes. An earlier try at this page may already have
// written and counted some actions. plan finds these unchanged and does not count them again.
func (s *slice) plan(ctx context.Context, i integration.Integration, p *page, first int) (plan, error) {
	planner := s.planner(i)
	var part plan
	for n, a := range p.actions[first:] {
		if err := p.read(ctx, planner, first+n); err != nil {
			return plan{}, err
		}
		planner.Company = p.items
		planned, err := planner.Plan(ctx, a)
		if err != nil {
			return plan{}, err
		}
		took, fits, err := part.add(planned)
		if err != nil {
			return plan{}, err
		}
		if !fits {
			return part, nil
		}
		part.actions++
		written := took && planned.Acts()
		if written || first+n >= s.stored.Work.Done {
			s.count(planned, took)
		}
	}
	return part, nil
}

// add adds the writes and the decision of a planned action, without the decision if only a time is written. took is false if there
// are no writes, or if the store does not accept their size. fits is false if they have to wait for the next transaction.
func (part *plan) add(planned intake.Planned) (took, fits bool, err error) {
	unchanged, refused := planned.Outcome == intake.Unchanged, planned.Outcome == intake.Refused
	if unchanged && len(planned.Ops) == 0 {
		return false, true, nil
	}
	ops := planned.Ops
	if refused && part.refused { // one timeline entry covers all refusals of a part
		ops = nil
	}
	bytes := 0
	for _, op := range ops {
		if len(op.Body) > store.MaxBody {
			return false, true, nil
		}
		bytes += len(op.Body)
	}
	decision, err := json.Marshal(planned.Decision)
	if err != nil {
		return false, false, err
	}
	decided := part.decided + len(decision) + 1
	if len(part.ops)+len(ops) > maxOps || part.bytes+bytes > maxBytes || decided > maxDecisions {
		return false, false, nil
	}
	part.ops, part.bytes, part.refused = append(part.ops, ops...), part.bytes+bytes, part.refused || refused
	if !unchanged {
		part.decisions, part.decided = append(part.decisions, planned.Decision), decided
	}
	return true, true, nil
}

func (s *slice) count(planned intake.Planned, took bool) {
	p := &s.record.Progress
	if planned.Outcome == intake.Removed {
		p.Deleted++
		return
	}
	if planned.Action.Gone && planned.Outcome == intake.Unchanged {
		return
	}
	p.Fetched++
	s.record.Work.Denied = s.record.Work.Denied || planned.Outcome == intake.Refused || planned.Outcome == intake.Pending
	s.record.Work.Asked = s.record.Work.Asked || planned.Outcome == intake.Pending
	reason := ""
	switch o := planned.Outcome; {
	case o == intake.Unchanged:
		p.Unchanged++
	case o == intake.Refused:
		reason = "the policies deny it"
	case o == intake.Pending:
		reason = "it waits for an approval"
	case !took:
		reason = "it is too large to be stored"
	case o == intake.Created:
		p.Created++
	case o == intake.Updated:
		p.Updated++
	}
	if reason != "" {
		p.Failed++
		s.record.Skip(reason, intake.Name(planned.Action))
	}
}
