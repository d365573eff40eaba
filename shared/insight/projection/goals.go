package projection

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"orgops/shared/base/text"
	"orgops/shared/domain/event"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/timeline"
	"orgops/shared/storage/store"
)

func (f *folding) goal(c store.Change) error {
	was, err := decode[goal.Goal](c.Old)
	if err != nil {
		return err
	}
	is, err := decode[goal.Goal](c.New)
	if err != nil {
		return err
	}
	f.reach(c.At)
	if c.Old != nil {
		f.countGoal(was, -1)
	}
	if c.New == nil {
		f.list(was, Goal{}, false)
		return nil
	}
	f.countGoal(is, +1)
	f.list(is, summary(is, c.At.UTC()), is.State == goal.Open)
	f.addGoalEntries(c, was, is)
	if f.current(is.Provider, is.Incarnation) {
		f.received(is.Provider, was.SourceUpdatedAt, is.SourceUpdatedAt, c.At)
	}
	return nil
}

// explanation folds the end of a goal's explanation. Beyond MaxGoals, the explanation with the earliest end is dropped.
func (f *folding) explanation(c store.Change) error {
	goalID := strings.TrimPrefix(c.Key, goal.ExplanationPrefix)
	e, err := decode[struct {
		Until time.Time `json:"until"`
	}](c.New)
	if err != nil {
		return err
	}
	f.reach(c.At)
	if f.Goals.Explained == nil {
		f.Goals.Explained = map[string]time.Time{}
	}
	f.Goals.Explained[goalID] = e.Until.UTC()
	if c.New == nil {
		delete(f.Goals.Explained, goalID)
	}
	if len(f.Goals.Explained) > MaxGoals {
		first := ""
		for name, until := range f.Goals.Explained {
			if d := until.Compare(f.Goals.Explained[first]); first == "" || d < 0 || d == 0 && name < first {
				first = name
			}
		}
		delete(f.Goals.Explained, first)
	}
	if len(f.Goals.Explained) == 0 {
		f.Goals.Explained = nil
	}
	return nil
}

func summary(g goal.Goal, now time.Time) Goal {
	s := Goal{ID: g.ID, Provider: g.Provider, Title: text.TruncateJSON(g.Title, maxText), Status: g.Alignment.Status, Since: now, Progress: g.Progress, DueAt: at(g.DueAt)}
	if len(g.Alignment.Reasons) > 0 {
		s.Reason = text.TruncateJSON(g.Alignment.Reasons[0], maxWhy)
	}
	return s
}

// list replaces the entry of an open goal, or removes the entry of any other goal. The lists keep the MaxGoals most urgent
// entries. A goal that drops off the end may come back with its next change. The counts include every goal.
func (f *folding) list(g goal.Goal, s Goal, open bool) {
	if !f.current(g.Provider, g.Incarnation) {
		return
	}
	listed := f.listOf(g.Provider)
	if i := slices.IndexFunc(*listed, func(l Goal) bool { return l.ID == g.ID }); i >= 0 {
		if (*listed)[i].Status == s.Status {
			s.Since = (*listed)[i].Since
		}
		*listed = slices.Delete(*listed, i, i+1)
	}
	if open {
		*listed = insert(*listed, s)
	}
	f.boundGoals()
}

func insert(listed []Goal, g Goal) []Goal {
	i, _ := slices.BinarySearchFunc(listed, g, urgency)
	return slices.Insert(listed, i, g)
}

// urgency orders goals: misaligned, drifting, aligned; then the soonest due, those without a date last; then by id.
func urgency(a, b Goal) int {
	rank := func(s goal.Status) int {
		return slices.Index([]goal.Status{goal.Misaligned, goal.Drifting, goal.Aligned}, s)
	}
	if d := cmp.Compare(rank(a.Status), rank(b.Status)); d != 0 {
		return d
	}
	if a.DueAt.IsZero() != b.DueAt.IsZero() {
		if a.DueAt.IsZero() {
			return 1
		}
		return -1
	}
	if d := a.DueAt.Compare(b.DueAt); d != 0 {
		return d
	}
	return strings.Compare(a.ID, b.ID)
}

// addGoalEntries adds an entry for a connector's changes to a goal, and an entry for a new alignment. A review changes only
// the alignment, so it adds only the second entry.
func (f *folding) addGoalEntries(c store.Change, was, is goal.Goal) {
	actor := timeline.Reference{Type: "integration", ID: is.Provider}
	if s, _ := is.Source(); is.IsOwn() && is.Moved(was) {
		actor.ID = s.Provider
	} else if is.IsOwn() {
		actor = timeline.Reference{Type: "company", ID: c.Company}
	}
	subject := timeline.Reference{Type: "goal", ID: is.ID}
	if c.Old == nil || !sameGoal(was, is) {
		f.addEntry(c, timeline.GoalUpdated, timeline.Entry{
			Title: goalTitle(c.Old == nil, was, is), Actor: actor, Subject: subject, EventID: event.ID(c, event.GoalUpdated),
			Details: details(map[string]any{"progress": is.Progress, "previousProgress": was.Progress, "state": is.State}),
		})
	}
	if c.Old != nil && was.Alignment.Status != is.Alignment.Status {
		f.addEntry(c, timeline.GoalAlignmentChanged, timeline.Entry{
			Title: fmt.Sprintf("%q is %s now", text.TruncateJSON(is.Title, maxText/2), is.Alignment.Status), Actor: system(), Subject: subject,
			EventID: event.ID(c, event.GoalAlignmentChanged),
			Details: details(map[string]any{"from": was.Alignment.Status, "to": is.Alignment.Status, "score": is.Alignment.Score}),
		})
	}
}

func goalTitle(created bool, was, is goal.Goal) string {
	title := text.TruncateJSON(is.Title, maxText/2)
	switch {
	case created:
		return fmt.Sprintf("%q became a goal, %.0f %% done", title, 100*is.Progress)
	case was.State != is.State && is.State == goal.Closed:
		return fmt.Sprintf("%q was closed at %.0f %%", title, 100*is.Progress)
	case was.State != is.State:
		return fmt.Sprintf("%q was opened again", title)
	case is.Measure != nil && value(was) != value(is):
		return fmt.Sprintf("%q is at %s", title, is.Measure)
	case was.Progress != is.Progress:
		return fmt.Sprintf("%q went from %.0f %% to %.0f %%", title, 100*was.Progress, 100*is.Progress)
	}
	return fmt.Sprintf("%q was changed", title)
}

func sameGoal(a, b goal.Goal) bool {
	return a.Title == b.Title && a.Target == b.Target && a.URL == b.URL && a.Progress == b.Progress && a.State == b.State &&
		at(a.DueAt).Equal(at(b.DueAt)) && value(a) == value(b)
}

// value tells the number of a goal that is measured.
func value(g goal.Goal) string {
	if g.Measure == nil {
		return ""
	}
	return g.Measure.String()
}
