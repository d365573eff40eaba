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

// Recovery asks the service to send the undelivered events of a time window again. It has the same form in the store and in
// the API.
type Recovery struct {
	ID          string        `json:"id" doc:"UUIDv7" format:"uuid"`
	Provider    string        `json:"provider" doc:"the webhook integration whose deliveries the recovery sends" example:"webhook"`
	Since       time.Time     `json:"since" doc:"start of the window: events from this time on"`
	Until       time.Time     `json:"until" doc:"end of the window: events up to this time"`
	State       RecoveryState `json:"state" doc:"finished when every delivery of the window is in the queue" enum:"requested,finished"`
	Recovered   int           `json:"recovered" doc:"number of deliveries that the recovery has put into the queue so far" format:"int32"`
	RequestedBy string        `json:"requestedBy,omitempty" doc:"the user who requested the recovery" format:"uuid"`
	RequestedAt time.Time     `json:"requestedAt" doc:"when the recovery was requested"`
	FinishedAt  *time.Time    `json:"finishedAt,omitempty" doc:"when the recovery finished"`
}

// StoredRecovery adds to a recovery the key of the last delivery that it has handled.
type StoredRecovery struct {
	Recovery
	After string `json:"after,omitempty"`
}

// RecoveryKey returns the sort key of a recovery.
func RecoveryKey(recoveryID string) string { return RecoveryPrefix + recoveryID }
