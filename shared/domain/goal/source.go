package goal

import (
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/base/text"
)

// MaxSourced limits the goals that one integration measures, because their numbers are written with the end of its sync.
const MaxSourced = 25

// Aggregate says how the numbers of a stream's records become one.
type Aggregate string

// The aggregates.
const (
	Last  Aggregate = "last" // of the records in the provider's order
	Sum   Aggregate = "sum"
	Count Aggregate = "count" // how many records have a value
	Min   Aggregate = "min"
	Max   Aggregate = "max"
	Avg   Aggregate = "avg"
)

// Counts reports whether a record that is read twice changes the result.
func (a Aggregate) Counts() bool { return a == Sum || a == Count || a == Avg }

// Source says where the number of a goal of the company's own comes from.
type Source struct {
	Provider  string    `json:"provider" minLength:"1" maxLength:"64" doc:"the integration whose syncs read the number" example:"stripe"`
	Stream    string    `json:"stream" minLength:"1" maxLength:"64" doc:"the list that has the records; list-connectors names the lists of each connector" example:"invoices"`
	Pointer   string    `json:"pointer" maxLength:"256" doc:"JSON Pointer to the number in a record as the provider sends it, or to what is counted; an empty text: the record itself" example:"/amount_paid"`
	Aggregate Aggregate `json:"aggregate" enum:"last,sum,count,min,max,avg" doc:"what becomes of the numbers of all records; last: that of the last record in the provider's order; count: how many records have a value there"`
	Factor    string    `json:"factor,omitempty" maxLength:"32" doc:"what the number is multiplied by, such as 0.01 for cents; absent: 1" example:"0.01"`

	EndedAt *time.Time `json:"endedAt,omitempty" readOnly:"true" doc:"when the integration was deleted; the goal keeps its last value"`
}

// pointer matches a JSON Pointer (RFC 6901) without U+0000, which no database can look for.
const pointer text.Pattern = `^(/([^~/\x00]|~[01])*)*$`

// Check lists the problems of a source. Their JSON pointers start with at.
func (s Source) Check(at string) (problems []fault.FieldError) {
	refuse := func(field, detail string) {
		problems = append(problems, fault.FieldError{Pointer: at + "/" + field, Detail: detail})
	}
	if !pointer.Matches(s.Pointer) || len(s.Pointer) > 256 {
		refuse("pointer", "must be a JSON Pointer (RFC 6901) into a record, such as /amount_paid; / in a name is ~1, and ~ is ~0")
	}
	switch s.Aggregate {
	case Last, Sum, Count, Min, Max, Avg:
	default:
		refuse("aggregate", "must be one of last, sum, count, min, max and avg")
	}
	if factor, ok := number(s.Factor); s.Factor != "" && (!ok || factor.Sign() == 0) {
		refuse("factor", `must be a decimal number other than 0 as text, such as "0.01"`)
	}
	return problems
}

// equal reports whether two sources are the same. Nil: none.
func (s *Source) equal(o *Source) bool {
	if s == nil || o == nil {
		return s == o
	}
	a, b := *s, *o
	a.EndedAt, b.EndedAt = nil, nil
	return a == b && (s.EndedAt == nil) == (o.EndedAt == nil)
}

// Source returns where the number of a goal comes from; ok is false if no integration measures it.
func (g Goal) Source() (s Source, ok bool) {
	if g.Measure == nil || g.Measure.Source == nil || g.Measure.Source.EndedAt != nil {
		return Source{}, false
	}
	return *g.Measure.Source, true
}

// Reading is a number that a sync has read for a goal of the company's own.
type Reading struct {
	Goal     string  `json:"goal"`
	Title    string  `json:"title"`
	Source   Source  `json:"source"`
	Current  string  `json:"current"`
	Progress float64 `json:"progress"` // of the goal with it
}

// Read returns the goal with a number that a sync has read for it. Changed is false if the goal is closed, takes its number from elsewhere
// by now, or has it already.
func Read(old Goal, r Reading, now time.Time) (g Goal, changed bool) {
	source, ok := old.Source()
	if !ok || old.State != Open || !source.equal(&r.Source) || old.Measure.Current == r.Current {
		return old, false
	}
	measure := *old.Measure
	measure.Current = r.Current
	return old.remeasured(measure.complete(nil, now), now), true
}

// Unsourced returns a goal whose integration was deleted. It keeps its last value, and says why that stays.
func Unsourced(old Goal, now time.Time) Goal {
	measure := *old.Measure
	source := *measure.Source
	at := now.UTC()
	source.EndedAt, measure.Source = &at, &source
	return old.remeasured(&measure, now)
}

func (g Goal) remeasured(m *Measure, now time.Time) Goal {
	old := g.Alignment
	g.Measure, g.Progress, g.UpdatedAt = m, m.progress(), now
	g.Alignment = settle(old, g, now)
	return g
}

// Moved reports whether the source of a goal has given it another number since it was was.
func (g Goal) Moved(was Goal) bool {
	_, sourced := g.Source()
	return sourced && was.Measure != nil && was.Measure.Current != g.Measure.Current
}
