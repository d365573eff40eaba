package syncer

import (
	"context"
	"errors"
	"fmt"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/base/metric"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/syncrun"
	"orgops/shared/provider/connector"
	"orgops/shared/storage/store"
)

// slice holds one worker's turn at a run.
type slice struct {
	*Syncer
	company store.Company
	until   time.Time

	record  syncrun.StoredRun // as the next write stores it
	stored  syncrun.StoredRun // as the store has it; after a failed write, record is reset to it
	version int64
	refusal *policy.Decision // on the host from which the page would have been fetched
	conn    connector.Connector
	written time.Time       // when the record was
	ahead   store.Company   // the integration and its credentials, as read before the page in hand
	slot    *syncrun.Slot   // as read by this slice; no other worker writes it while the run has it
	source  string          // of the page in hand
	base    string          // through which it came, see connector.Fetch
	tallies []*goal.Tally   // of the page in hand
	resumed bool            // the page in hand was fetched with the state of the run before
	seen    syncrun.Seen    // what the pages of a full run have shown; nil until the sweep needs it
	missed  *missed         // what the full run before has missed; nil until a page or the sweep needs it
	found   syncrun.Digests // what the run has shown of that, when it has ended
}

var (
	// errTaken reports that the run was written concurrently, by a cancellation or another worker.
	errTaken = errors.New("the run was changed concurrently")
	// errMoved reports that the integration changed while a page was fetched.
	errMoved = errors.New("the integration was changed concurrently")
)

// backoff lists the waits after consecutive failures without progress. One more failure ends the run.
func backoff() []time.Duration {
	return []time.Duration{10 * time.Second, 30 * time.Second, 90 * time.Second, 270 * time.Second}
}

// maxLost limits the fetches of a page that no worker comes back from. One more would be likely to end another process.
const maxLost = 3

func (s *slice) load(ctx context.Context, runID string) error {
	var r syncrun.StoredRun
	item, err := s.company.Get(ctx, syncrun.Key(runID), &r)
	if err == nil {
		s.record, s.stored, s.version, s.written = r, r, item.Version, s.Now()
	}
	return err
}

// waitUntil returns the time at which another worker's lease, the provider's throttle and the wait for a user end. A cancellation
// waits for the lease alone.
func (s *slice) waitUntil() time.Time {
	wait := s.record.Work.LeaseUntil
	if t, waits := s.record.Waits(); waits && t.After(wait) && !s.record.Work.CancelRequested {
		wait = t
	}
	if t := s.record.ThrottledUntil; t != nil && t.After(wait) && !s.record.Work.CancelRequested {
		wait = *t
	}
	return wait
}

// run claims the run and works on it page by page. The claim counts the first fetch, and each page the next one, before it
// begins. So a page that ends the process cannot do so forever.
func (s *slice) run(ctx context.Context) (due time.Time, err error) {
	if s.record.Work.CancelRequested {
		return s.end(ctx, syncrun.Cancelled, "")
	}
	if _, waits := s.record.Waits(); waits {
		return s.end(ctx, syncrun.Cancelled, fmt.Sprintf(
			"no user confirmed the removal within %d days, so nothing was removed; look at the provider, then request another full sync", syncrun.Await/(24*time.Hour)))
	}
	if s.record.Work.Begun >= maxLost {
		s.Logger.ErrorContext(ctx, "sync page ends its workers", "company", s.company.ID(), "run", s.record.ID, "provider", s.record.Provider)
		return s.end(ctx, syncrun.Failed, fmt.Sprintf(
			"the sync stopped %d times in the middle of the same page; check what the provider sends, then request another sync", maxLost))
	}
	now := s.Now().UTC()
	if s.record.StartedAt == nil {
		s.record.StartedAt = &now
	}
	s.record.State, s.record.ThrottledUntil, s.record.Work.LeaseUntil = syncrun.Running, nil, now.Add(lease)
	s.record.Work.Begun++
	if err := s.commit(ctx, nil); err != nil {
		return s.again(ctx, err)
	}
	for {
		ended, err := s.page(ctx)
		switch {
		case errors.Is(err, errTaken):
			return s.again(ctx, err)
		case errors.Is(err, errMoved): // fetch the page again, if the run may continue
			s.record = s.stored
		case err != nil:
			return s.failed(ctx, err)
		case ended:
			return time.Time{}, nil
		}
		if _, waits := s.record.Waits(); waits {
			return time.Time{}, nil
		}
		if until := s.record.ThrottledUntil; until != nil {
			return s.handBack(ctx, *until)
		}
		if ctx.Err() != nil || !s.Now().Before(s.until) {
			return s.handBack(ctx, s.Now())
		}
	}
}

// again handles errTaken. It ends a cancelled run. Otherwise it asks for another slice in a second, which waits if another
// worker holds a lease.
func (s *slice) again(ctx context.Context, err error) (time.Time, error) {
	if !errors.Is(err, errTaken) {
		return time.Time{}, err
	}
	ctx = context.WithoutCancel(ctx)
	err = s.load(ctx, s.record.ID)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return time.Time{}, nil
	case err != nil || s.record.State.Ended():
		return time.Time{}, err
	case s.record.Work.CancelRequested:
		return s.end(ctx, syncrun.Cancelled, "")
	}
	return s.Now().Add(time.Second), nil
}

