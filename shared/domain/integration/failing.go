package integration

import (
	"slices"
	"time"

	"orgops/shared/storage/store"
)

// MaxFailing limits how long a source may fail in production. FailingTimer names the kind of the timer that looks at a source
// whose schedule is paused: no run is left that could. Its subject is "<provider>@<time of the pause>@<incarnation>".
const (
	MaxFailing   = 5 * 24 * time.Hour
	FailingTimer = "source-failing"
)

// FailsFor returns for how long a source has failed in production. failing is the time of its first failed run since the last
// success. A new certification begins the time again, because it has proven that the source can be fetched.
func (i Integration) FailsFor(failing, now time.Time) time.Duration {
	return now.Sub(i.failsSince(failing))
}

func (i Integration) failsSince(failing time.Time) time.Time {
	if c := i.Certification; c != nil && c.PassedAt.After(failing) {
		return c.PassedAt
	}
	return failing
}

// Demoted returns the integration after its source has failed for MaxFailing. The port to sync closes and the schedule pauses.
// Without another open port in or out, the integration returns to the sandbox.
func (i Integration) Demoted(now time.Time) Integration {
	if i.Schedule != nil && i.Schedule.PausedAt == nil {
		i = i.Paused(now)
	}
	certification := *i.Certification
	certification.Closed = append(slices.Clone(certification.Closed), SyncPull)
	if len(certification.Open()) == 0 {
		return i.Sandboxed(SandboxedByFailing, now)
	}
	i.Certification, i.UpdatedAt = &certification, now
	return i
}

// Demotion returns the op that sets the timer of a source whose schedule is paused.
func (i Integration) Demotion(c store.Company, failing time.Time) store.Op {
	return c.Timer(i.failsSince(failing).Add(MaxFailing), FailingTimer, i.Provider+"@"+i.named(*i.Schedule.PausedAt))
}

// IsPaused reports whether the schedule is paused since the time that a timer of the kind FailingTimer names.
func (i Integration) IsPaused(pause string) bool {
	return i.Schedule != nil && i.Schedule.PausedAt != nil && i.named(*i.Schedule.PausedAt) == pause
}
