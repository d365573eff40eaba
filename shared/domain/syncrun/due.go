package syncrun

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"orgops/shared/base/fastjson"
	"orgops/shared/storage/queue"
	"orgops/shared/storage/store"
)

// Job asks the syncer to work on a run. A job of an earlier turn has no effect.
type Job struct {
	Company string `json:"company"`
	Run     string `json:"run"`
	Turn    int    `json:"turn,omitempty"`
}

// Ask asks for a queue message that is due at t: see Due. Earlier messages have no effect. A slice ends so. The message then
// follows from a committed record, so a lost one can be found, and Lambda counts no chain of slices.
func (w *Work) Ask(t time.Time) {
	w.Turn++
	w.Due = t.UTC().Add(time.Millisecond - 1).Truncate(time.Millisecond) // the finest time of a message, and not too early
}

// Due returns the queue message that a committed change requires; ok is false when it requires none. A run requires a
// message when it is requested, and when its turn grows.
func Due(c store.Change) (m queue.Message, ok bool, err error) {
	is, asks, err := asked(c)
	if err != nil || !asks {
		return queue.Message{}, false, err
	}
	body, err := json.Marshal(Job{Company: c.Company, Run: strings.TrimPrefix(c.Key, Prefix), Turn: is.Work.Turn})
	return queue.Message{Body: body, Group: c.Company, Due: is.Work.Due}, err == nil, err
}

// stage holds the fields of a run that decide about its message.
type stage struct {
	Watched bool `json:"watched"`
	Work    struct {
		Turn int       `json:"turn"`
		Due  time.Time `json:"due"`
	} `json:"work"`
}

// asked decodes the run of a change. asks reports that the change requires a message.
func asked(c store.Change) (is stage, asks bool, err error) {
	if c.Entity != Entity || c.New == nil {
		return stage{}, false, nil
	}
	if is, err = stageOf(c.New); err != nil || c.Old == nil {
		return is, err == nil, err
	}
	was, err := stageOf(c.Old)
	return is, is.Work.Turn > was.Work.Turn, err
}

func stageOf(image *store.Image) (s stage, err error) {
	if err := fastjson.Unmarshal(image.Body, &s); err != nil {
		return stage{}, fmt.Errorf("decode sync run: %w", err)
	}
	return s, nil
}