// handBack releases the lease and asks for a message, so that any worker can continue the run at due. This worker has come back
// from its fetch.
func (s *slice) handBack(ctx context.Context, due time.Time) (time.Time, error) {
	s.record.Work.LeaseUntil = time.Time{}
	s.record.Work.Begun--
	s.record.Work.Ask(due)
	if err := s.commit(context.WithoutCancel(ctx), nil); err != nil {
		return s.again(ctx, err)
	}
	return time.Time{}, nil
}

// maxThrottled limits for how long a provider may throttle every fetch of a run. Providers' limits renew within a day. A run
// without this limit would keep the schedule from running, and its failure from being noticed.
const maxThrottled = 24 * time.Hour

// The shortest wait for a throttle, even if the provider asks for less: a second, and later a thirtieth of the time for which it has
// throttled every request. A provider that says "at once" for a day is asked 300 times.
const (
	soonest = time.Second
	share   = 30
)

// failed decides from a page's error whether the run waits, retries or fails. It discards counts that were not written.
func (s *slice) failed(ctx context.Context, cause error) (time.Time, error) {
	s.record = s.stored
	if ctx.Err() != nil { // a shutdown is not the provider's failure
		return s.handBack(ctx, s.Now())
	}
	throttled := new(connector.ThrottledError)
	if errors.As(cause, &throttled) && !throttled.Failing {
		return s.throttled(ctx, throttled.Until.UTC())
	}
	if errors.Is(cause, errFinal) || errors.Is(cause, connector.ErrRefused) || errors.Is(cause, connector.ErrEndless) {
		return s.end(ctx, syncrun.Failed, public(cause))
	}
	waits := backoff()
	if errors.Is(cause, connector.ErrNotListed) { // it has answered, so it is likely to answer the same again
		waits = waits[:1]
	}
	s.Logger.WarnContext(ctx, "sync page failed", "company", s.company.ID(), "run", s.record.ID, "provider", s.record.Provider, "error", cause)
	if s.record.Work.Tries >= len(waits) {
		return s.end(ctx, syncrun.Failed, public(cause))
	}
	wait := max(waits[s.record.Work.Tries], throttled.Until.Sub(s.Now()))
	s.record.Work.Tries++
	s.record.Error = public(cause)
	return s.handBack(ctx, s.Now().Add(wait))
}

// throttled lets the run wait until the provider takes requests again.
func (s *slice) throttled(ctx context.Context, until time.Time) (time.Time, error) {
	now := s.Now().UTC()
	if s.record.Work.Throttled.IsZero() {
		s.record.Work.Throttled = now
	}
	if now.Sub(s.record.Work.Throttled) >= maxThrottled {
		return s.end(ctx, syncrun.Failed, "the provider has throttled every request for a day; check the limits of the credentials, then request another sync")
	}
	if earliest := now.Add(max(soonest, now.Sub(s.record.Work.Throttled)/share)); until.Before(earliest) {
		until = earliest
	}
	s.record.ThrottledUntil = &until
	return s.handBack(ctx, until)
}

// errFinal marks a failure that a retry cannot fix.
var errFinal = errors.New("final")

func final(err error) error { return fmt.Errorf("%w: %w", errFinal, err) }

// public returns the text of an error that a run may show: the detail of a fault, or a general text for any other error.
func public(err error) string {
	var f *fault.Error
	if errors.As(err, &f) {
		return f.Detail
	}
	return "the provider could not be fetched"
}

// end writes the run's final state and frees the provider's slot, which keeps the connector's state for the next run.
func (s *slice) end(ctx context.Context, state syncrun.State, reason string) (time.Time, error) {
	ctx = context.WithoutCancel(ctx)
	for range maxTries {
		s.record = s.stored
		s.conclude(state, reason)
		ops, err := s.ending(ctx, state)
		if err != nil {
			return time.Time{}, err
		}
		if s.refusal != nil {
			ops = append(ops, policy.Create(s.company, *s.refusal))
		}
		if err = s.commit(ctx, ops); !errors.Is(err, store.ErrConflict) && !errors.Is(err, errMoved) {
			return s.again(ctx, err)
		}
	}
	return time.Time{}, fmt.Errorf("end the run: %w", store.ErrConflict)
}

func (s *slice) conclude(state syncrun.State, reason string) {
	now := s.Now().UTC()
	s.found = s.record.Work.Found
	s.record.State, s.record.Error, s.record.FinishedAt, s.record.Work = state, reason, &now, syncrun.Work{}
	if r := s.record.Removal; r != nil { // it waits no more
		told := *r
		told.Until = nil
		s.record.Removal = &told
	}
}

