package recommendation

import (
	"time"

	"orgops/shared/domain/timeline"
)

// ToldEntity and ToldPrefix name the entity of what endpoints were told last about a recommendation, and the prefix of its key.
const (
	ToldEntity = "advice"
	ToldPrefix = "ADVICE#"
)

// Told holds a recommendation as it opened or closed. Whether it is open is computed, also from the time, so the events that tell
// endpoints of it follow from this record.
type Told struct {
	ID          string             `json:"id" doc:"the recommendation's id" format:"uuid"`
	Rule        string             `json:"rule" doc:"the rule that raised it" example:"certify-integration"`
	Title       string             `json:"title" doc:"what to do" example:"Certify webhook"`
	Rationale   string             `json:"rationale" doc:"the finding, and what the advised step changes"`
	Priority    Priority           `json:"priority" doc:"how soon; P1 first" enum:"P1,P2,P3,P4"`
	State       State              `json:"state" doc:"active and claimed are open; succeeded: its condition has ended; dismissed by a user; failed: a claim has not ended the condition in time" enum:"active,claimed,succeeded,failed,dismissed"`
	Subject     timeline.Reference `json:"subject" doc:"what it is about"`
	FirstSeenAt time.Time          `json:"firstSeenAt" doc:"since when its condition holds, or held"`
	At          time.Time          `json:"at" doc:"when it was noticed that it is open or closed"`
	Reopened    int                `json:"reopened" doc:"how often it came back after it had succeeded" format:"int32"`
}

// Open reports whether a state is that of an open recommendation.
func (s State) Open() bool { return s == Active || s == Claimed }

// ToldKey returns the sort key of what was told of a recommendation.
func ToldKey(recommendationID string) string { return ToldPrefix + recommendationID }

// Expires returns when the store may drop the record: never while the recommendation is open.
func (t Told) Expires() (at time.Time, ok bool) { return t.At.Add(Kept), !t.State.Open() }
