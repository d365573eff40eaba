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
	Score   float64  `json:"score" minimum:"0" maximum:"1" doc:"progress divided by the share of the time that has passed, at most 1"`
	Status  Status   `json:"status" doc:"whether the pace is enough: aligned from a score of 0.8, drifting from 0.5, otherwise misaligned; an overdue goal is misaligned" enum:"aligned,drifting,misaligned"`
	Reasons []string `json:"reasons" doc:"why the goal has this status, in words" nullable:"false" example:"[\"25 % done after 20 % of the time\"]"`
}

// The lowest scores of the upper two statuses. Below driftingFrom a goal is misaligned.
const (
	alignedFrom  = 0.8
	driftingFrom = 0.5
)

// Align compares progress with the share of the time from createdAt to dueAt that has passed: score = progress / share,
// at most 1. A closed goal and a goal without a due date are aligned. An unfinished goal past its due date is misaligned.
func Align(g Goal, now time.Time) Alignment {
	if g.State == Closed {
		return Alignment{Score: 1, Status: Aligned, Reasons: []string{"it is closed"}}
	}
	if g.DueAt == nil {
		return Alignment{Score: 1, Status: Aligned, Reasons: []string{"it has no due date"}}
	}
	if !now.Before(*g.DueAt) && g.Progress < 1 {
		return Alignment{Score: round(g.Progress * driftingFrom), Status: Misaligned, Reasons: []string{
			fmt.Sprintf("it was due on %s and is %.0f %% done", g.DueAt.Format(time.DateOnly), 100*g.Progress)}}
	}
	share := timeShare(g, now)
	score := 1.0
	if share > g.Progress {
		score = g.Progress / share
	}
	return Alignment{Score: round(score), Status: statusOf(score), Reasons: []string{
		fmt.Sprintf("%.0f %% done after %.0f %% of the time to %s", 100*g.Progress, 100*share, g.DueAt.Format(time.DateOnly))}}
}

// NextReview returns the next time at which the alignment status may change although the goal stays the same. ok is false if
// there is no such time.
func NextReview(g Goal, now time.Time) (at time.Time, ok bool) {
	if g.State == Closed || g.DueAt == nil || g.Progress >= 1 || !now.Before(*g.DueAt) {
		return time.Time{}, false
	}
	span := g.DueAt.Sub(g.CreatedAt)
	for _, bound := range []float64{alignedFrom, driftingFrom} {
		// The score falls below bound once share > progress/bound. One second is added to allow for rounding.
		at = g.CreatedAt.Add(time.Duration(g.Progress/bound*float64(span)) + time.Second)
		if at.After(now) && at.Before(*g.DueAt) && statusOf(g.Progress/timeShare(g, at)) != statusOf(shareScore(g, now)) {
			return at, true
		}
	}
	return *g.DueAt, true
}

func shareScore(g Goal, now time.Time) float64 {
	if share := timeShare(g, now); share > g.Progress {
		return g.Progress / share
	}
	return 1
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
