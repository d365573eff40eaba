package syncer

import (
	"context"
	"encoding/json"
	"errors"

	"orgops/shared/connector"
	"orgops/shared/fault"
	"orgops/shared/goal"
	"orgops/shared/intake"
	"orgops/shared/integration"
	"orgops/shared/memory"
	"orgops/shared/store"
	"orgops/shared/syncrun"
)

// page is what one fetch brought.
type page struct {
	actions  []connector.Action // the valid ones, each item once
	repeated int                // items that the page listed before; the next sync takes them as they are then
	failed   int                // items that are not valid
	fetched  connector.FetchedPage
}

// page fetches one page and commits it; ended is true when it was the last.
func (s *slice) page(ctx context.Context) (ended bool, err error) {
	i, err := s.integration(ctx)
	if err != nil {
		return false, err
	}
	fetched, err := s.fetch(ctx, i.Integration)
	if err != nil {
		return false, err
	}
	p := read(fetched)
	if s.record.Mode == syncrun.Sandbox {
		return fetched.Checkpoint == nil, s.rehearse(ctx, i, p)
	}
	for done := 0; ; {
		n, err := s.part(ctx, i, p, done)
		if done += n; err != nil || done == len(p.actions) {
			return fetched.Checkpoint == nil, err
		}
	}
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
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	if slot.ConfigDigest != connector.Digest(i.Config) {
		return nil, nil
	}
	return slot.State, nil
}

// read is a page's items as actions.
func read(fetched connector.FetchedPage) page {
	p := page{fetched: fetched, failed: fetched.Failed}
	seen := map[string]bool{}
	add := func(a connector.Action, id string) {
		switch {
		case len(intake.Check(a, "")) > 0:
			p.failed++
		case seen[id]:
			p.repeated++
		default:
			seen[id] = true
			p.actions = append(p.actions, a)
		}
	}
	for _, m := range fetched.Memories {
		add(connector.Action{Port: integration.MemoryUpsert, Memory: &m}, memory.Entity+m.ExternalID)
	}
	for _, g := range fetched.Goals {
		add(connector.Action{Port: integration.GoalUpdate, Goal: &g}, goal.Entity+g.ExternalID)
	}
	return p
}

// rehearse commits nothing of a page but what the run shows of it.
func (s *slice) rehearse(ctx context.Context, i integration.Stored, p page) error {
	s.record.Progress.Fetched += len(p.actions)
	s.preview(p.actions)
	ops, err := s.turn(ctx, i, p)
	if err != nil {
		return err
	}
	return s.commit(ctx, ops)
}

func (s *slice) preview(actions []connector.Action) {
	items := append([]syncrun.Preview{}, s.record.Preview...)
	for _, a := range actions {
		if len(items) == syncrun.MaxPreview {
			break
		}
		switch {
		case a.Memory != nil: // cut as it would be stored
			m, _ := memory.Apply(memory.Memory{}, s.record.Provider, *a.Memory, s.Now())
			items = append(items, syncrun.Preview{
				Target: memory.Entity, ExternalID: m.ExternalID, Kind: m.Kind, Title: m.Title, URL: m.URL})
		case a.Goal != nil:
			items = append(items, syncrun.Preview{
				Target: goal.Entity, ExternalID: a.Goal.ExternalID, Title: a.Goal.Title, URL: a.Goal.URL})
		}
	}
	s.record.Preview = items
}

// turn is what goes with the last write of a page: its counts, and the checkpoint of the next page or the run's end. A
// live run leaves the connector's state for the next one.
func (s *slice) turn(ctx context.Context, i integration.Stored, p page) ([]store.Op, error) {
	s.progress()
	s.record.Progress.Pages++
	s.record.Progress.Fetched += p.failed + p.repeated
	s.record.Progress.Unchanged += p.repeated
	s.record.Progress.Failed += p.failed
	s.record.Work.Done, s.record.Work.Checkpoint = 0, p.fetched.Checkpoint
	if p.fetched.Checkpoint != nil {
		return nil, nil
	}
	s.conclude(syncrun.Succeeded, "")
	return s.freeSlot(ctx, func(slot *syncrun.Slot) {
		if s.record.Mode == syncrun.Live {
			slot.State, slot.ConfigDigest = p.fetched.State, connector.Digest(i.Config)
		}
	})
}

// progress is what every write that gets a run further does.
func (s *slice) progress() {
	s.record.Work.Tries, s.record.Error, s.record.Work.LeaseUntil = 0, "", s.Now().UTC().Add(lease)
}
