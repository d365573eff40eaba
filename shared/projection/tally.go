package projection

import (
	"slices"
	"time"
)

// Tally counts things by a time of theirs, oldest first; times without any are left out.
type Tally []Bucket

// Bucket is how many there are from a time on.
type Bucket struct {
	From  time.Time `json:"from" doc:"start of the step"`
	Count int       `json:"count" doc:"how many"`
}

// Total is the sum of all buckets.
func (t Tally) Total() int {
	n := 0
	for _, b := range t {
		n += b.Count
	}
	return n
}

// Oldest is the start of the oldest bucket; ok is false when there is none.
func (t Tally) Oldest() (from time.Time, ok bool) {
	if len(t) == 0 {
		return time.Time{}, false
	}
	return t[0].From, true
}

// add changes the count at a time by n. More than maxBuckets are merged from the oldest on, so a bucket may hold what
// is newer than its step; taking away therefore looks for the newest bucket that is not behind the time.
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
		return // taken away what was never counted
	}
	if (*t)[i].Count <= 0 {
		*t = slices.Delete(*t, i, i+1)
	}
	if len(*t) > maxBuckets {
		(*t)[0].Count += (*t)[1].Count
		*t = slices.Delete(*t, 1, 2)
	}
}

// forget drops the buckets before a time: what they counted has expired.
func (t *Tally) forget(before time.Time) {
	n := 0
	for n < len(*t) && (*t)[n].From.Before(before) {
		n++
	}
	*t = slices.Delete(*t, 0, n)
}
