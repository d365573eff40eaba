// Package recovery is the request to send again what did not arrive in a window of time, and how far that has come.
package recovery

import "time"

// Entity and Prefix are the item's entity and the prefix of its key.
const (
	Entity = "recovery"
	Prefix = "RECOVERY#"
)

// Kept is how long a finished recovery is kept.
const Kept = 30 * 24 * time.Hour

// State is where a recovery stands.
type State string

// The states.
const (
	Requested State = "requested"
	Finished  State = "finished"
)

// Recovery is one request, as stored and as the API shows it.
type Recovery struct {
	ID          string     `json:"id" doc:"UUIDv7"`
	Provider    string     `json:"provider" example:"webhook"`
	Since       time.Time  `json:"since" doc:"events from this time on"`
	Until       time.Time  `json:"until" doc:"events up to this time"`
	State       State      `json:"state" enum:"requested,finished"`
	Recovered   int        `json:"recovered" doc:"deliveries put into the queue so far"`
	RequestedBy string     `json:"requestedBy,omitempty"`
	RequestedAt time.Time  `json:"requestedAt"`
	FinishedAt  *time.Time `json:"finishedAt,omitempty"`
}

// Record is a recovery with the key it has come to, as stored.
type Record struct {
	Recovery
	After string `json:"after,omitempty"`
}

// Key is the sort key of a recovery.
func Key(recoveryID string) string { return Prefix + recoveryID }
