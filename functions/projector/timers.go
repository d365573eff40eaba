package projector

import (
	"maps"
	"slices"
	"strings"
	"time"

	"orgops/shared/domain/goal"
	"orgops/shared/domain/timeline"
	"orgops/shared/insight/projection"
	"orgops/shared/provider/intake"
	"orgops/shared/storage/store"
)

// maxReviews limits the goals that one commit lets review. A further one is reviewed when its work changes again, or by its
// pace.
const maxReviews = 10

// timers returns the ops that set the timers of what follows later from the changes between two contexts.
func timers(c store.Company, was, next projection.Context, now time.Time) []store.Op {
	return append(brief(c, was, next, now), reviews(c, was, next)...)
}

// isTimer reports whether a key is that of a timer of the company. Only such keys hold the company's id.
func isTimer(c store.Company, key string) bool { return strings.Contains(key, "#"+c.ID()+"#") }

// brief returns the op that sets the timer of the weekly brief, when the changes folded are the first ones of the company or
// the first since the last brief was due. The entry of each brief is such a change, so the briefs go on by themselves.
func brief(c store.Company, was, next projection.Context, now time.Time) []store.Op {
	if next.UpdatedAt.Equal(was.UpdatedAt) || !was.UpdatedAt.IsZero() && next.UpdatedAt.Before(timeline.NextBrief(c.ID(), was.UpdatedAt)) {
		return nil
	}
	if next.UpdatedAt.After(now) { // the clock of the process that committed the change is ahead
		now = next.UpdatedAt
	}
	if was.UpdatedAt.IsZero() {
		now = now.Add(timeline.BriefAge)
	}
	return []store.Op{timeline.SetBrief(c, now)}
}

// reviews returns the ops that set a timer for each goal whose work has begun to stall or to go on again: the ticker then
// reviews its alignment. A goal that gets its first open work has a timer of when the work becomes stale.
func reviews(c store.Company, was, next projection.Context) []store.Op {
	var ops []store.Op
	for _, goalID := range slices.Sorted(maps.Keys(next.Goals.Work)) {
		before, after := was.Goals.Work[goalID], next.Goals.Work[goalID]
		if before == after || len(ops) == maxReviews {
			continue
		}
		switch {
		case before.Stalled(next.UpdatedAt) != after.Stalled(next.UpdatedAt):
			ops = append(ops, intake.ReviewWork(c, goalID, next.UpdatedAt))
		case todo(before) == 0 && todo(after) > 0:
			ops = append(ops, intake.ReviewWork(c, goalID, after.StaleAt()))
		}
	}
	return ops
}

func todo(w goal.Work) int { return w.Open + w.Blocked }
