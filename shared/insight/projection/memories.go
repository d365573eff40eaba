package projection

import (
	"time"

	"orgops/shared/base/wait"
	"orgops/shared/domain/goal"
	"orgops/shared/domain/memory"
	"orgops/shared/storage/store"
)

// memoryFields holds the fields of a memory that folding needs.
type memoryFields struct {
	Provider    string      `json:"provider"`
	Incarnation string      `json:"incarnation"`
	GoalID      string      `json:"goalId"`
	Work        memory.Work `json:"work"`

	SourceUpdatedAt *time.Time `json:"sourceUpdatedAt"`
}

func (f *folding) memory(c store.Change) error {
	image, n := c.New, int64(0)
	switch {
	case c.Old == nil:
		n = 1
	case c.New == nil:
		image, n = c.Old, -1
	}
	m, err := decode[memoryFields](image)
	if err != nil {
		return err
	}
	was := m
	if c.Old != nil && c.New != nil {
		if was, err = decode[memoryFields](c.Old); err != nil {
			was = memoryFields{} // it was damaged; this change repairs it
		}
	}
	f.reach(c.At)
	provider, current := m.Provider, f.current(m.Provider, m.Incarnation)
	if !current {
		provider = former
	}
	f.Memory.count(provider, n, c.At.UTC())
	f.Memory.measure(c)
	if c.Old != nil {
		f.countWork(was, -1, c.At.UTC())
	}
	if c.New == nil {
		return nil
	}
	f.countWork(m, +1, c.At.UTC())
	if c.Old == nil {
		was.SourceUpdatedAt = nil
	}
	if !current {
		return nil
	}
	f.received(m.Provider, was.SourceUpdatedAt, m.SourceUpdatedAt, c.At)
	return nil
}

// measure adds what a change adds to the bytes of the memories. A context of a former release has counted no bytes.
func (m *Memory) measure(c store.Change) {
	m.Bytes = max(m.Bytes+size(c.New)-size(c.Old), 0)
	if at := c.At.UTC(); c.Old == nil && (m.Since.IsZero() || at.Before(m.Since)) {
		m.Since = at
	}
}

func size(i *store.Image) int64 {
	if i == nil {
		return 0
	}
	return int64(len(i.Body))
}

// countWork adds n (+1 or -1) to the count of the work on a goal that a memory is. Beyond maxWork goals, the goal that is not
// listed and whose work changed least recently is dropped.
func (f *folding) countWork(m memoryFields, n int, at time.Time) {
	if m.GoalID == "" {
		return
	}
	w := f.Goals.Work[m.GoalID]
	switch m.Work {
	case memory.WorkDone:
		w.Done = max(w.Done+n, 0)
	case memory.WorkBlocked:
		w.Blocked = max(w.Blocked+n, 0)
	default:
		w.Open = max(w.Open+n, 0)
	}
	w.ChangedAt = wait.Later(w.ChangedAt, at)
	if f.Goals.Work == nil {
		f.Goals.Work = map[string]goal.Work{}
	}
	f.Goals.Work[m.GoalID] = w
	f.boundWork()
}

func (f *folding) boundWork() {
	if len(f.Goals.Work) <= maxWork {
		return
	}
	listed := map[string]bool{}
	for _, g := range f.Goals.Listed {
		listed[g.ID] = true
	}
	dropped := ""
	before := func(name string, w goal.Work) bool {
		other := f.Goals.Work[dropped]
		if listed[name] != listed[dropped] {
			return !listed[name]
		}
		if order := w.ChangedAt.Compare(other.ChangedAt); order != 0 {
			return order < 0
		}
		return name < dropped
	}
	for name, w := range f.Goals.Work {
		if dropped == "" || before(name, w) {
			dropped = name
		}
	}
	delete(f.Goals.Work, dropped)
}
