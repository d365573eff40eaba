package projection

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"orgops/shared/event"
	"orgops/shared/store"
	"orgops/shared/syncrun"
	"orgops/shared/timeline"
)

func (f *folding) memory(c store.Change) error {
	image, n := c.New, int64(0)
	switch {
	case c.Old == nil:
		n = 1
	case c.New == nil:
		image, n = c.Old, -1
	}
	provider, err := field(image.Body, "provider")
	if err != nil {
		return err
	}
	f.Memory.count(provider, n, c.At.UTC())
	return nil
}

// runFields is what folding needs of a sync run.
type runFields struct {
	ID          string           `json:"id"`
	Provider    string           `json:"provider"`
	Mode        syncrun.Mode     `json:"mode"`
	State       syncrun.State    `json:"state"`
	Progress    syncrun.Progress `json:"progress"`
	Error       string           `json:"error"`
	RequestedBy string           `json:"requestedBy"`
	StartedAt   *time.Time       `json:"startedAt"`
}

func (f *folding) sync(c store.Change) error {
	if c.New == nil { // it expired, long after it ended
		return nil
	}
	var run runFields
	if err := json.Unmarshal(c.New.Body, &run); err != nil {
		return err
	}
	was := ""
	if c.Old != nil {
		var err error
		if was, err = field(c.Old.Body, "state"); err != nil {
			return err
		}
	}
	ended := run.State.Ended() && !syncrun.State(was).Ended()
	s := f.Syncs[run.Provider]
	if run.ID >= s.Run { // ids sort by time; an older run has nothing to say about now
		s.Run, s.Mode, s.State, s.RunningSince = run.ID, run.Mode, run.State, time.Time{}
		if run.State == syncrun.Running {
			s.RunningSince = at(run.StartedAt)
		}
	}
	if ended {
		s.FinishedAt = c.At.UTC()
	}
	if ended && run.Mode == syncrun.Live {
		s = f.ended(c, s, run)
	}
	f.Syncs[run.Provider] = s
	return nil
}

// ended folds the end of a live run.
func (f *folding) ended(c store.Change, s Sync, run runFields) Sync {
	when, name := c.At.UTC(), event.IntegrationSyncCompleted
	var title string
	switch run.State {
	case syncrun.Succeeded:
		s.LastSucceededAt, s.FailuresInRow, s.FailingSince, s.Error = when, 0, time.Time{}, ""
		p := f.Memory.Providers[run.Provider]
		p.LastSyncedAt = when
		f.Memory.Providers[run.Provider] = p
		f.outcome(run.Provider, when, true)
		name = event.MemorySynced
		title = fmt.Sprintf("%s synced: %d new, %d changed, %d gone", run.Provider, run.Progress.Created, run.Progress.Updated, run.Progress.Deleted)
	case syncrun.Failed:
		if s.FailuresInRow++; s.FailuresInRow == 1 {
			s.FailingSince = when
		}
		s.Error = cut(run.Error, maxText)
		f.outcome(run.Provider, when, false)
		title = fmt.Sprintf("the sync of %s failed: %s", run.Provider, run.Error)
	default:
		title = fmt.Sprintf("the sync of %s was cancelled", run.Provider)
	}
	actor := timeline.Reference{Type: "integration", ID: run.Provider}
	if run.RequestedBy != "" {
		actor = timeline.Reference{Type: "user", ID: run.RequestedBy}
	}
	f.tell(c, timeline.MemorySynced, timeline.Entry{
		Title: title, Actor: actor, Subject: timeline.Reference{Type: "sync", ID: run.ID}, EventID: event.ID(c, name),
		Details: object(map[string]any{"provider": run.Provider, "state": run.State, "progress": run.Progress}),
	})
	return s
}

func (f *folding) timeline(c store.Change) error {
	if c.New == nil {
		gone := c.Key
		f.Timeline = slices.DeleteFunc(f.Timeline, func(e timeline.Entry) bool { return timeline.Key(e.ID) == gone })
		return nil
	}
	var e timeline.Entry
	if err := json.Unmarshal(c.New.Body, &e); err != nil {
		return err
	}
	e.Title, e.Subject.ID = cut(e.Title, maxText), cut(e.Subject.ID, maxSubject)
	if len(e.Details) > maxEntryDetails {
		e.Details = nil
	}
	newer := func(a, b timeline.Entry) int { return strings.Compare(b.ID, a.ID) }
	i, found := slices.BinarySearchFunc(f.Timeline, e, newer)
	if found {
		f.Timeline[i] = e
		return nil
	}
	f.Timeline = slices.Insert(f.Timeline, i, e)
	f.Timeline = f.Timeline[:min(len(f.Timeline), MaxTimeline)]
	return nil
}

func (f *folding) company(c store.Change) error {
	if c.New == nil {
		return nil
	}
	var is Company
	if err := json.Unmarshal(c.New.Body, &is); err != nil {
		return err
	}
	is.Name, is.CreatedAt = cut(is.Name, maxText), is.CreatedAt.UTC()
	f.Company = is
	return nil
}

func number(value []byte) (int, error) { return strconv.Atoi(string(value)) }

// object is a details object; maps of plain values always encode.
func object(m map[string]any) json.RawMessage {
	b, _ := json.Marshal(m)
	return b
}
