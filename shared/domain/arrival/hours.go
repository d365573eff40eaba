package arrival

import (
	"slices"
	"time"
)

// Steps limits the hours that Hours counts to 24, and one more because the newest is not over.
const Steps = 25

// Hours counts something by hour, in few bytes. The first number is the Unix time of the newest in milliseconds. The others
// are the counts of its hour and of the hours before it. Hours does not depend on the order of what it counts.
type Hours []int64

const hour = int64(time.Hour / time.Millisecond)

// Add returns the hours with n more at a time. It leaves out what lies Steps or more before the newest, and never changes h.
func (h Hours) Add(at time.Time, n int64) Hours {
	ms := at.UnixMilli()
	if len(h) == 0 {
		return Hours{ms, n}
	}
	counts := slices.Clone(h[1:])
	if ahead := ms/hour - h[0]/hour; ahead >= Steps {
		counts = nil
	} else if ahead > 0 {
		counts = slices.Insert(counts, 0, make([]int64, ahead)...)
	}
	newest := max(h[0], ms)
	step := newest/hour - ms/hour
	if step < Steps {
		for int64(len(counts)) <= step {
			counts = append(counts, 0)
		}
		counts[step] += n
	}
	return cut(newest, counts, Steps)
}

// Trim returns the hours without the counts of Steps hours or more before now. It keeps the time of the newest.
func (h Hours) Trim(now time.Time) Hours {
	if len(h) == 0 {
		return h
	}
	return cut(h[0], h[1:], Steps-max(now.UnixMilli()/hour-h[0]/hour, 0))
}

// cut keeps at most the newest counts, and no zeros behind the last one.
func cut(newest int64, counts []int64, most int64) Hours {
	counts = counts[:min(int64(len(counts)), max(most, 0))]
	for len(counts) > 0 && counts[len(counts)-1] == 0 {
		counts = counts[:len(counts)-1]
	}
	return append(Hours{newest}, counts...)
}

// Merge returns the sum of both.
func (h Hours) Merge(other Hours) Hours {
	for step, n := range other.counts() {
		at := other[0]
		if step > 0 {
			at = (other[0]/hour - int64(step)) * hour
		}
		h = h.Add(time.UnixMilli(at), n)
	}
	return h
}

func (h Hours) counts() []int64 {
	if len(h) == 0 {
		return nil
	}
	return h[1:]
}

// Last returns the time of the newest, or the zero time.
func (h Hours) Last() time.Time {
	if len(h) == 0 {
		return time.Time{}
	}
	return time.UnixMilli(h[0]).UTC()
}

// Since returns the count of the hours that end after from. The first of them may begin up to an hour before from.
func (h Hours) Since(from time.Time) int64 {
	var sum int64
	for step, n := range h.counts() {
		if (h[0]/hour-int64(step)+1)*hour > from.UnixMilli() {
			sum += n
		}
	}
	return sum
}
