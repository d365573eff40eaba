package projection

import (
	"slices"
	"time"
)

// The steps and spans in which attempts are counted. Each number of buckets includes one extra, because the newest bucket
// is not full yet.
const (
	recentStep      = 5 * time.Minute
	recentBuckets   = 6*12 + 1
	hourlyBuckets   = 3*24 + 1
	dailyBuckets    = 30 + 1
	endpointBuckets = 24 + 1
)

// Window counts attempts in steps of equal length without gaps, oldest first.
type Window struct {
	Start     time.Time `json:"start,omitzero" doc:"start of the first step"`
	Seconds   int64     `json:"seconds" doc:"length of a step" example:"3600"`
	Delivered []int64   `json:"delivered" doc:"attempts that were answered 2xx"`
	Failed    []int64   `json:"failed" doc:"all other attempts"`
}

// Counts holds the attempts of a window or a step.
type Counts struct{ Delivered, Failed int64 }

// Total returns the number of all attempts.
func (c Counts) Total() int64 { return c.Delivered + c.Failed }

// FailureRatio returns the share of attempts that failed, 0 without attempts.
func (c Counts) FailureRatio() float64 {
	if c.Total() == 0 {
		return 0
	}
	return float64(c.Failed) / float64(c.Total())
}

func newWindow(step time.Duration) Window {
	return Window{Seconds: int64(step / time.Second), Delivered: []int64{}, Failed: []int64{}}
}

// Since sums the steps that end after from. The first of them may begin up to one step before from.
func (w Window) Since(from time.Time) Counts {
	if w.Seconds <= 0 || len(w.Delivered) == 0 {
		return Counts{}
	}
	first := 0
	if behind := from.Unix() - w.Start.Unix(); behind >= 0 {
		first = int(min(behind/w.Seconds, int64(len(w.Delivered))))
	}
	var sum Counts
	for i := first; i < len(w.Delivered); i++ {
		sum.Delivered += w.Delivered[i]
		sum.Failed += w.Failed[i]
	}
	return sum
}

// At returns the counts of the step that contains t.
func (w Window) At(t time.Time) Counts {
	if w.Seconds <= 0 || t.Before(w.Start) {
		return Counts{}
	}
	i := int((t.Unix() - w.Start.Unix()) / w.Seconds)
	if i >= len(w.Delivered) {
		return Counts{}
	}
	return Counts{w.Delivered[i], w.Failed[i]}
}

// add counts an attempt, made at or before now. It ignores an attempt before the keep steps that end with now's.
func (w *Window) add(at time.Time, n Counts, keep int, now time.Time) {
	w.trim(keep, now)
	step := w.stepOf(at)
	if step < w.oldest(keep, now) {
		return
	}
	if len(w.Delivered) == 0 {
		w.Start = time.Unix(step, 0).UTC()
	}
	if before := int((w.Start.Unix() - step) / w.Seconds); before > 0 {
		w.Start = time.Unix(step, 0).UTC()
		w.Delivered = slices.Insert(w.Delivered, 0, make([]int64, before)...)
		w.Failed = slices.Insert(w.Failed, 0, make([]int64, before)...)
	}
	i := int((step - w.Start.Unix()) / w.Seconds)
	for len(w.Delivered) <= i {
		w.Delivered, w.Failed = append(w.Delivered, 0), append(w.Failed, 0)
	}
	w.Delivered[i] += n.Delivered
	w.Failed[i] += n.Failed
}

// trim drops the steps before the keep steps up to now's. The window then begins with a step that has attempts, so
// it does not depend on the order in which attempts were added.
func (w *Window) trim(keep int, now time.Time) {
	over, oldest := 0, w.oldest(keep, now)
	for over < len(w.Delivered) {
		early := w.Start.Unix()+int64(over)*w.Seconds < oldest
		if !early && w.Delivered[over]+w.Failed[over] > 0 {
			break
		}
		over++
	}
	if over == 0 {
		return
	}
	w.Start = w.Start.Add(time.Duration(int64(over)*w.Seconds) * time.Second)
	w.Delivered, w.Failed = slices.Delete(w.Delivered, 0, over), slices.Delete(w.Failed, 0, over)
	if len(w.Delivered) == 0 {
		w.Start = time.Time{}
	}
}

// oldest returns the start of the oldest of the keep steps that end with now's.
func (w *Window) oldest(keep int, now time.Time) int64 {
	return w.stepOf(now) - int64(keep-1)*w.Seconds
}

func (w *Window) stepOf(t time.Time) int64 { return t.Unix() - t.Unix()%w.Seconds }

func (w Window) clone() Window {
	w.Delivered, w.Failed = slices.Clone(w.Delivered), slices.Clone(w.Failed)
	return w
}
