// Package recommendation describes what people and the service decided about recommendations. Whether the condition of a
// recommendation holds is computed from the company's facts; stored is only what was decided, and that its condition ended.
package recommendation

import (
	"time"

	"orgops/shared/base/id"
	"orgops/shared/domain/timeline"
)

// Entity and Prefix name the entity of a stored recommendation and the prefix of its key.
const (
	Entity = "recommendation"
	Prefix = "RECOMMENDATION#"
)

// Bounds of decisions.
const (
	MaxDismissal = 90 * 24 * time.Hour  // after which a dismissal ends
	ClaimLasts   = 14 * 24 * time.Hour  // after which a claim fails if the condition still holds
	Kept         = 180 * 24 * time.Hour // how long a recommendation is kept after its condition ended
	MinText      = 10                   // characters of a dismissal's text
	MaxText      = 4096
)

// Priority says how urgent a recommendation is. The more urgent of two priorities is the lesser text.
type Priority string

// The priorities, the most urgent first.
const (
	P1 Priority = "P1"
	P2 Priority = "P2"
	P3 Priority = "P3"
	P4 Priority = "P4"
)

// State says whether a recommendation is open (active or claimed) or how it ended.
type State string

// The states. Failed is never stored: it follows from a claim that has not ended the condition.
const (
	Active    State = "active"
	Claimed   State = "claimed"
	Succeeded State = "succeeded"
	Failed    State = "failed"
	Dismissed State = "dismissed"
)

// Reason says why a recommendation was dismissed.
type Reason string

// Standing holds the last decision about a recommendation.
type Standing struct {
	State    State     `json:"state" doc:"the last decision; active if the recommendation came back or was opened again" enum:"active,claimed,succeeded,dismissed"`
	Priority Priority  `json:"priority" doc:"how urgent it was at the time of the decision" enum:"P1,P2,P3,P4"`
	At       time.Time `json:"at" doc:"when it was decided"`
	By       string    `json:"by,omitempty" doc:"the user who decided; absent for the service"`
	Until    time.Time `json:"until,omitzero" doc:"end of a dismissal"`
	Reopened int       `json:"reopened,omitempty" doc:"how often it came back after it had succeeded" format:"int32"`
	Version  int64     `json:"version,omitempty" doc:"version of the stored recommendation"`
}

// Stored is a recommendation as it is stored: the decision, and what the recommendation said at that time.
type Stored struct {
	Standing
	ID          string             `json:"id"`
	Rule        string             `json:"rule"`
	Title       string             `json:"title"`
	Rationale   string             `json:"rationale"`
	Subject     timeline.Reference `json:"subject"`
	FirstSeenAt time.Time          `json:"firstSeenAt"`
	Reason      Reason             `json:"reason,omitempty"` // of a dismissal
	Text        string             `json:"text,omitempty"`   // of a dismissal
}

// ID returns the id of the recommendation of a rule about a subject. One about the company as a whole has the same id in
// every company.
func ID(rule string, subject timeline.Reference) string {
	if subject.Type == "company" {
		subject.ID = ""
	}
	return id.Of("recommendation", rule, subject.Type, subject.ID)
}

// Key returns the sort key of a recommendation.
func Key(recommendationID string) string { return Prefix + recommendationID }

// Now returns the state as of a time of a recommendation whose condition holds, with its priority of that time. A dismissal
// ends, and a claim fails, when the matter becomes more urgent or their time is over. A success whose condition holds again
// is over too.
func (s Standing) Now(p Priority, asOf time.Time) State {
	worse := s.Priority != "" && p < s.Priority
	switch {
	case s.State == Dismissed && !worse && asOf.Before(s.Until):
		return Dismissed
	case s.State == Claimed && (worse || !asOf.Before(s.At.Add(ClaimLasts))):
		return Failed
	case s.State == Claimed:
		return Claimed
	}
	return Active
}

// Relapsed reports whether a recommendation whose condition holds had succeeded before.
func (s Standing) Relapsed() bool { return s.State == Succeeded }

// Times returns how often a recommendation whose condition holds has come back.
func (s Standing) Times() int {
	if s.Relapsed() {
		return s.Reopened + 1
	}
	return s.Reopened
}
