package projection

import (
	"slices"
	"time"
)

// Span is a stretch of time from From up to To, without To. Count says how many dead letters have their event in it.
type Span struct {
	From, To time.Time
	Count    int
}

// DeadLetters returns the stretches of time that hold the events of all dead letters of the endpoints that keep returns true
// for, newest first and without overlap. A reader queries them instead of every delivery.
func (p Context) DeadLetters(keep func(endpoint string) bool) []Span {
	var all []Span
	for endpoint, e := range p.Deliveries.Endpoints {
		if !keep(endpoint) {
			continue
		}
		for _, b := range slices.Concat(e.Dead, e.Former) {
			end := b.From.Add(tallyDay)
			if backlogStart(end.Add(-1), p.UpdatedAt).Equal(b.From.Truncate(tallyDays)) { // the day has merged into a longer step
				end = b.From.Truncate(tallyDays).Add(tallyDays)
			}
			all = append(all, Span{b.From, end, b.Count})
		}
	}
	slices.SortFunc(all, func(a, b Span) int { return b.From.Compare(a.From) })
	return joined(all)
}

// joined joins spans that touch or overlap. The spans are sorted, newest first.
func joined(all []Span) []Span {
	var out []Span
	for _, s := range all {
		if n := len(out); n > 0 && !s.To.Before(out[n-1].From) {
			out[n-1].From, out[n-1].Count = s.From, out[n-1].Count+s.Count
			if s.To.After(out[n-1].To) {
				out[n-1].To = s.To
			}
			continue
		}
		out = append(out, s)
	}
	return out
}
