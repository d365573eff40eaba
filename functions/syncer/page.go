package syncer

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/domain/approval"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/memory"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/syncrun"
	"orgops/shared/domain/timeline"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/intake"
	"orgops/shared/provider/policyengine"
	"orgops/shared/storage/store"
)

// page holds the result of one fetch.
type page struct {
	actions  []connector.Action // the valid ones, one per item
	repeated int                // items that the page lists again
	skipped  []connector.Skipped
	fetched  connector.FetchedPage
	items    store.Company // the stored items of the actions before readTo
	readTo   int
}

// page fetches and commits one page; ended reports whether it was the last.
func (s *slice) page(ctx context.Context) (ended bool, err error) {
	s.ahead, err = s.company.Ahead(ctx, integration.Key(s.record.Provider), integration.CredentialKey(s.record.Provider))
	if err != nil {
		return false, store.Fault(err, "")
	}
	i, err := s.integration(ctx)
	if err != nil {
		return false, err
	}
	if err := s.keepTo(ctx, i.Integration); err != nil {
		return false, err
	}
	switch {
	case s.record.Work.Close != nil:
		return s.inBackground(ctx, func() error { return s.close(ctx, i) })
	case s.record.Work.Sweep != nil:
		return s.inBackground(ctx, func() error { return s.sweep(ctx, i) })
	}
	fetched, err := s.fetch(ctx, i.Integration)
	if err != nil {
		return false, err
	}
	return s.inBackground(ctx, func() error { return s.take(ctx, i, fetched) })
}

// inBackground runs what a page costs the process itself, and reports whether the run has ended.
func (s *slice) inBackground(ctx context.Context, work func() error) (ended bool, err error) {
	if s.Background == nil {
		err = work()
	} else {
		err = s.Background(ctx, work)
	}
	return s.record.State.Ended(), err
}

// take commits what a page has brought.
func (s *slice) take(ctx context.Context, i integration.Stored, fetched connector.FetchedPage) error {
	i, err := s.learn(ctx, i, fetched)
	if err != nil {
		return err
	}
	p := read(fetched)
	if s.record.Mode == syncrun.Sandbox {
		return s.rehearse(ctx, i, p)
	}
	for done := 0; ; {
		n, err := s.part(ctx, i, &p, done)
		if done += n; err != nil || done == len(p.actions) {
			return err
		}
	}
}

func (s *slice) fetch(ctx context.Context, i integration.Integration) (connector.FetchedPage, error) {
	source, ok := s.conn.(connector.Source)
	if !ok {
		return connector.FetchedPage{}, final(fault.Newf(fault.Conflict, "%s cannot be synced", i.Provider))
	}
	values, base, err := s.credentials(ctx, source, i)
	if err != nil {
		return connector.FetchedPage{}, err
	}
	if began := s.stored.Work; began.Source != "" && began.Base != base {
		return connector.FetchedPage{}, final(fault.New(fault.Conflict, "the integration was connected in another way while the sync was under way; request another sync"))
	}
	s.base = base
	state, whole, err := s.state(ctx, i)
	if err != nil {
		return connector.FetchedPage{}, err
	}
	if s.tallies, err = s.tallying(ctx, i); err != nil {
		return connector.FetchedPage{}, err
	}
	s.resumed = state != nil && !whole
	ctx, cancel := context.WithTimeout(ctx, fetchBudget)
	defer cancel()
	if missing := connector.Missing(source, i.Config, slices.Collect(maps.Keys(values))); len(missing) > 0 {
		return connector.FetchedPage{}, final(fault.Newf(fault.Conflict, "the credential %s is not stored; store it, then sync again", missing[0]))
	}
	return s.permitted(ctx, i, func(ctx context.Context) (connector.FetchedPage, error) {
		return connector.FetchPage(ctx, source, connector.Fetch{
			Config: i.Config, Credentials: values, Base: base, Checkpoint: s.record.Work.Checkpoint, State: state, Full: whole, Mapper: &s.mappings,
			Tallies: s.tallies,
		})
	})
}

// credentials returns what the integration fetches with. If only a person can help, the error ends the run.
func (s *slice) credentials(ctx context.Context, c connector.Connector, i integration.Integration) (values map[string]string, base string, err error) {
	secrets, version, err := integration.LoadSecrets(ctx, s.ahead, s.Vault, i.Provider)
	if err != nil {
		return nil, "", err
	}
	values, base, err = s.Access.Values(ctx, s.company, c, i, secrets, version)
	if fault.KindOf(err) == fault.Conflict {
		err = final(err)
	}
	return values, base, err
}

