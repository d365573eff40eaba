// Package goal describes the goals of a company and their progress, and judges whether the pace is enough.
package goal

import (
	"cmp"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
)

// Entity and Prefix name the entity of a goal's item and the prefix of its key.
const (
	Entity = "goal"
	Prefix = "GOAL#"
)

// State says whether a goal is open or closed.
type State string

// The states.
const (
	Open   State = "open"
	Closed State = "closed"
)

// Goal describes one goal, as stored and as the API shows it.
type Goal struct {
	ID          string     `json:"id" doc:"UUIDv8 that follows from provider, incarnation and externalId; of the company's own goals a UUIDv7" format:"uuid"`
	Provider    string     `json:"provider" doc:"the integration that imported the goal; company: the company made it itself" example:"github"`
	Incarnation string     `json:"incarnation,omitempty" doc:"the integration's incarnation; the goals of a deleted integration are kept for reading, and the next one of its name has its own" format:"uuid"`
	ExternalID  string     `json:"externalId" doc:"id of the goal at the provider" example:"octo/app/milestones/3"`
	Title       string     `json:"title" doc:"title of the goal" example:"Ship the beta"`
	Target      string     `json:"target,omitempty" doc:"the result that reaches the goal, in words"`
	URL         string     `json:"url,omitempty" doc:"web page of the goal at the provider" format:"uri"`
	Progress    float64    `json:"progress" minimum:"0" maximum:"1" doc:"share of the goal that is done; with a measure, the share of the way from its start to its target"`
	Measure     *Measure   `json:"measure,omitempty" doc:"the number that the goal is measured by"`
	DueAt       *time.Time `json:"dueAt,omitempty" doc:"when the goal is due"`
	State       State      `json:"state" doc:"open until the provider, or the company, closes it" enum:"open,closed"`
	Alignment   Alignment  `json:"alignment" doc:"whether it will be reached in time"`
	Stalled     Stall      `json:"stalled,omitempty" doc:"why the work on it does not go on, from the memories that refer to it; absent if it does, or if none refers to it" enum:"blocked,stale"`
	CreatedAt   time.Time  `json:"createdAt" doc:"also the start of the pace that alignment expects"`
	UpdatedAt   time.Time  `json:"updatedAt" doc:"when it last changed"`

	SourceUpdatedAt *time.Time `json:"sourceUpdatedAt,omitempty" doc:"when it last changed at the provider, if the provider says so; an older state changes nothing"`
}

// Draft carries a goal as a connector found it, before the comparison with the stored goal.
type Draft struct {
	ExternalID string     `json:"externalId"`
	Title      string     `json:"title"`
	Target     string     `json:"target,omitempty"`
	URL        string     `json:"url,omitempty"`
	Progress   float64    `json:"progress"`
	DueAt      *time.Time `json:"dueAt,omitempty"`
	StartedAt  *time.Time `json:"startedAt,omitempty"` // when the goal began, according to the provider; nil: when it was first imported
	State      State      `json:"state"`
	Measure    *Measure   `json:"measure,omitempty"` // decides the progress; nil: the stored one stays

	UpdatedAt   *time.Time `json:"-"` // when the provider says it changed; nil: unknown
	Incarnation string     `json:"-"` // of the integration that has found it
}

// Check lists the problems of a draft. Their JSON pointers start with at.
func (d Draft) Check(at string) []fault.FieldError {
	var problems []fault.FieldError
	refuse := func(field, detail string) {
		problems = append(problems, fault.FieldError{Pointer: at + "/" + field, Detail: detail})
	}
	if d.ExternalID == "" || len(d.ExternalID) > 512 {
		refuse("externalId", "needs 1 to 512 bytes")
	}
	if d.Title == "" || len(d.Title) > 1024 {
		refuse("title", "needs 1 to 1024 bytes")
	}
	if len(d.Target) > 4096 {
		refuse("target", "at most 4096 bytes")
	}
	if len(d.URL) > 2048 {
		refuse("url", "at most 2048 bytes")
	}
	if !inCalendar(d.DueAt) {
		refuse("dueAt", "must lie in the years 1 to 9999")
	}
	if !inCalendar(d.StartedAt) {
		refuse("startedAt", "must lie in the years 1 to 9999")
	}
	if !(d.Progress >= 0 && d.Progress <= 1) { // refuses NaN too
		refuse("progress", "must be a number from 0 to 1")
	}
	if d.Measure != nil {
		problems = append(problems, d.Measure.Check(at+"/measure")...)
	}
	if d.State != Open && d.State != Closed {
		refuse("state", "must be open or closed")
	}
	return problems
}

