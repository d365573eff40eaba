package delivery

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"orgops/shared/storage/queue"
	"orgops/shared/storage/store"
)

// Job asks the retrier to attempt a delivery or to work on a recovery. It names exactly one of the two.
type Job struct {
	Company    string `json:"company"`
	Delivery   string `json:"delivery,omitempty"`   // its key without Prefix
	Generation int    `json:"generation,omitempty"` // of the delivery; a message of an earlier generation has no effect
	Recovery   string `json:"recovery,omitempty"`
}

// Due returns the queue message that a committed change requires; ok is false when it requires none. A delivery requires a
// message when its generation grows; the message is due at the next attempt. A recovery requires a message when it is
// created; the message is due at once.
func Due(c store.Change) (m queue.Message, ok bool, err error) {
	switch {
	case c.New == nil:
		return queue.Message{}, false, nil
	case c.Entity == Entity:
		return dueDelivery(c)
	case c.Entity == RecoveryEntity && c.Old == nil:
		return message(Job{Company: c.Company, Recovery: strings.TrimPrefix(c.Key, RecoveryPrefix)}, time.Time{})
	}
	return queue.Message{}, false, nil
}

func dueDelivery(c store.Change) (m queue.Message, ok bool, err error) {
	is, err := queuedOf(c.New)
	if err != nil || is.NextAttemptAt == nil {
		return queue.Message{}, false, err
	}
	was, err := queuedOf(c.Old)
	if err != nil || is.Generation <= was.Generation {
		return queue.Message{}, false, err
	}
	job := Job{Company: c.Company, Delivery: strings.TrimPrefix(c.Key, Prefix), Generation: is.Generation}
	return message(job, *is.NextAttemptAt)
}

// queued decodes the part of a delivery that says whether it is in the queue.
type queued struct {
	Generation    int        `json:"generation"`
	NextAttemptAt *time.Time `json:"nextAttemptAt"`
}

func queuedOf(image *store.Image) (q queued, err error) {
	if image == nil {
		return queued{}, nil
	}
	if err := json.Unmarshal(image.Body, &q); err != nil {
		return queued{}, fmt.Errorf("decode delivery: %w", err)
	}
	return q, nil
}

func message(job Job, due time.Time) (queue.Message, bool, error) {
	body, err := json.Marshal(job)
	return queue.Message{Body: body, Group: job.Company, Due: due}, err == nil, err
}