// learn stores when the credentials expire if the provider says so with a page and it is news. That is once for each token, so
// it is a write of its own.
func (s *slice) learn(ctx context.Context, i integration.Stored, fetched connector.FetchedPage) (integration.Stored, error) {
	told, news := i.CredentialsEnd(fetched.CredentialsUntil)
	if !news {
		return i, nil
	}
	told.UpdatedAt = s.Now().UTC()
	op := s.company.Replace(integration.Key(i.Provider), integration.Entity, i.Version, told)
	err := s.company.Commit(ctx, append(told.CredentialsEnding(s.company, i.Version+1), op)...)
	if errors.Is(err, store.ErrConflict) {
		return i, errMoved
	}
	return integration.Stored{Integration: told, Version: i.Version + 1}, err
}

// state returns the state that the last live run left, if it ran with the same configuration, permissions and credentials. whole reports whether
// everything is read all the same: in a full run, after the policies that have denied an item changed, and after an approval that an item waited
// for has expired.
func (s *slice) state(ctx context.Context, i integration.Integration) (state json.RawMessage, whole bool, err error) {
	whole = s.record.Full
	if s.record.Mode == syncrun.Sandbox {
		return nil, whole, nil
	}
	slot, err := s.held(ctx)
	if err != nil || slot.ConfigDigest != basis(i) || renewed(i, slot.Began) {
		return nil, whole, err
	}
	if !whole {
		whole, err = s.undecided(ctx, slot)
	}
	return slot.State, whole, err
}

// held returns the slot that the run has.
func (s *slice) held(ctx context.Context) (syncrun.Slot, error) {
	if s.slot == nil {
		var slot syncrun.Slot
		_, err := s.company.Get(ctx, syncrun.SlotKey(s.record.Provider), &slot)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return slot, err
		}
		s.slot = &slot
	}
	return *s.slot, nil
}

// undecided reports whether the policies have changed since they denied an item that no run has read since, or an approval of such an
// item may have expired. An engine may have denied it by the policies of a moment before.
func (s *slice) undecided(ctx context.Context, slot syncrun.Slot) (bool, error) {
	if !slot.Unanswered.IsZero() && !s.Now().Before(slot.Unanswered) {
		return true, nil
	}
	if slot.Denied.IsZero() {
		return false, nil
	}
	stored, _, err := policy.Load(ctx, s.company)
	return stored.UpdatedAt.After(slot.Denied.Add(-policyengine.Fresh)), err
}

// basis identifies what a connector's state belongs to: the configuration, and the permissions if they are narrowed. With wider
// ones a run has to fetch again what was denied.
func basis(i integration.Integration) string { return connector.Digest(i.Config) + narrowed(i) }

// narrowed tells narrowed permissions from each other. It returns "" for an integration with all of them.
func narrowed(i integration.Integration) (ports string) {
	if i.Narrowed {
		for _, port := range i.Permissions {
			ports += " " + string(port)
		}
	}
	return ports
}

// read converts a page's items into actions. Of an item that the page lists again it takes the latest state. Without times that is the
// deletion, or the first one.
func read(fetched connector.FetchedPage) page {
	p := page{fetched: fetched, skipped: slices.Clone(fetched.Skipped)}
	type kept struct {
		at      int // among the actions
		changed *time.Time
	}
	seen := map[string]kept{}
	add := func(a connector.Action, id string, changed *time.Time) {
		if !a.Gone && len(intake.Problems(a)) > 0 {
			p.skipped = append(p.skipped, intake.Skip(a))
			return
		}
		before, again := seen[id]
		switch {
		case !again:
			seen[id] = kept{len(p.actions), changed}
			p.actions = append(p.actions, a)
			return
		case later(changed, before.changed), a.Gone && !later(before.changed, changed):
			seen[id] = kept{before.at, changed}
			p.actions[before.at] = a
		}
		p.repeated++
	}
	for _, m := range fetched.Memories {
		add(connector.Action{Port: integration.MemoryUpsert, Memory: &m}, memory.Entity+m.ExternalID, m.UpdatedAt)
	}
	for _, g := range fetched.Goals {
		add(connector.Action{Port: integration.GoalUpdate, Goal: &g}, goal.Entity+g.ExternalID, g.UpdatedAt)
	}
	for _, a := range fetched.Gone {
		if a.Goal != nil {
			add(a, goal.Entity+a.Goal.ExternalID, a.Goal.UpdatedAt)
		} else {
			add(a, memory.Entity+a.Memory.ExternalID, a.Memory.UpdatedAt)
		}
	}
	for _, n := range fetched.Notes {
		add(connector.Action{Port: integration.TimelineNote, Note: &n}, timeline.Entity+cmp.Or(n.Once, n.Subject+n.Title), nil)
	}
	return p
}

// later reports whether one time is after another, if both are known.
func later(one, other *time.Time) bool { return one != nil && other != nil && one.After(*other) }

