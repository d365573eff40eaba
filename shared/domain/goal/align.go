package goal

import (
	"fmt"
	"math"
	"time"
)

// Status says whether a goal's pace is enough.
type Status string

// The statuses.
const (
	Aligned    Status = "aligned"
	Drifting   Status = "drifting"
	Misaligned Status = "misaligned"
)

// Alignment says how well progress keeps up with time.
type Alignment struct {
	Score     float64   `json:"score" minimum:"0" maximum:"1" doc:"progress divided by the share of the time that has passed, at most 1; a day, or a twentieth of the time if that is longer, does not count; at most 0.7 if the work is stalled"`
	Status    Status    `json:"status" doc:"whether the pace is enough: aligned from a score of 0.8, drifting from 0.5, otherwise misaligned; an overdue goal is misaligned, and a goal whose work is stalled is drifting at best" enum:"aligned,drifting,misaligned"`
	ChangedAt time.Time `json:"changedAt,omitzero" doc:"when the status last changed; until a day later it changes again only if the goal is closed"`
	Reasons   []string  `json:"reasons" doc:"why the goal has this status, in words" nullable:"false" example:"[\"25 % done after 20 % of the time\"]"`
}

// The lowest scores of the upper two statuses. Below driftingFrom a goal is misaligned.
const (
	alignedFrom  = 0.8
	driftingFrom = 0.5
)

// Lasts sets how long a status lasts at least after it has changed, so that progress near a threshold does not make it flap.
const Lasts = 24 * time.Hour

// settle returns the alignment of a goal as of now that had the alignment was: a status that changed less than a day ago
// stays. A new goal has no status yet, and the first change of a status may come at any time.
func settle(was Alignment, g Goal, now time.Time) Alignment {
	is := Align(g, now)
	switch {
	case was.Status == "":
	case is.Status == was.Status:
		is.ChangedAt = was.ChangedAt
	case g.State != Closed && was.lasting(now):
		is.Reasons = append(is.Reasons, fmt.Sprintf("it stays %s until %s, because a status lasts a day", was.Status, was.ChangedAt.Add(Lasts).UTC().Format("2006-01-02 at 15:04 UTC")))
		is.Status, is.ChangedAt = was.Status, was.ChangedAt
	default:
		is.ChangedAt = now.UTC()
	}
	return is
}

// lasting reports whether the status changed less than a day ago.
func (a Alignment) lasting(now time.Time) bool {
	return !a.ChangedAt.IsZero() && now.Before(a.ChangedAt.Add(Lasts))
}

// Align returns the alignment by pace, held back if the work on the goal is stalled: an open goal that is not done is then
// drifting at best.
func Align(g Goal, now time.Time) Alignment {
	a := pace(g, now)
	if m := g.Measure; g.State == Open && m != nil && m.Source != nil && m.Source.EndedAt != nil {
		a.Reasons = append(a.Reasons, fmt.Sprintf("its source %s was deleted, so its value stays; give it another source, or none", m.Source.Provider))
	}
	if g.State == Closed || g.Progress >= 1 {
		return a
	}
	return g.Stalled.hold(a)
}

// pace compares progress with the time from createdAt to dueAt that has passed, see score. A closed goal and a goal without a due date are aligned. An unfinished goal past its due date is misaligned.
func pace(g Goal, now time.Time) Alignment {
	if g.State == Closed {
		return Alignment{Score: 1, Status: Aligned, Reasons: []string{"it is closed"}}
	}
	if g.DueAt == nil {
		return Alignment{Score: 1, Status: Aligned, Reasons: []string{"it has no due date"}}
	}
	if !now.Before(*g.DueAt) && g.Progress < 1 {
		return Alignment{Score: round(g.Progress * driftingFrom), Status: Misaligned, Reasons: []string{
			fmt.Sprintf("it was due on %s and is %s", g.DueAt.Format(time.DateOnly), done(g))}}
	}
	s := score(g, now)
	return Alignment{Score: round(s), Status: statusOf(s), Reasons: []string{kept(g, timeShare(g, now))}}
}

// kept tells how progress has kept up with time.
func kept(g Goal, share float64) string {
	if g.Measure != nil {
		return g.Measure.String() + behind(g, share) + ", due on " + g.DueAt.Format(time.DateOnly)
	}
	return fmt.Sprintf("%s after %.0f %% of the time to %s", done(g), 100*share, g.DueAt.Format(time.DateOnly))
}

// done tells the progress: the number of a goal that is measured, or the share that is done.
func done(g Goal) string {
	if g.Measure != nil {
		return g.Measure.String()
	}
	return fmt.Sprintf("%.0f %% done", 100*g.Progress)
}

// behind tells by how many days a goal is behind an even pace, from one day on.
func behind(g Goal, share float64) string {
	days := int((share - g.Progress) * g.DueAt.Sub(g.CreatedAt).Hours() / 24)
	switch {
	case days < 1:
		return ""
	case days == 1:
		return ", 1 day behind"
	}
	return fmt.Sprintf(", %d days behind", days)
}

// NextReview returns the next time at which the alignment status may change although the goal stays the same. ok is false if
// there is no such time.
func NextReview(g Goal, now time.Time) (at time.Time, ok bool) {
	at, ok = nextBound(g, now)
	if !g.Alignment.lasting(now) || g.State == Closed {
		return at, ok
	}
	end := g.Alignment.ChangedAt.Add(Lasts)
	if held := Align(g, now).Status != g.Alignment.Status; held || ok && at.Before(end) {
		return end, true
	}
	return at, ok
}

// nextBound returns the next time at which Align may give another status.
func nextBound(g Goal, now time.Time) (at time.Time, ok bool) {
	if g.State == Closed || g.DueAt == nil || g.Progress >= 1 || !now.Before(*g.DueAt) {
		return time.Time{}, false
	}
	for _, bound := range []float64{alignedFrom, driftingFrom} {
		// The score falls below bound once more than worked/bound has passed. One second is added to allow for rounding.
		at = g.CreatedAt.Add(time.Duration(worked(g)/bound) + time.Second)
		if at.After(now) && at.Before(*g.DueAt) && statusOf(score(g, at)) != statusOf(score(g, now)) {
			return at, true
		}
	}
	return *g.DueAt, true
}

// score divides the time that the progress of a goal with a due date is worth by the time that has passed, and is at most 1.
func score(g Goal, now time.Time) float64 {
	done, passed := worked(g), timeShare(g, now)*float64(g.DueAt.Sub(g.CreatedAt))
	if passed <= done {
		return 1
	}
	return done / passed
}

// worked returns the nanoseconds in which an even pace makes the goal's progress, with a grace of a day, or of a twentieth of the goal's
// time if that is longer. So a goal that was just made is aligned without progress.
func worked(g Goal) float64 {
	span := float64(g.DueAt.Sub(g.CreatedAt))
	return g.Progress*span + max(float64(24*time.Hour), span/20)
}

// timeShare returns the share of the time from createdAt to dueAt that has passed, 0 to 1.
func timeShare(g Goal, now time.Time) float64 {
	span := g.DueAt.Sub(g.CreatedAt)
	if span <= 0 {
		return 1
	}
	return math.Max(0, math.Min(1, float64(now.Sub(g.CreatedAt))/float64(span)))
}

func statusOf(score float64) Status {
	switch {
	case score >= alignedFrom:
		return Aligned
	case score >= driftingFrom:
		return Drifting
	}
	return Misaligned
}

func round(x float64) float64 { return math.Round(x*1000) / 1000 }
