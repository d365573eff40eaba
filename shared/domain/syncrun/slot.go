package syncrun

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/storage/store"
)

// Slot names the run of a provider that has not ended, "" if every run has. A provider has one slot, so it has at most one
// such run.
type Slot struct {
	Run string `json:"run"`
	// State holds what the connector keeps between runs: validators (ETag, Last-Modified) and cursors.
	// It is valid only for the configuration with this digest, and for the narrowed permissions that follow the digest.
	State        json.RawMessage `json:"state,omitempty"`
	ConfigDigest string          `json:"configDigest,omitempty"`
	Began        time.Time       `json:"began,omitzero"` // when the run began that left the state

	// Denied is when a run began that read items which the policies denied, and which no run has read since.
	Denied time.Time `json:"denied,omitzero"`
	// Unanswered is when the approvals have expired that such a run has asked for. Their items are read again then.
	Unanswered time.Time `json:"unanswered,omitzero"`

	FullAt   time.Time `json:"fullAt,omitzero"`   // when the last full live run succeeded
	Failures int       `json:"failures,omitzero"` // live runs that failed since the last success
	Schedule time.Time `json:"schedule,omitzero"` // the beginning of the schedule that Failures counts for
	Failing  time.Time `json:"failing,omitzero"`  // since when every live run has failed

	Missed Missed `json:"missed,omitzero"` // what the next full run removes if it misses it too
	Filled Filled `json:"filled,omitzero"` // the lists that the next full run asks about if they are empty
}

// FreeSlot returns the provider's slot if no run holds it. A run that expired before it ended no longer holds the slot.
func FreeSlot(ctx context.Context, c store.Company, provider string) (Slot, int64, error) {
	var slot Slot
	item, err := c.Get(ctx, SlotKey(provider), &slot)
	if errors.Is(err, store.ErrNotFound) {
		return slot, 0, nil
	}
	if err != nil || slot.Run == "" {
		return slot, item.Version, store.Fault(err, "")
	}
	var holder Run
	_, err = c.Get(ctx, Key(slot.Run), &holder)
	_, waits := holder.Waits()
	switch {
	case err == nil && waits:
		return slot, 0, fault.Newf(fault.SyncRunning, "run %s of %s waits for a user to confirm a removal; confirm it or cancel it", slot.Run, provider)
	case err == nil:
		return slot, 0, fault.Newf(fault.SyncRunning, "run %s of %s has not ended; wait for it or cancel it", slot.Run, provider)
	case errors.Is(err, store.ErrNotFound):
		return slot, item.Version, nil
	}
	return slot, 0, store.Fault(err, "")
}

// Begin returns the ops that request a run and take the provider's free slot, which was read at version.
func Begin(c store.Company, run StoredRun, slot Slot, version int64) []store.Op {
	slot.Run = run.ID
	return []store.Op{
		c.Create(Key(run.ID), Entity, run).Until(run.RequestedAt.Add(Kept)),
		c.Save(SlotKey(run.Provider), SlotEntity, version, slot).Quietly(),
	}
}

// FullEvery is how often a scheduled run is a full one, which also finds what the provider has deleted.
const FullEvery = 7 * 24 * time.Hour

// Fail returns the slot after a live run that failed at now, under a schedule that began at since.
func (s Slot) Fail(since, now time.Time) Slot {
	if !s.Schedule.Equal(since) {
		s.Schedule, s.Failures = since, 0
	}
	s.Failures++
	if s.Failing.IsZero() {
		s.Failing = now
	}
	return s
}

// Decided returns the slot after a run that began at a time and left its work. The approvals that it has asked for expire until another
// time. A run that read only what had changed leaves the items of the runs before undecided.
func (s Slot) Decided(w Work, began, until time.Time) Slot {
	if !w.Resumed {
		s.Denied, s.Unanswered = time.Time{}, time.Time{}
	}
	if w.Denied && s.Denied.IsZero() {
		s.Denied = began
	}
	if w.Asked && s.Unanswered.IsZero() {
		s.Unanswered = until
	}
	return s
}

// Succeed returns the slot after a live run that succeeded at now.
func (s Slot) Succeed(full bool, now time.Time) Slot {
	s.Failures, s.Schedule, s.Failing = 0, time.Time{}, time.Time{}
	if full {
		s.FullAt = now
	}
	return s
}
