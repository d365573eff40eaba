package integration

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"orgops/shared/storage/store"
)

// Schedule says how often an integration is synced without a request.
type Schedule struct {
	Every    string     `json:"every"`              // as configured: 15m to 24h
	Since    time.Time  `json:"since"`              // when this schedule began; its timers name it
	PausedAt *time.Time `json:"pausedAt,omitempty"` // after too many failures; a paused schedule has no timer
}

// ScheduleTimer names the kind of the timer that syncs. Its subject is "<provider>@<beginning of the schedule>@<incarnation>". MaxFailures
// is the number of failed syncs in a row that pauses a schedule.
const (
	ScheduleTimer = "scheduled-sync"
	MaxFailures   = 5
)

// Reschedule sets the schedule that the configuration asks for, and returns the ops that set its first timer. A schedule
// that is already in force continues. A paused one begins again.
func (i *Integration) Reschedule(c store.Company, now time.Time) []store.Op {
	var config struct {
		Schedule string `json:"schedule"`
	}
	_ = json.Unmarshal(i.Config, &config) // a stored configuration is an object; not every connector has a schedule
	every, err := time.ParseDuration(config.Schedule)
	switch {
	case err != nil, every < time.Minute:
		i.Schedule = nil
		return nil
	case i.Schedule != nil && i.Schedule.Every == config.Schedule && i.Schedule.PausedAt == nil:
		return nil
	}
	i.Schedule = &Schedule{Every: config.Schedule, Since: i.begins(now)}
	return i.NextSync(c, now)
}

// begins returns the beginning of a new schedule. It lies after that of the one before, even if both are set within a
// millisecond or the clock has stepped back. Otherwise the two could have the same timer, which can be set only once.
func (i *Integration) begins(now time.Time) time.Time {
	now = now.UTC()
	if i.Schedule == nil || now.Sub(i.Schedule.Since) >= time.Millisecond {
		return now
	}
	return i.Schedule.Since.Add(time.Millisecond)
}

// NextSync returns the op that sets the timer of the next scheduled sync, or none without a schedule. The syncs of companies
// with the same schedule are spread over it, and a missed sync is not made up for.
func (i Integration) NextSync(c store.Company, now time.Time) []store.Op {
	if i.Schedule == nil {
		return nil
	}
	every := i.Schedule.Interval()
	if every <= 0 {
		return nil
	}
	sum := sha256.Sum256([]byte(c.ID() + "#" + i.Provider))
	offset := int64(binary.BigEndian.Uint64(sum[:]) % uint64(every/time.Millisecond))
	step := every.Milliseconds()
	at := time.UnixMilli((now.UnixMilli()-offset)/step*step + offset + step).UTC()
	return []store.Op{c.Timer(at, ScheduleTimer, i.Provider+"@"+i.named(i.Schedule.Since))}
}

// Interval returns the time between two syncs, or 0 for a stored text that is no duration.
func (s Schedule) Interval() time.Duration {
	every, _ := time.ParseDuration(s.Every) // 0 with an error
	return every
}

// findsWithin is how soon a schedule comes again that finds a lost sync.
const findsWithin = time.Hour

// FindsSyncs reports whether the schedule comes again so soon that its next timer finds a sync whose queue message is lost. Such a sync
// needs no timer of its own.
func (i Integration) FindsSyncs(now time.Time) bool {
	return i.Schedule != nil && i.Schedule.PausedAt == nil && i.Schedule.Interval() > 0 && i.Schedule.Interval() <= findsWithin &&
		!i.Suspended && i.Allows(SyncPull, now)
}

// named returns what a timer's subject says of a time and of the integration that it belongs to.
func (i Integration) named(t time.Time) string {
	return strings.TrimSuffix(fmt.Sprintf("%x@%s", t.UnixMilli(), i.Incarnation), "@")
}

// Follows reports whether a timer belongs to the schedule that is in force.
func (i Integration) Follows(schedule string) bool {
	return i.Schedule != nil && i.Schedule.PausedAt == nil && i.named(i.Schedule.Since) == schedule
}

// Paused returns the integration with its schedule paused.
func (i Integration) Paused(now time.Time) Integration {
	if i.Schedule != nil {
		paused := *i.Schedule
		paused.PausedAt = &now
		i.Schedule, i.UpdatedAt = &paused, now
	}
	return i
}