// rehearse commits only a preview of the page, in the run's record.
func (s *slice) rehearse(ctx context.Context, i integration.Stored, p page) error {
	p.actions = slices.DeleteFunc(p.actions, func(a connector.Action) bool { return a.Gone })
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
		case a.Memory != nil: // truncated as it would be stored
			m, _ := memory.Apply(memory.Memory{}, s.record.Provider, *a.Memory, s.Now())
			items = append(items, syncrun.Preview{
				Target: memory.Entity, ExternalID: m.ExternalID, Kind: m.Kind, Title: m.Title, URL: m.URL})
		case a.Goal != nil:
			items = append(items, syncrun.Preview{
				Target: goal.Entity, ExternalID: a.Goal.ExternalID, Title: a.Goal.Title, URL: a.Goal.URL})
		case a.Note != nil:
			items = append(items, syncrun.Preview{Target: string(timeline.Note), ExternalID: a.Note.Subject, Title: a.Note.Title})
		}
	}
	s.record.Preview = items
}

// turn ends a page. It updates the record's counts, and sets either the checkpoint of the next page or the end of the run.
// It returns the writes that belong in the transaction of the page's last part. At the end of a live run they store the
// connector's state for the next run.
func (s *slice) turn(ctx context.Context, i integration.Stored, p page) ([]store.Op, error) {
	s.progress()
	s.record.Progress.Pages++
	s.record.Progress.Fetched += len(p.skipped) + p.repeated
	s.record.Progress.Unchanged += p.repeated
	s.record.Progress.Failed += len(p.skipped)
	for _, skipped := range p.skipped {
		s.record.Skip(skipped.Reason, skipped.Item)
	}
	for _, warning := range p.fetched.Warnings {
		s.record.Warn(warning)
	}
	s.record.Work.Done, s.record.Work.Checkpoint = 0, p.fetched.Checkpoint
	s.record.Work.Incomplete = s.record.Work.Incomplete || p.fetched.Incomplete
	s.record.Work.Shifting = s.record.Work.Shifting || p.fetched.Shifting
	s.record.Work.Tallies = nil
	for _, t := range s.tallies {
		s.record.Work.Tallies = append(s.record.Work.Tallies, *t)
	}
	shown := s.shown(p.fetched)
	if err := s.find(ctx, shown); err != nil {
		return nil, err
	}
	_, sweeping := s.lists(i.Integration)
	s.record.Work.Shown = slices.Concat(s.record.Work.Shown, shown)
	if list := p.fetched.List; sweeping && list != "" && len(shown) > 0 && !s.record.Work.Lists.Has(list) {
		s.record.Work.Lists = slices.Clone(s.record.Work.Lists).Add(list)
	}
	if sweeping = sweeping && !s.record.Work.Incomplete; !sweeping {
		s.record.Work.Shown = nil
	}
	switch {
	case p.fetched.Checkpoint != nil:
		if p.fetched.NotBefore.After(s.Now()) {
			until := p.fetched.NotBefore.UTC()
			s.record.ThrottledUntil = &until
		}
		return nil, nil
	case sweeping:
		s.record.Work.Sweep = &syncrun.Sweep{State: p.fetched.State}
		return nil, nil
	}
	return s.finish(ctx, i.Integration, syncrun.Close{State: p.fetched.State})
}

// succeed ends the run, and returns the write that frees the slot and keeps the connector's state for the next run. Without a sweep, the
// list of what the run before has missed stays.
func (s *slice) succeed(ctx context.Context, i integration.Integration, c syncrun.Close) ([]store.Op, error) {
	work := s.record.Work
	s.conclude(syncrun.Succeeded, "")
	return s.freeSlot(ctx, func(slot *syncrun.Slot) {
		if s.record.Mode == syncrun.Live {
			now := s.Now().UTC()
			*slot = slot.Succeed(s.record.Full, now).Decided(work, *s.record.StartedAt, now.Add(approval.Waits))
			slot.State, slot.ConfigDigest, slot.Began = c.State, basis(i), *s.record.StartedAt
		}
		if c.Swept != nil {
			slot.Missed, slot.Filled = *c.Swept, slot.Filled.After(work.Lists, s.source, *c.Swept)
		}
	})
}

// progress resets the tries and renews the lease, with every write that advances a run. It counts this worker's next fetch, and
// keeps the source of the page.
func (s *slice) progress() {
	if s.record.Progress.Pages == 0 {
		s.record.Work.Resumed = s.resumed
	}
	s.record.Work.Tries, s.record.Error, s.record.Work.LeaseUntil = 0, "", s.Now().UTC().Add(lease)
	s.record.Work.Begun, s.record.Work.Source, s.record.Work.Throttled = 1, s.source, time.Time{}
	s.record.Work.Base = s.base
}