// freeSlot returns the write that frees the slot for the provider's next run; keep may edit the slot. What the run has shown is
// no longer missed, however the run ended. A slot that no longer belongs to this run, because the integration was deleted,
// stays unchanged.
func (s *slice) freeSlot(ctx context.Context, keep func(*syncrun.Slot)) ([]store.Op, error) {
	key := syncrun.SlotKey(s.record.Provider)
	var slot syncrun.Slot
	item, err := s.company.Get(ctx, key, &slot)
	if errors.Is(err, store.ErrNotFound) || err == nil && slot.Run != s.record.ID {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	slot.Run, slot.Missed = "", slot.Missed.Without(s.found)
	if keep != nil {
		keep(&slot)
	}
	return []store.Op{s.company.Replace(key, syncrun.SlotEntity, item.Version, slot).Quietly()}, nil
}

// commit writes the record together with ops, and with the list of what the pages have shown since the last write. A conflict on the record returns errTaken, on the integration errMoved, and
// on any other item store.ErrConflict.
func (s *slice) commit(ctx context.Context, ops []store.Op) error {
	key := syncrun.Key(s.record.ID)
	op := s.company.Replace(key, syncrun.Entity, s.version, s.record).Until(s.record.RequestedAt.Add(syncrun.Kept))
	all := append([]store.Op{op}, ops...)
	if shown := s.record.Work.Shown; len(shown) > 0 {
		all = append(all, syncrun.See(s.company, s.record.Run, s.record.Progress.Pages, shown))
	}
	err := s.company.Commit(store.Yielding(ctx), all...)
	var conflict *store.ConflictError
	switch {
	case err == nil:
		s.record.Work.Shown = nil
		s.keep()
		s.version++
		s.written = s.Now()
	case !errors.As(err, &conflict):
	case conflict.Key == key:
		return errTaken
	case conflict.Key == integration.Key(s.record.Provider):
		return errMoved
	}
	return err
}

// keep takes the record as what the next write begins from.
func (s *slice) keep() {
	s.measure()
	s.stored = s.record
}

// A page that changes nothing is not written at once. unwritten limits for how long, and so how late the API shows progress and a
// cancellation ends the run; maxShown limits the items that the next write has to list. Such a page is fetched again if its worker is lost.
const (
	unwritten = 5 * time.Second
	maxShown  = 5000
)

// skips reports whether a page whose writes are ops needs none.
func (s *slice) skips(p page, ops []store.Op) bool {
	return len(ops) == 0 && p.fetched.Checkpoint != nil && s.record.ThrottledUntil == nil &&
		len(s.record.Work.Shown) <= maxShown && s.Now().Sub(s.written) < unwritten
}

// measure counts the items that a page has added to the record, and the end of a run.
func (s *slice) measure() {
	s.Metrics.Count(metric.SyncItems, s.record.Progress.Fetched-s.stored.Progress.Fetched)
	switch s.record.State {
	case syncrun.Succeeded:
		s.Metrics.Count(metric.SyncsSucceeded, 1)
	case syncrun.Failed:
		s.Metrics.Trouble(metric.SyncsFailed, s.company.ID())
	}
}

// integration returns the run's integration as it is now. If the integration may no longer sync, the error ends the run.
func (s *slice) integration(ctx context.Context) (integration.Stored, error) {
	i, version, err := integration.Load(ctx, s.ahead, s.record.Provider)
	stored := integration.Stored{Integration: i, Version: version}
	switch {
	case fault.KindOf(err) == fault.NotFound:
		return stored, final(err)
	case err != nil:
		return stored, err
	case i.Incarnation != s.record.Incarnation:
		return stored, final(fault.New(fault.Conflict, "the integration was deleted after the sync was requested; request another sync"))
	case i.IsDamaged():
		return stored, final(i.Usable())
	case i.Suspended:
		return stored, final(fault.New(fault.Suspended, "the company was suspended"))
	case !i.Enabled:
		return stored, final(fault.New(fault.Conflict, "the integration was disabled"))
	case s.record.Mode == syncrun.Live && !i.Allows(integration.SyncPull, s.Now()):
		return stored, final(fault.New(fault.Conflict, "the integration went back to the sandbox"))
	}
	return stored, nil
}

// keepTo binds the run to the source that its first page comes from. The checkpoint, what the pages have shown and the state
// for the next run belong to that source. If the integration has since been pointed at another one, was deleted and configured
// again, or has other permissions, the error ends the run: it would miss items of the new source and remove others.
func (s *slice) keepTo(ctx context.Context, i integration.Integration) (err error) {
	s.conn, err = s.Connectors.Of(ctx, s.company, i)
	switch fault.KindOf(err) {
	case fault.NotFound, fault.Conflict: // deleted, or a manifest that this release cannot use
		return final(err)
	}
	if err != nil {
		return err
	}
	digest, err := s.Connectors.CertifiedDigest(s.conn, i.Config)
	if err != nil {
		return final(err)
	}
	s.source = i.CreatedAt.UTC().Format(time.RFC3339Nano) + " " + digest + narrowed(i)
	if i.Manifest != nil {
		s.source += " " + i.Manifest.Digest
	}
	if began := s.stored.Work.Source; began != "" && began != s.source {
		return final(fault.New(fault.Conflict, "the configuration was changed while the sync was under way; request another sync"))
	}
	return nil
}
