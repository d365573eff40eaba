package projection

import (
	"fmt"
	"time"

	"orgops/shared/domain/event"
	"orgops/shared/domain/syncrun"
	"orgops/shared/domain/timeline"
	"orgops/shared/storage/store"
)

// runFields holds the fields of a sync run that folding needs.
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
	run, err := decode[runFields](c.New)
	if err != nil {
		return err
	}
	was, err := decode[struct {
		State syncrun.State `json:"state"`
	}](c.Old)
	if err != nil {
		return err
	}
	ended := run.State.Ended() && !was.State.Ended()
	s := f.Syncs[run.Provider]
	if run.ID >= s.Run { // ids sort by time; an older run does not change the current state
		s.Run, s.Mode, s.State, s.RunningSince = run.ID, run.Mode, run.State, time.Time{}
		if run.State == syncrun.Running {
			s.RunningSince = at(run.StartedAt)
		}
	}
	if ended {
		s.FinishedAt = c.At.UTC()
	}
	if ended && run.Mode == syncrun.Live {
		s = f.finish(c, s, run)
	}
	f.Syncs[run.Provider] = s
	return nil
}

// finish folds the end of a live run.
func (f *folding) finish(c store.Change, s Sync, run runFields) Sync {
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
	f.addEntry(c, timeline.MemorySynced, timeline.Entry{
		Title: title, Actor: actor, Subject: timeline.Reference{Type: "sync", ID: run.ID}, EventID: event.ID(c, name),
		Details: details(map[string]any{"provider": run.Provider, "state": run.State, "progress": run.Progress}),
	})
	return s
}
