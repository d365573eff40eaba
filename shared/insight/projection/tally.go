package projection

import (
	"slices"
	"time"
)

// Tally counts things in buckets by time, oldest first. It has no empty buckets.
type Tally []Bucket

// Bucket counts the things in a step that begins at From.
type Bucket struct {
	From  time.Time `json:"from" doc:"start of the step"`
	Count int       `json:"count" doc:"number of things in the step" format:"int32"`
}

// Total returns the sum of all buckets.
func (t Tally) Total() int {
	n := 0
	for _, b := range t {
		n += b.Count
	}
	return n
}

// Oldest returns the start of the oldest bucket; ok is false for an empty tally.
func (t Tally) Oldest() (from time.Time, ok bool) {
	if len(t) == 0 {
		return time.Time{}, false
	}
	return t[0].From, true
}

// add changes the count of the step that begins at from by n. It ignores a subtraction from a step that counts nothing.
func (t *Tally) add(from time.Time, n int) {
	i, found := slices.BinarySearchFunc(*t, from, func(b Bucket, f time.Time) int { return b.From.Compare(f) })
	switch {
	case found:
		(*t)[i].Count += n
		if (*t)[i].Count <= 0 {
			*t = slices.Delete(*t, i, i+1)
		}
	case n > 0:
		*t = slices.Insert(*t, i, Bucket{From: from, Count: n})
	}
}

// forget drops the buckets before a time, because their contents have expired.
func (t *Tally) forget(before time.Time) {
	n := 0
	for n < len(*t) && (*t)[n].From.Before(before) {
		n++
	}
	*t = slices.Delete(*t, 0, n)
}

// merge merges buckets into the longer steps that start returns. Each of those must hold whole buckets.
func (t *Tally) merge(start func(time.Time) time.Time) {
	merged := (*t)[:0]
	for _, b := range *t {
		b.From = start(b.From)
		if n := len(merged); n > 0 && merged[n-1].From.Equal(b.From) {
			merged[n-1].Count += b.Count
		} else {
			merged = append(merged, b)
		}
	}
	*t = merged
}

// backlogStart returns the start of the step that counts the held and dead deliveries of an event's time: a day long from
// the four days before now's on, four days before. The steps merge as now advances.
func backlogStart(at, now time.Time) time.Time {
	at = at.UTC()
	if !at.Before(now.Truncate(tallyDays).Add(-tallyDays)) {
		return at.Truncate(tallyDay)
	}
	return at.Truncate(tallyDays)
}

// pendingStart returns the start of the step that counts the waiting deliveries of an event's time: 5 minutes long from three
// hours before now's on, an hour from the day before now's on, and a day before. As now advances, steps merge into longer
// ones, so a tally has about 130 steps at most.
func pendingStart(at, now time.Time) time.Time {
	at = at.UTC()
	switch {
	case !at.Before(now.Truncate(time.Hour).Add(-3 * time.Hour)):
		return at.Truncate(recentStep)
	case !at.Before(now.Truncate(tallyDay).Add(-tallyDay)):
		return at.Truncate(time.Hour)
	}
	return at.Truncate(tallyDay)
}
