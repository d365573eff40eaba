package goal

import (
	"cmp"
	"fmt"
	"math/big"
	"strings"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/base/text"
)

// Direction says which way a number must go.
type Direction string

// The directions.
const (
	Up   Direction = "up"
	Down Direction = "down"
)

// Measure is the number that a goal is measured by. Numbers are decimal texts, so that none is rounded.
type Measure struct {
	Current    string    `json:"current,omitempty" maxLength:"32" doc:"the newest value; absent in a request: start; with a source the syncs set it, and it is absent until the first one" example:"41200"`
	Target     string    `json:"target" maxLength:"32" doc:"the value that reaches the goal" example:"50000"`
	Start      string    `json:"start,omitempty" maxLength:"32" doc:"the value at the beginning; absent in a request: that of the stored goal, or else current, or else the first one that the source gives" example:"32000"`
	Unit       string    `json:"unit" minLength:"1" maxLength:"16" doc:"what is counted" example:"EUR"`
	Direction  Direction `json:"direction" enum:"up,down" doc:"up: the number must grow to the target; down: it must fall to it"`
	Source     *Source   `json:"source,omitempty" doc:"where the syncs read the value, of a goal of the company's own; absent: the company tells it"`
	ObservedAt time.Time `json:"observedAt,omitzero" readOnly:"true" doc:"when the current value was told"`
}

// decimal matches the numbers of a measure.
const decimal text.Pattern = `^-?[0-9]{1,18}(\.[0-9]{1,9})?$`

// number reads a decimal text.
func number(text string) (*big.Rat, bool) {
	if !decimal.Matches(text) {
		return nil, false
	}
	return new(big.Rat).SetString(text)
}

// complete returns the measure with what it leaves out, taken from the stored one.
func (m Measure) complete(old *Measure, now time.Time) *Measure {
	if old != nil {
		m.Start = cmp.Or(m.Start, old.Start)
		m.Current = cmp.Or(m.Current, old.Current)
	}
	if m.Source == nil {
		m.Current = cmp.Or(m.Current, m.Start, "0")
	}
	m.Start = cmp.Or(m.Start, m.Current)
	if m.Current != "" {
		m.ObservedAt = now.UTC()
	}
	return &m
}

// Check lists the problems of a measure. Their JSON pointers start with at.
func (m Measure) Check(at string) (problems []fault.FieldError) {
	refuse := func(field, detail string) {
		problems = append(problems, fault.FieldError{Pointer: at + "/" + field, Detail: detail})
	}
	for _, n := range []struct{ field, text string }{{"current", m.Current}, {"target", m.Target}, {"start", m.Start}} {
		if _, ok := number(n.text); !ok && (n.text != "" || n.field == "target") {
			refuse(n.field, `must be a decimal number as text, such as "41200.50", with at most 18 digits before the point and 9 after it`)
		}
	}
	if strings.TrimSpace(m.Unit) == "" || len(m.Unit) > 16 {
		refuse("unit", "needs 1 to 16 bytes")
	}
	if m.Direction != Up && m.Direction != Down {
		refuse("direction", "must be up or down")
	}
	if m.Source != nil {
		problems = append(problems, m.Source.Check(at+"/source")...)
	}
	if len(problems) > 0 || m.Start == "" { // it is the stored one, or the current value
		return problems
	}
	start, _ := number(m.Start)
	target, _ := number(m.Target)
	switch order := target.Cmp(start); {
	case order == 0:
		refuse("target", "must differ from the start, which is "+m.Start)
	case (order > 0) != (m.Direction == Up):
		refuse("direction", "does not lead from the start, which is "+m.Start+", to the target")
	}
	return problems
}

// progress returns the share of the way from start to target, 0 to 1.
func (m Measure) progress() float64 {
	if m.Current == "" {
		return 0
	}
	current, start, target := m.rat(m.Current), m.rat(m.Start), m.rat(m.Target)
	if order := current.Cmp(target); order == 0 || (order > 0) == (m.Direction == Up) {
		return 1
	}
	way := new(big.Rat).Sub(target, start)
	if way.Sign() == 0 || (way.Sign() > 0) != (m.Direction == Up) { // it began beyond the target, and is on this side now
		return 0
	}
	done, _ := new(big.Rat).Quo(new(big.Rat).Sub(current, start), way).Float64()
	return min(1, max(0, done))
}

func (Measure) rat(text string) *big.Rat {
	if n, ok := number(text); ok {
		return n
	}
	return new(big.Rat)
}

// String tells the value and the target, such as "41,200 of 50,000 EUR".
func (m Measure) String() string {
	if m.Current == "" {
		return fmt.Sprintf("no value yet of %s %s", grouped(m.Target), m.Unit)
	}
	return fmt.Sprintf("%s of %s %s", grouped(m.Current), grouped(m.Target), m.Unit)
}

// grouped puts a comma after each three digits before the point.
func grouped(text string) string {
	whole, rest, _ := strings.Cut(text, ".")
	sign := ""
	if strings.HasPrefix(whole, "-") {
		sign, whole = "-", whole[1:]
	}
	for at := len(whole) - 3; at > 0; at -= 3 {
		whole = whole[:at] + "," + whole[at:]
	}
	if rest != "" {
		rest = "." + rest
	}
	return sign + whole + rest
}

// equal reports whether two measures are the same, apart from when they were told.
func (m *Measure) equal(o *Measure) bool {
	if m == nil || o == nil {
		return m == o
	}
	a, b := *m, *o
	a.ObservedAt, b.ObservedAt = time.Time{}, time.Time{}
	a.Source, b.Source = nil, nil
	return a == b && m.Source.equal(o.Source)
}
