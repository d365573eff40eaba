package ticker

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"orgops/shared/domain/goal"
	"orgops/shared/insight/projection"
	"orgops/shared/provider/intake"
	"orgops/shared/storage/store"
)

// reviewGoal writes a goal whose alignment has changed with time or with the work on it, and sets a timer for the next such
// change.
func (t *Ticker) reviewGoal(ctx context.Context, c store.Company, subject string) ([]store.Op, error) {
	goalID, timerOf, _ := strings.Cut(subject, "@")
	var old goal.Goal
	item, err := c.Get(ctx, goal.Key(goalID), &old)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	p, _, err := projection.Load(ctx, c)
	if err != nil {
		return nil, err
	}
	if p.Deleted(old.Provider, old.Incarnation) { // it is kept as its integration left it
		return nil, nil
	}
	now, work := t.Now().UTC(), p.Goals.Work[goalID]
	var ops []store.Op
	if timerOf == intake.WorkReview {
		if ops, err = t.watch(ctx, c, goalID, work, now); err != nil {
			return nil, err
		}
	}
	g, changed := goal.Review(old, work.Stalled(now), now)
	if !changed { // a newer write of the goal has its own timer; without one, time may change the goal later
		return append(ops, unchanged(c, timerOf, old, item.Version, now)...), nil
	}
	ops = append(ops, c.Replace(goal.Key(goalID), goal.Entity, item.Version, g))
	return append(ops, intake.Review(c, g, item.Version+1, now)...), nil
}

// unchanged returns the next timer of a goal that its review has not changed, if the goal has not been written since the
// timer was set.
func unchanged(c store.Company, timerOf string, g goal.Goal, version int64, now time.Time) []store.Op {
	if timerOf != strconv.FormatInt(version, 10) {
		return nil
	}
	return intake.Review(c, g, version, now)
}

// watch returns the timer of the moment at which open work becomes stale. Another timer may have set it already.
func (t *Ticker) watch(ctx context.Context, c store.Company, goalID string, w goal.Work, now time.Time) ([]store.Op, error) {
	at := w.StaleAt()
	if w.Open+w.Blocked == 0 || !at.After(now) {
		return nil, nil
	}
	op := intake.ReviewWork(c, goalID, at)
	_, err := t.Store.Get(ctx, op.Partition, op.Key)
	if errors.Is(err, store.ErrNotFound) {
		return []store.Op{op}, nil
	}
	return nil, err
}
