package assessment

import (
	"slices"
	"strings"

	"orgops/shared/domain/goal"
	"orgops/shared/domain/recommendation"
	"orgops/shared/insight/projection"
)

// Turn names a recommendation whose condition has ended, or has begun to hold, maybe after a success.
type Turn struct {
	Holds                 bool
	recommendation.Stored // as computed; only the id if it was not computed before the change
}

// Turns compares the facts before and after a change, and lists what the change means for recommendations. It takes the
// time from the facts after the change.
func Turns(was, next projection.Context) []Turn {
	asOf := AsOf(next.UpdatedAt)
	before, after := computed(look(was, asOf, "")), computed(look(next, asOf, ""))
	var turns []Turn
	for name, s := range before {
		if _, holds := after[name]; !holds && !unlisted(next, s) && next.Recommendations[name].State != recommendation.Succeeded {
			turns = append(turns, Turn{false, s})
		}
	}
	for name, s := range after {
		known, decided := next.Recommendations[name]
		if _, held := before[name]; known.Relapsed() || !held && !decided { // the context may know of no success, or not yet
			turns = append(turns, Turn{true, s})
		}
	}
	for name, known := range next.Recommendations {
		_, holds := after[name]
		_, held := before[name]
		if !holds && !held && !known.Relapsed() && !overfull(next) {
			turns = append(turns, Turn{false, recommendation.Stored{ID: name}})
		}
	}
	slices.SortFunc(turns, func(a, b Turn) int { return strings.Compare(a.ID, b.ID) })
	return turns
}

func computed(v view) map[string]recommendation.Stored {
	all := map[string]recommendation.Stored{}
	for _, r := range v.holding() {
		all[r.ID] = r.Stored()
	}
	return all
}

// unlisted reports whether a goal's recommendation is missing only because the context lists no more goals.
func unlisted(p projection.Context, s recommendation.Stored) bool {
	return s.Subject.Type == goal.Entity && overfull(p)
}

// overfull reports whether the company has more goals to recommend than the context lists.
func overfull(p projection.Context) bool { return p.Goals.Open > projection.MaxGoals }

// Next returns what to store for a turn, from what is stored (the zero value for nothing); ok is false if that is right
// already.
func (t Turn) Next(stored recommendation.Stored, p projection.Context) (next recommendation.Stored, ok bool) {
	switch {
	case t.Holds && !stored.Relapsed(), !t.Holds && stored.Relapsed():
		return stored, false
	case t.Holds:
		next = t.Stored
		next.Standing = stored.Standing
		next.Priority = t.Priority
		return next.Reopen("", p.UpdatedAt), true
	case stored.ID != "":
		return stored.End(p.UpdatedAt), true
	}
	return t.End(p.UpdatedAt), t.Rule != ""
}
