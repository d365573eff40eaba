package delivery

import "time"

// RecoveryEntity and RecoveryPrefix name the entity of a recovery's item and the prefix of its key.
const (
	RecoveryEntity = "recovery"
	RecoveryPrefix = "RECOVERY#"
)

// RecoveryState says whether a recovery has finished.
type RecoveryState string

// The states of a recovery.
const (
	RecoveryRequested RecoveryState = "requested"
	RecoveryFinished  RecoveryState = "finished"
)

// Recovery requests that the undelivered events of a time window are sent again, as stored and as the API shows it.
type Recovery struct {
	ID          string        `json:"id" doc:"UUIDv7" format:"uuid"`
	Provider    string        `json:"provider" doc:"the webhook integration whose deliveries it sends" example:"webhook"`
	Since       time.Time     `json:"since" doc:"events from this time on"`
	Until       time.Time     `json:"until" doc:"events up to this time"`
	State       RecoveryState `json:"state" doc:"finished when every delivery of the window is in the queue" enum:"requested,finished"`
	Recovered   int           `json:"recovered" doc:"deliveries put into the queue so far" format:"int32"`
	RequestedBy string        `json:"requestedBy,omitempty" doc:"the user who asked for it" format:"uuid"`
	RequestedAt time.Time     `json:"requestedAt" doc:"when it was asked for"`
	FinishedAt  *time.Time    `json:"finishedAt,omitempty" doc:"when it ended"`
}

// StoredRecovery adds to a recovery the key of the last delivery that it has handled.
type StoredRecovery struct {
	Recovery
	After string `json:"after,omitempty"`
}

// RecoveryKey returns the sort key of a recovery.
func RecoveryKey(recoveryID string) string { return RecoveryPrefix + recoveryID }
