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

// Step holds what the facts before and after a change recommend, by the ids of the recommendations, as of the time of the facts after it.
type Step struct {
	was, next     projection.Context
	before, after map[string]Recommendation
}

// Compare compares the facts before and after a change.
func Compare(was, next projection.Context) Step {
	asOf := AsOf(next.UpdatedAt)
	return Step{was, next, look(was, asOf, "").byID(), look(next, asOf, "").byID()}
}

func (v view) byID() map[string]Recommendation {
	all := map[string]Recommendation{}
	for _, r := range v.holding() {
		all[r.ID] = r
	}
	return all
}

// Turns lists what the change means for recommendations.
func (s Step) Turns() []Turn {
	var turns []Turn
	for name, r := range s.before {
		if _, holds := s.after[name]; !holds && !unlisted(s.next, r) && s.next.Recommendations[name].State != recommendation.Succeeded {
			turns = append(turns, Turn{false, r.Stored()})
		}
	}
	for name, r := range s.after {
		known, decided := s.next.Recommendations[name]
		if _, held := s.before[name]; known.Relapsed() || !held && !decided { // the context may know of no success, or not yet
			turns = append(turns, Turn{true, r.Stored()})
		}
	}
	for name, known := range s.next.Recommendations {
		_, holds := s.after[name]
		_, held := s.before[name]
		if !holds && !held && !known.Relapsed() && !overfull(s.next) {
			turns = append(turns, Turn{false, recommendation.Stored{ID: name}})
		}
	}
	slices.SortFunc(turns, func(a, b Turn) int { return strings.Compare(a.ID, b.ID) })
	return turns
}

// Told lists the recommendations that have opened or closed between the facts before the first step and those after the last, each set
// as of its own time. The facts after one list are those before the next, so each opening and each ending is in one list, also one
// that came with the passing of time.
func Told(first, last Step) []recommendation.Told {
	before, asOf := first.before, AsOf(first.was.UpdatedAt)
	if !asOf.Equal(AsOf(first.next.UpdatedAt)) {
		before = look(first.was, asOf, "").byID()
	}
	var all []recommendation.Told
	for name, r := range before {
		is, holds := last.after[name]
		switch {
		case !r.Open() || holds && is.Open() || unlisted(last.next, r):
		case holds:
			all = append(all, last.told(is))
		default:
			r.State = recommendation.Succeeded
			all = append(all, last.told(r))
		}
	}
	for name, r := range last.after {
		if r.Open() && !before[name].Open() && !unlisted(first.was, r) {
			all = append(all, last.told(r))
		}
	}
	slices.SortFunc(all, func(a, b recommendation.Told) int { return strings.Compare(a.ID, b.ID) })
	return all
}

// told returns what endpoints are told of a recommendation after the step.
func (s Step) told(r Recommendation) recommendation.Told {
	return recommendation.Told{
		ID: r.ID, Rule: r.Rule, Title: r.Title, Rationale: r.Rationale, Priority: r.Priority, State: r.State, Subject: r.Subject,
		FirstSeenAt: r.FirstSeenAt, At: s.next.UpdatedAt, Reopened: r.Reopened,
	}
}

// unlisted reports whether a goal's recommendation is missing only because the context lists no more goals.
func unlisted(p projection.Context, r Recommendation) bool {
	return r.Subject.Type == goal.Entity && overfull(p)
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
		next.Standing = standing(p, t.Subject, stored.Standing)
		next.Priority = t.Priority
		return next.Reopen("", p.UpdatedAt), true
	case stored.ID != "":
		return stored.End(p.UpdatedAt), true
	}
	return t.End(p.UpdatedAt), t.Rule != ""
}
