package delivery

import "time"

// PauseReason says why an endpoint gets no attempts for a while.
type PauseReason string

// The reasons.
const (
	PausedFailing PauseReason = "failing"     // five attempts in a row have failed; then one attempt decides
	PausedAsked   PauseReason = "retry-after" // the endpoint has asked for the wait
)

// Pause tells that an endpoint gets no attempts for a while, although it may receive events.
type Pause struct {
	Reason PauseReason `json:"reason" enum:"failing,retry-after" doc:"failing: five attempts in a row failed, and the next one decides; retry-after: the endpoint answered with Retry-After"`
	Since  time.Time   `json:"since" doc:"when the pause began"`
	Until  time.Time   `json:"until" doc:"when the next attempt may be made; resume-integration makes it now"`
}

// Turn tells that an attempt has begun a pause of its endpoint, or has ended a pause that began because attempts failed.
type Turn struct {
	Paused bool      `json:"paused,omitempty"`
	Since  time.Time `json:"since"`          // when the pause began
	Until  time.Time `json:"until,omitzero"` // when the next attempt may be made
}

// PauseSpread is how long after a pause the attempts that have waited for it are due at the latest: they do not all come at once.
const PauseSpread = 35 * time.Second

// waits reports whether the delivery waits for an attempt that is due by a time.
func (d Delivery) waits(dueBy *time.Time) bool {
	return dueBy != nil && d.Open() && d.NextAttemptAt != nil && !d.NextAttemptAt.After(*dueBy)
}
