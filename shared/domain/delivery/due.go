package delivery

import (
	"encoding/json"
	"strings"
	"time"

	"orgops/shared/storage/queue"
)

// Job asks the retrier to attempt a delivery or to work on a recovery. It names exactly one of the two.
type Job struct {
	Company     string `json:"company"`
	Delivery    string `json:"delivery,omitempty"`    // its key without Prefix
	Incarnation string `json:"incarnation,omitempty"` // of the delivery
	Generation  int    `json:"generation,omitempty"`  // of the delivery; a message of an earlier generation has no effect
	Recovery    string `json:"recovery,omitempty"`
	Turn        int    `json:"turn,omitempty"` // of the recovery; a message of an earlier turn has no effect
}

// Due returns the queue message that a committed change requires; ok is false when it requires none. A delivery requires a
// message when its generation grows; the message is due at the next attempt. A recovery requires a message when it is
// created, and when its turn grows. What cannot be decoded is an error.
func (t Transition) Due() (m queue.Message, ok bool, err error) {
	c := t.change
	switch {
	case t.err != nil:
		return queue.Message{}, false, t.err
	case c.Entity == Entity && t.is.NextAttemptAt != nil && t.is.Generation > t.was.Generation:
		job := Job{Company: c.Company, Delivery: strings.TrimPrefix(c.Key, Prefix), Generation: t.is.Generation, Incarnation: t.is.Incarnation}
		return message(job, *t.is.NextAttemptAt)
	case t.turn.asks:
		return message(Job{Company: c.Company, Recovery: strings.TrimPrefix(c.Key, RecoveryPrefix), Turn: t.turn.Turn}, t.turn.Due)
	}
	return queue.Message{}, false, nil
}

func message(job Job, due time.Time) (queue.Message, bool, error) {
	body, err := json.Marshal(job)
	return queue.Message{Body: body, Group: job.Company, Due: due}, err == nil, err
}
