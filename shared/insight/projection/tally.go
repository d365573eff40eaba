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

// add changes the count at a time by n. Above maxBuckets it merges the two oldest buckets, so the oldest bucket may count
// times after its step. For this reason add subtracts from the newest bucket that begins at or before the time.
func (t *Tally) add(at time.Time, step time.Duration, n int) {
	from := at.UTC().Truncate(step)
	i, found := slices.BinarySearchFunc(*t, from, func(b Bucket, f time.Time) int { return b.From.Compare(f) })
	switch {
	case found:
		(*t)[i].Count += n
	case n > 0:
		*t = slices.Insert(*t, i, Bucket{From: from, Count: n})
	case i > 0:
		i--
		(*t)[i].Count += n
	default:
		return // subtracts something that was never counted
	}
	if (*t)[i].Count <= 0 {
		*t = slices.Delete(*t, i, i+1)
	}
	if len(*t) > maxBuckets {
		(*t)[0].Count += (*t)[1].Count
		*t = slices.Delete(*t, 1, 2)
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
