package goal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"

	"orgops/shared/base/text"
)

// Tally adds up the numbers of the records that a sync reads, for one goal. It is stored with the run, so that another worker goes on.
type Tally struct {
	Goal   string `json:"goal"`
	Source Source `json:"source"`

	Begun   bool   `json:"begun,omitempty"` // the list was read from its beginning
	Records int    `json:"records,omitempty"`
	Values  int    `json:"values,omitempty"` // records with a value, or with a number unless they are counted
	Wrong   int    `json:"wrong,omitempty"`  // records whose value is no number
	Number  string `json:"number,omitempty"` // so far, as an exact fraction
}

// told matches a number in a record. Its length and its exponent are limited, because exact arithmetic takes as much memory as it has digits.
const told text.Pattern = `^[+-]?[0-9]{1,30}(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,2})?$`

// Add adds the value of a record: JSON, or nil if the record has none. A text that is a number counts as one.
func (t *Tally) Add(value json.RawMessage) {
	t.Records++
	value = bytes.TrimSpace(value)
	if len(value) == 0 || string(value) == "null" {
		return
	}
	if t.Source.Aggregate == Count {
		t.Values++
		return
	}
	text := string(value)
	if value[0] == '"' && json.Unmarshal(value, &text) != nil {
		text = ""
	}
	if text = strings.TrimSpace(text); text == "" {
		return
	}
	n, ok := new(big.Rat), told.Matches(text)
	if ok {
		n, ok = n.SetString(text)
	}
	if !ok {
		t.Wrong++
		return
	}
	if t.Values++; t.Values > 1 {
		n = t.with(n)
	}
	t.Number = n.RatString()
}

// with returns the number so far with another one.
func (t *Tally) with(n *big.Rat) *big.Rat {
	so, _ := new(big.Rat).SetString(t.Number)
	switch a := t.Source.Aggregate; {
	case a == Sum, a == Avg:
		return so.Add(so, n)
	case a == Min && so.Cmp(n) < 0, a == Max && so.Cmp(n) > 0:
		return so
	}
	return n
}

// Reset forgets the records: the list is read from its beginning.
func (t *Tally) Reset() { *t = Tally{Goal: t.Goal, Source: t.Source, Begun: true} }

// places is how many digits after the point a value has at most. More are rounded, once, at the end.
const places = 9

// Result returns the value as a measure has it, or says why it has no value.
func (t Tally) Result() (value, problem string) {
	n := new(big.Rat)
	switch a := t.Source.Aggregate; {
	case !t.Begun:
		return "", fmt.Sprintf("the list %s was not read", t.Source.Stream)
	case a == Count:
		n.SetInt64(int64(t.Values))
	case t.Wrong > 0:
		return "", fmt.Sprintf("%d of %d records of %s have no number at %s", t.Wrong, t.Records, t.Source.Stream, t.Source.Pointer)
	case t.Values == 0 && t.Records > 0:
		return "", fmt.Sprintf("no record of %s has a number at %s", t.Source.Stream, t.Source.Pointer)
	case t.Values == 0 && a != Sum:
		return "", fmt.Sprintf("the list %s is empty", t.Source.Stream)
	case t.Values > 0:
		n.SetString(t.Number)
	}
	if t.Source.Aggregate == Avg {
		n.Quo(n, big.NewRat(int64(t.Values), 1))
	}
	if factor, ok := number(t.Source.Factor); ok {
		n.Mul(n, factor)
	}
	value = n.FloatString(places)
	value = strings.TrimSuffix(strings.TrimRight(value, "0"), ".")
	if value == "-0" {
		value = "0"
	}
	if !decimal.Matches(value) {
		return "", "the number has more than 18 digits before the point"
	}
	return value, ""
}