// IDOf returns the id of the goal that the provider of an incarnation calls externalID. A goal of the company's own is called by its id.
func IDOf(provider, incarnation, externalID string) string {
	if provider == Own {
		return externalID
	}
	return id.OfIncarnation("goal", provider, incarnation, externalID)
}

// Key returns the sort key of a goal.
func Key(goalID string) string { return Prefix + goalID }

// Apply returns the goal that a draft makes of old; the zero Goal stands for a goal that is new. When no field differs, or the
// draft is older than old, it returns old, and changed is false. Of the same fields it returns the later time.
func Apply(old Goal, provider string, d Draft, now time.Time) (g Goal, changed bool) {
	g = Goal{
		ID: IDOf(provider, d.Incarnation, d.ExternalID), Provider: provider, Incarnation: d.Incarnation, ExternalID: d.ExternalID, Title: d.Title, Target: d.Target,
		URL: d.URL, Progress: d.Progress, DueAt: utc(d.DueAt), State: d.State, CreatedAt: now, UpdatedAt: now,
		SourceUpdatedAt: cmp.Or(d.UpdatedAt, old.SourceUpdatedAt), Stalled: old.Stalled, Measure: old.Measure,
	}
	if d.Measure != nil {
		g.Measure = d.Measure.complete(old.Measure, now)
	}
	if g.Measure != nil {
		g.Progress = g.Measure.progress()
	}
	switch {
	case old.ID != "":
		g.CreatedAt = old.CreatedAt
	case d.StartedAt != nil && d.StartedAt.Before(now):
		g.CreatedAt = d.StartedAt.UTC()
	}
	if old.ID != "" && (same(old, g) || older(d.UpdatedAt, old.SourceUpdatedAt)) {
		if older(old.SourceUpdatedAt, d.UpdatedAt) {
			old.SourceUpdatedAt = d.UpdatedAt
		}
		return old, false
	}
	g.Alignment = settle(old.Alignment, g, now)
	return g, true
}

// Review returns the goal with its alignment as of now, when the work on it is stalled or not. If neither the status nor that
// changes, Review returns old, and changed is false.
func Review(old Goal, stalled Stall, now time.Time) (g Goal, changed bool) {
	g = old
	g.Stalled = stalled
	g.Alignment = settle(old.Alignment, g, now)
	if g.Alignment.Status == old.Alignment.Status && g.Stalled == old.Stalled {
		return old, false
	}
	g.UpdatedAt = now
	return g, true
}

func same(a, b Goal) bool {
	due := a.DueAt == b.DueAt || a.DueAt != nil && b.DueAt != nil && a.DueAt.Equal(*b.DueAt)
	return due && a.Measure.equal(b.Measure) && a.Title == b.Title && a.Target == b.Target && a.URL == b.URL && a.Progress == b.Progress && a.State == b.State
}

// older reports whether a time is known to precede another one.
func older(a, b *time.Time) bool { return a != nil && b != nil && a.Before(*b) }

// inCalendar reports whether RFC 3339 can express t in UTC. An offset can push a time past either end of the range.
func inCalendar(t *time.Time) bool {
	return t == nil || t.UTC().Year() >= 1 && t.UTC().Year() <= 9999
}

func utc(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	u := t.UTC()
	return &u
}
