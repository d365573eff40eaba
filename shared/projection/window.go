package projection

import (
	"slices"
	"strconv"
	"time"
)

// How finely and how far back attempts are counted. One bucket more than the span, because the newest is not full.
const (
	recentStep      = 5 * time.Minute
	recentBuckets   = 6*12 + 1
	hourlyBuckets   = 3*24 + 1
	endpointBuckets = 24 + 1
)

// Window counts attempts in steps of equal length without gaps, oldest first.
type Window struct {
	Start     time.Time `json:"start,omitzero" doc:"start of the first step"`
	Seconds   int64     `json:"seconds" doc:"length of a step" example:"3600"`
	Delivered []int64   `json:"delivered" doc:"attempts that were answered 2xx"`
	Failed    []int64   `json:"failed" doc:"all other attempts"`
}

// Counts is a sum over a window.
type Counts struct{ Delivered, Failed int64 }

// Total is all attempts.
func (c Counts) Total() int64 { return c.Delivered + c.Failed }

// FailureRatio is the share of attempts that failed; 0 where there were none.
func (c Counts) FailureRatio() float64 {
	if c.Total() == 0 {
		return 0
	}
	return float64(c.Failed) / float64(c.Total())
}

func newWindow(step time.Duration) Window {
	return Window{Seconds: int64(step / time.Second), Delivered: []int64{}, Failed: []int64{}}
}

// Since sums the steps that end after from: the first may reach back up to one step further.
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

// At is the counts of the step that holds t.
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

// add counts attempts at a time. Steps more than keep back fall off; what comes later than that counts as the oldest.
func (w *Window) add(at time.Time, n Counts, keep int) {
	bucket := at.Unix() - at.Unix()%w.Seconds
	if len(w.Delivered) == 0 || bucket-w.Start.Unix() >= 2*int64(keep)*w.Seconds {
		w.Start, w.Delivered, w.Failed = time.Unix(bucket, 0).UTC(), w.Delivered[:0], w.Failed[:0]
	}
	i := max(int((bucket-w.Start.Unix())/w.Seconds), 0)
	for len(w.Delivered) <= i {
		w.Delivered, w.Failed = append(w.Delivered, 0), append(w.Failed, 0)
	}
	w.Delivered[i] += n.Delivered
	w.Failed[i] += n.Failed
	if over := len(w.Delivered) - keep; over > 0 {
		w.Start = w.Start.Add(time.Duration(int64(over)*w.Seconds) * time.Second)
		w.Delivered, w.Failed = slices.Delete(w.Delivered, 0, over), slices.Delete(w.Failed, 0, over)
	}
}

func (w Window) clone() Window {
	w.Delivered, w.Failed = slices.Clone(w.Delivered), slices.Clone(w.Failed)
	return w
}

// MarshalJSON writes the fields as they are declared. It is written out because windows are most of a context's bytes
// and every GET reads them.
func (w Window) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, 96+6*len(w.Delivered))
	b = append(b, '{')
	if !w.Start.IsZero() {
		b = append(b, `"start":"`...)
		b = w.Start.AppendFormat(b, time.RFC3339)
		b = append(b, `",`...)
	}
	b = append(b, `"seconds":`...)
	b = strconv.AppendInt(b, w.Seconds, 10)
	b = appendCounts(append(b, `,"delivered":`...), w.Delivered)
	b = appendCounts(append(b, `,"failed":`...), w.Failed)
	return append(b, '}'), nil
}

// UnmarshalJSON reads what MarshalJSON writes.
func (w *Window) UnmarshalJSON(data []byte) error {
	d := decoder{data: data}
	*w = d.window()
	return d.end()
}

func appendCounts(b []byte, counts []int64) []byte {
	b = append(b, '[')
	for i, n := range counts {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, n, 10)
	}
	return append(b, ']')
}
