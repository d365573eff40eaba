package projection

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"orgops/shared/base/text"
	"orgops/shared/base/wait"
	"orgops/shared/domain/event"
	"orgops/shared/domain/syncrun"
	"orgops/shared/domain/timeline"
	"orgops/shared/storage/store"
)

// runFields holds the fields of a sync run that folding needs.
type runFields struct {
	ID          string           `json:"id"`
	Provider    string           `json:"provider"`
	Incarnation string           `json:"incarnation"`
	Mode        syncrun.Mode     `json:"mode"`
	State       syncrun.State    `json:"state"`
	Progress    syncrun.Progress `json:"progress"`
	Error       string           `json:"error"`
	Removal     *syncrun.Removal `json:"removal"`
	RequestedBy string           `json:"requestedBy"`
	StartedAt   *time.Time       `json:"startedAt"`
	FinishedAt  *time.Time       `json:"finishedAt"`
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
	f.reach(c.At)
	if !f.current(run.Provider, run.Incarnation) {
		return nil
	}
	ended := run.State.Ended() && !was.State.Ended()
	s := f.Syncs[run.Provider]
	if run.ID >= s.Run { // ids sort by time; an older run does not change the current state
		s.Run, s.Mode, s.State, s.RunningSince = run.ID, run.Mode, run.State, time.Time{}
		if run.State == syncrun.Running || run.State == syncrun.Awaiting {
			s.RunningSince = at(run.StartedAt)
		}
	}
	if run.State == syncrun.Awaiting && was.State != syncrun.Awaiting && run.Removal != nil {
		f.addEntry(c, timeline.MemorySynced, timeline.Entry{
			Title: fmt.Sprintf("the sync of %s waits for a confirmation before it removes %d of %d items", run.Provider, run.Removal.Items, run.Removal.Of),
			Actor: timeline.Reference{Type: "integration", ID: run.Provider}, Subject: timeline.Reference{Type: "sync", ID: run.ID},
			Details: details(map[string]any{"provider": run.Provider, "state": run.State, "removal": run.Removal}),
		})
	}
	if ended {
		end := c.At.UTC()
		if run.FinishedAt != nil {
			end = at(run.FinishedAt)
		}
		end = end.Truncate(time.Millisecond) // the context has room for no more
		s.FinishedAt = wait.Later(s.FinishedAt, end)
		if run.Mode == syncrun.Live {
			s = f.finish(c, s, run, end)
		}
	}
	f.Syncs[run.Provider] = s
	return nil
}

// finish folds the end of a live run.
func (f *folding) finish(c store.Change, s Sync, run runFields, end time.Time) Sync {
	name := event.IntegrationSyncCompleted
	var title string
	switch run.State {
	case syncrun.Succeeded:
		s.LastSucceededAt = wait.Later(s.LastSucceededAt, end)
		s.Successes = newest(inserted(s.Successes, end.Truncate(time.Second)), maxSuccesses)
		p := f.Memory.Providers[run.Provider]
		p.LastSyncedAt = wait.Later(p.LastSyncedAt, end)
		f.Memory.Providers[run.Provider] = p
		f.outcome(run.Provider, end, true)
		name = event.MemorySynced
		title = fmt.Sprintf("%s synced: %d new, %d changed, %d gone", run.Provider, run.Progress.Created, run.Progress.Updated, run.Progress.Deleted)
	case syncrun.Failed:
		if n := len(s.Failures); n == 0 || s.Failures[n-1].Before(end) {
			s.Error = text.TruncateJSON(run.Error, maxError)
		}
		s.Failures = newest(inserted(s.Failures, end), maxFailures)
		f.outcome(run.Provider, end, false)
		title = fmt.Sprintf("the sync of %s failed: %s", run.Provider, run.Error)
	default:
		title = fmt.Sprintf("the sync of %s was cancelled", run.Provider)
	}
	if run.State != syncrun.Cancelled {
		s.Outcomes = newest(outcomes(s.Outcomes, end, run.State == syncrun.Succeeded), maxOutcomes)
	}
	s.count()
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

// outcomes returns the outcomes of runs with one more in its place. It never changes its argument.
func outcomes(all []int64, end time.Time, worked bool) []int64 {
	one := end.Unix()
	if !worked {
		one = -one
	}
	i, _ := slices.BinarySearchFunc(all, one, func(a, b int64) int {
		return cmp.Or(cmp.Compare(max(a, -a), max(b, -b)), cmp.Compare(a, b))
	})
	return slices.Insert(slices.Clone(all), i, one)
}

// SuccessRate returns the share of the newest live runs that succeeded; ok is false without any.
func (s Sync) SuccessRate() (rate float64, ok bool) {
	worked := 0
	for _, end := range s.Outcomes {
		if end > 0 {
			worked++
		}
	}
	return float64(worked) / float64(max(len(s.Outcomes), 1)), len(s.Outcomes) > 0
}

// inserted returns the times with one more in its place. It never changes its argument.
func inserted(all []time.Time, t time.Time) []time.Time {
	i, _ := slices.BinarySearchFunc(all, t, time.Time.Compare)
	return slices.Insert(slices.Clone(all), i, t)
}

// count counts the failures since the last success.
func (s *Sync) count() {
	for len(s.Failures) > 0 && !s.Failures[0].After(s.LastSucceededAt) {
		s.Failures = newest(s.Failures, len(s.Failures)-1)
	}
	s.FailuresInRow, s.FailingSince = len(s.Failures), time.Time{}
	if s.FailuresInRow == 0 {
		s.Error = ""
		return
	}
	s.FailingSince = s.Failures[0]
}
