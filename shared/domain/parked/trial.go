package parked

import (
	"context"
	"errors"
	"fmt"
	"maps"
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

// Trial finds the change with which a consumer's process ends, or a timer of the ticker with that effect. The consumer begins a trial
// before it works on changes that it may have begun before. If earlier processes began a trial at the same change, the first of them a
// minute ago, and did not come back, the consumer works on one change at a time, and the trial stores which one, before the work.
type Trial struct {
	lot     Lot
	company store.Company
	key     string
	version int64
	again   bool
	state   lost
}

// lost records since when processes end, which change was begun alone last, and how often in a row a process ended with a change
// that it had begun alone.
type lost struct {
	Since   time.Time              `json:"since"`
	Suspect *store.Sequence        `json:"suspect,omitempty"`
	Lost    map[store.Sequence]int `json:"lost,omitempty"`
	Back    bool                   `json:"back,omitempty"` // the process came back from all of the changes at once
}

// died counts the suspect, from which no process has come back.
func (l *lost) died() {
	if l.Suspect == nil {
		return
	}
	if l.Lost == nil {
		l.Lost = map[store.Sequence]int{}
	}
	l.Lost[*l.Suspect]++
	l.Suspect = nil
}

// returned clears the suspect, from which the process has come back.
func (l lost) returned() lost {
	if l.Suspect != nil {
		l.Lost = maps.Clone(l.Lost)
		delete(l.Lost, *l.Suspect)
		l.Suspect = nil
	}
	return l
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
	for errors.Is(err, store.ErrConflict) {
		err = t.join(ctx, now)
	}
	return t, err
}

// join reads the trial that an earlier process began, and begins it again if that process came back. It returns store.ErrConflict if
// another process does so at the same time.
func (t *Trial) join(ctx context.Context, now time.Time) error {
	t.state = lost{}
	item, err := t.company.Get(ctx, t.key, &t.state)
	if err != nil {
		return err
	}
	t.version, t.again = item.Version, !t.state.Back && now.Sub(t.state.Since) >= lostFor
	t.state.died()
	if !t.state.Back {
		return nil
	}
	t.state.Since, t.state.Back = now, false
	return t.save(ctx)
}

// Again reports whether processes have ended in the same trial for long enough.
func (t *Trial) Again() bool { return t.again }

// Try stores that the consumer begins a change alone, and has come back from the one before. It returns false, and stores nothing, if
// the consumer did so MaxLost times in a row and did not come back.
func (t *Trial) Try(ctx context.Context, c store.Change) (bool, error) {
	if t.state.Lost[c.Sequence] >= MaxLost {
		return false, nil
	}
	if t.company.ID() == "" {
		return true, nil
	}
	next := t.state.returned()
	next.Suspect = &c.Sequence
	return true, t.change(ctx, next)
}

// Return stores that the consumer has come back and will begin the same changes again, because one has failed.
func (t *Trial) Return(ctx context.Context) error {
	if t.version == 0 {
		return nil
	}
	next := t.state.returned()
	next.Back = !t.again
	return t.change(context.WithoutCancel(ctx), next)
}

// change stores a new state within parkTimeout.
func (t *Trial) change(ctx context.Context, next lost) error {
	ctx, cancel := context.WithTimeout(ctx, parkTimeout)
	defer cancel()
	before := t.state
	t.state = next
	err := t.save(ctx)
	if err != nil {
		t.state = before
	}
	return err
}

func (t *Trial) save(ctx context.Context) error {
	op := t.company.Save(t.key, trialEntity, t.version, t.state).Until(t.lot.Now().Add(trialKept)).Quietly()
	if err := t.company.Commit(ctx, op); err != nil {
		return err
	}
	t.version++
	return nil
}
