package syncer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"orgops/shared/connector"
	"orgops/shared/fault"
	"orgops/shared/goal"
	"orgops/shared/intake"
	"orgops/shared/integration"
	"orgops/shared/memory"
	"orgops/shared/policy"
	"orgops/shared/store"
	"orgops/shared/syncrun"
)

// chunk is how many actions share a commit, with room for the run's record and its slot.
const chunk = (store.MaxOps - 4) / intake.MaxOpsPerAction

// maxTries bounds how often a chunk is planned again because somebody else wrote the same items.
const maxTries = 8

// page fetches one page and commits it; ended is true when it was the last.
func (s *slice) page(ctx context.Context) (ended bool, err error) {
	i, err := s.integration(ctx)
	if err != nil {
		return false, err
	}
	fetched, err := s.fetch(ctx, i)
	if err != nil {
		return false, err
	}
	actions, failed := drafts(fetched)
	s.record.Progress.Pages++
	s.record.Progress.Fetched += len(actions) + failed
	s.record.Progress.Failed += failed
	s.record.Work.Tries, s.record.Error = 0, ""
	if s.record.Mode == syncrun.Sandbox {
		s.preview(actions)
		actions = nil
	}
	for len(actions) > chunk {
		if err := s.apply(ctx, i, actions[:chunk], s.commit); err != nil {
			return false, err
		}
		actions = actions[chunk:]
	}
	s.record.Work.Checkpoint = fetched.Checkpoint
	if fetched.Checkpoint != nil {
		return false, s.apply(ctx, i, actions, s.commit)
	}
	return true, s.apply(ctx, i, actions, func(ctx context.Context, ops []store.Op) error {
		return s.succeed(ctx, i, fetched.State, ops)
	})
}

func (s *slice) fetch(ctx context.Context, i integration.Integration) (connector.FetchedPage, error) {
	c, _ := s.Connectors.Lookup(i.Provider)
	source, ok := c.(connector.Source)
	if !ok {
		return connector.FetchedPage{}, final(fault.Newf(fault.Conflict, "%s cannot be synced", i.Provider))
	}
	secrets, _, err := integration.LoadSecrets(ctx, s.company, s.Vault, i.Provider)
	if err != nil {
		return connector.FetchedPage{}, err
	}
	state, err := s.state(ctx, i)
	if err != nil {
		return connector.FetchedPage{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, fetchBudget)
	defer cancel()
	return source.Fetch(ctx, connector.Fetch{
		Config: i.Config, Credentials: secrets.Values, Checkpoint: s.record.Work.Checkpoint, State: state, Full: s.record.Full,
	})
}

// state is what the last live run of this very configuration left.
func (s *slice) state(ctx context.Context, i integration.Integration) (json.RawMessage, error) {
	if s.record.Full || s.record.Mode == syncrun.Sandbox {
		return nil, nil
	}
	var slot syncrun.Slot
	_, err := s.company.Get(ctx, syncrun.SlotKey(s.record.Provider), &slot)
	if errors.Is(err, store.ErrNotFound) || slot.ConfigDigest != connector.Digest(i.Config) {
		return nil, nil
	}
	return slot.State, err
}

// drafts is a page's valid items as actions, and how many were not valid.
func drafts(p connector.FetchedPage) (actions []connector.Action, failed int) {
	add := func(a connector.Action) {
		if len(intake.Check(a, "")) > 0 {
			failed++
			return
		}
		actions = append(actions, a)
	}
	for _, m := range p.Memories {
		add(connector.Action{Port: integration.MemoryUpsert, Memory: &m})
	}
	for _, g := range p.Goals {
		add(connector.Action{Port: integration.GoalUpdate, Goal: &g})
	}
	return actions, failed + p.Failed
}

func (s *slice) preview(actions []connector.Action) {
	for _, a := range actions {
		if len(s.record.Preview) == syncrun.MaxPreview {
			return
		}
		switch {
		case a.Memory != nil:
			s.record.Preview = append(s.record.Preview, syncrun.Preview{
				Target: memory.Entity, ExternalID: a.Memory.ExternalID, Kind: a.Memory.Kind, Title: a.Memory.Title, URL: a.Memory.URL})
		case a.Goal != nil:
			s.record.Preview = append(s.record.Preview, syncrun.Preview{
				Target: goal.Entity, ExternalID: a.Goal.ExternalID, Title: a.Goal.Title, URL: a.Goal.URL})
		}
	}
}

// apply plans a chunk and has it written with the counts it comes to. When somebody else wrote one of its items in
// between, it is planned again.
func (s *slice) apply(ctx context.Context, i integration.Integration, actions []connector.Action, write func(context.Context, []store.Op) error) error {
	before := s.record.Progress
	for range maxTries {
		s.record.Progress = before
		ops, err := s.plan(ctx, i, actions)
		if err != nil {
			return err
		}
		if err = write(ctx, ops); !errors.Is(err, store.ErrConflict) {
			return err
		}
	}
	return fmt.Errorf("write a page: %w", store.ErrConflict)
}

func (s *slice) plan(ctx context.Context, i integration.Integration, actions []connector.Action) ([]store.Op, error) {
	planner := intake.Planner{Company: s.company, Integration: i, Engine: s.Engine, Now: s.Now().UTC()}
	var ops []store.Op
	written := map[string]bool{}
	refused := false
	for _, a := range actions {
		p, err := planner.Plan(ctx, a)
		if err != nil {
			return nil, err
		}
		id := p.Decision.Resource.ID
		if written[id] { // the provider listed it twice; the next sync takes the other
			p.Outcome = intake.Unchanged
		}
		written[id] = true
		s.count(p.Outcome)
		if p.Outcome == intake.Unchanged {
			continue
		}
		ops = append(ops, policy.Record(s.company, p.Decision))
		if p.Outcome == intake.Refused && refused {
			continue // one timeline entry tells of all of a chunk's refusals
		}
		refused = refused || p.Outcome == intake.Refused
		ops = append(ops, p.Ops...)
	}
	return ops, nil
}

func (s *slice) count(o intake.Outcome) {
	switch o {
	case intake.Created:
		s.record.Progress.Created++
	case intake.Updated:
		s.record.Progress.Updated++
	case intake.Unchanged:
		s.record.Progress.Unchanged++
	case intake.Refused:
		s.record.Progress.Failed++
	}
}

// succeed ends the run with its last chunk; a live run leaves the connector's state for the next one.
func (s *slice) succeed(ctx context.Context, i integration.Integration, state json.RawMessage, ops []store.Op) error {
	now := s.Now().UTC()
	s.record.State, s.record.FinishedAt, s.record.Work = syncrun.Succeeded, &now, syncrun.Work{}
	key := syncrun.SlotKey(s.record.Provider)
	var slot syncrun.Slot
	item, err := s.company.Get(ctx, key, &slot)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if err == nil && slot.Run == s.record.ID {
		slot.Run = ""
		if s.record.Mode == syncrun.Live {
			slot.State, slot.ConfigDigest = state, connector.Digest(i.Config)
		}
		ops = append(ops, s.company.Replace(key, syncrun.SlotEntity, item.Version, slot).Silent())
	}
	return s.commit(ctx, ops)
}
