package parked

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"orgops/shared/storage/store"
)

// trialEntity names the entity of a trial's item.
const trialEntity = "trial"

// trialKept limits how long a trial is kept: longer than any feed hands its changes out again.
const trialKept = 7 * 24 * time.Hour

// MaxLost limits how often a consumer begins one change alone and does not come back. One more try would be likely to end
// another process.
const MaxLost = 3

// lostFor is how long processes must have ended at the same changes before a consumer looks for the change that ends them: one change at
// a time is slow, and an operator or a supervisor may kill a process a few times in a row.
const lostFor = time.Minute

// ErrLost gives the reason of a change that ends its consumer's process.
var ErrLost = fmt.Errorf("the consumer began this change alone %d times, and its process ended or did not answer in time each time", MaxLost)

// Trial finds the change with which a consumer's process ends. The consumer begins a trial before it works on changes that it
// may have begun before. If earlier processes began a trial at the same change, the first of them a minute ago, and did not come back,
// the consumer works on one change at a time, and the trial stores which one, before the work.
type Trial struct {
	lot     Lot
	company store.Company
	key     string
	version int64
	again   bool
	state   lost
}

// lost records since when processes end, the change that was begun alone last and how often, and those that were begun too often.
type lost struct {
	Since   time.Time        `json:"since"`
	Suspect store.Sequence   `json:"suspect,omitempty"`
	Times   int              `json:"times,omitempty"`
	Refused []store.Sequence `json:"refused,omitempty"`
	Back    bool             `json:"back,omitempty"` // the process came back from all of the changes at once
}

// Begin begins a trial of the changes from first on. It costs one write, and a read if an earlier process began it. A trial
// of a change without a company has no effect.
func (l Lot) Begin(ctx context.Context, first store.Change) (*Trial, error) {
	t := &Trial{lot: l}
	if first.Company == "" {
		return t, nil
	}
	t.company, t.key = store.For(l.Store, first.Company), "TRIAL#"+l.Consumer+"#"+string(first.Sequence)
	ctx, cancel := context.WithTimeout(ctx, parkTimeout)
	defer cancel()
	now := l.Now().UTC()
	t.state.Since = now
	err := t.save(ctx)
	if !errors.Is(err, store.ErrConflict) {
		return t, err
	}
	item, err := t.company.Get(ctx, t.key, &t.state)
	if err != nil {
		return t, err
	}
	t.version, t.again = item.Version, !t.state.Back && now.Sub(t.state.Since) >= lostFor
	if t.state.Back {
		t.state.Since, t.state.Back = now, false
		err = t.save(ctx)
	}
	return t, err
}

// Again reports whether processes have ended in the same trial for long enough.
func (t *Trial) Again() bool { return t.again }

// Try stores that the consumer begins a change alone. It returns false, and stores nothing, if the consumer did so MaxLost
// times and did not come back. The other changes before the last begun change are known to be harmless.
func (t *Trial) Try(ctx context.Context, c store.Change) (bool, error) {
	next := lost{Since: t.state.Since, Suspect: c.Sequence, Times: 1, Refused: t.state.Refused}
	switch order := c.Sequence.Compare(t.state.Suspect); {
	case slices.Contains(t.state.Refused, c.Sequence):
		return false, nil
	case t.company.ID() == "" || order < 0:
		return true, nil
	case order == 0 && t.state.Times >= MaxLost:
		t.state.Refused = append(t.state.Refused, c.Sequence) // stored with the next change
		return false, nil
	case order == 0:
		next.Times = t.state.Times + 1
	}
	before := t.state
	t.state = next
	ctx, cancel := context.WithTimeout(ctx, parkTimeout)
	defer cancel()
	err := t.save(ctx)
	if err != nil {
		t.state = before
	}
	return err == nil, err
}

// Return stores that the consumer has come back and will begin the same changes again, because one has failed.
func (t *Trial) Return(ctx context.Context) error {
	if t.version == 0 {
		return nil
	}
	t.state.Times, t.state.Back = 0, !t.again
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), parkTimeout)
	defer cancel()
	return t.save(ctx)
}

func (t *Trial) save(ctx context.Context) error {
	op := t.company.Save(t.key, trialEntity, t.version, t.state).Until(t.lot.Now().Add(trialKept)).Quietly()
	if err := t.company.Commit(ctx, op); err != nil {
		return err
	}
	t.version++
	return nil
}
