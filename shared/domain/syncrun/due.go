package syncrun

import (
	"encoding/json"
	"fmt"
	"strings"

	"orgops/shared/base/fastjson"
	"orgops/shared/storage/queue"
	"orgops/shared/storage/store"
)

// Job asks the syncer to work on a run.
type Job struct {
	Company string `json:"company"`
	Run     string `json:"run"`
}

// Due returns the queue message that a committed change requires; ok is false when it requires none. A run requires a
// message when it is requested. It requires another one when its cancellation is requested and when a user confirms its removal,
// because the first may be due much later.
func Due(c store.Change) (m queue.Message, ok bool, err error) {
	if c.Entity != Entity || c.New == nil {
		return queue.Message{}, false, nil
	}
	if c.Old != nil {
		was, err := callsOf(c.Old)
		if err != nil {
			return queue.Message{}, false, err
		}
		is, err := callsOf(c.New)
		if err != nil || is <= was {
			return queue.Message{}, false, err
		}
	}
	body, err := json.Marshal(Job{Company: c.Company, Run: strings.TrimPrefix(c.Key, Prefix)})
	return queue.Message{Body: body, Group: c.Company}, err == nil, err
}

// callsOf counts what users have asked of a run since it was requested.
func callsOf(image *store.Image) (calls int, err error) {
	var run struct {
		Removal struct {
			ConfirmedBy string `json:"confirmedBy"`
		} `json:"removal"`
		Work struct {
			CancelRequested bool `json:"cancelRequested"`
		} `json:"work"`
	}
	if err := fastjson.Unmarshal(image.Body, &run); err != nil {
		return 0, fmt.Errorf("decode sync run: %w", err)
	}
	if run.Work.CancelRequested {
		calls++
	}
	if run.Removal.ConfirmedBy != "" {
		calls++
	}
	return calls, nil
}
