package mapping

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/itchyny/gojq"

	"orgops/shared/base/fault"
	"orgops/shared/provider/connector"
)

// Arrival holds what expressions read.
type Arrival struct {
	Header  http.Header     // as received; expressions read what Headers makes of it
	Payload any             // see Payload
	Config  json.RawMessage // the integration's configuration, which holds no secret

	connector.Location // an arrival outside of it is ignored, and no rule is asked
}

// Match holds the actions that one rule gives.
type Match struct {
	Rule    int // its place in the mapping, from 0
	Actions []connector.Action
}

// Actions returns the actions of all matches, in order.
func Actions(matches []Match) []connector.Action {
	var all []connector.Action
	for _, m := range matches {
		all = append(all, m.Actions...)
	}
	return all
}

// Apply evaluates the rules for an arrival. Each action has its place in the payload; a field of the wrong type makes it
// Unreadable. If no rule matches, Apply returns no matches, or fault.Invalid if the mapping has a text for that case. An
// expression that fails returns fault.Invalid, and names its rule and field; a rule that cannot be evaluated is never
// skipped. Apply returns fault.Unavailable after 100 ms.
func (m *Mapping) Apply(ctx context.Context, d Arrival) ([]Match, error) {
	matches, _, err := m.Explain(ctx, d)
	return matches, err
}

// The reasons why a mapping ignores an arrival.
const (
	ignoredOnly  = "the mapping leaves it out by its expression only"
	IgnoredRules = "no rule of the mapping matches"
)

// Explain does what Apply does, and says why the mapping ignores an arrival, or "".
func (m *Mapping) Explain(ctx context.Context, d Arrival) (matches []Match, ignored string, err error) {
	if d.Outside != "" {
		return nil, d.Outside, nil
	}
	if err := m.compile(); err != nil { // before the clock starts: a slow machine compiles once, not at every arrival
		return nil, "", err
	}
	e := evaluation{meter: newMeter(ctx, time.Now().Add(maxTime)), arrival: d}
	matches, wanted, err := e.all(m)
	if e.err != nil {
		if ended := e.conclude(ctx); !errors.Is(ended, errFuel) {
			return nil, "", ended
		}
	}
	switch {
	case err != nil || len(matches) > 0:
		return matches, "", err
	case !wanted:
		return nil, ignoredOnly, nil
	case m.otherwise != nil:
		return nil, "", fault.RefuseAt(m.otherwise.Pointer, m.otherwise.Detail)
	}
	return nil, IgnoredRules, nil
}

// Ignores reports whether the headers alone tell that no rule matches, with any payload.
func (m *Mapping) Ignores(header http.Header) bool {
	in := &input{evaluation: &evaluation{arrival: Arrival{Header: header}}}
	for _, r := range m.rules {
		if r.when.refuted == nil || !r.when.refuted(in) {
			return false
		}
	}
	return m.otherwise == nil
}

// refutation returns what reports whether the headers alone make a query false: it compares a header with a text, alone or on the left
// of and, which then asks no more. It returns nil for any other query.
func refutation(q *gojq.Query) func(*input) bool {
	switch {
	case len(q.FuncDefs) > 0:
		return nil
	case q.Op == gojq.OpAnd:
		return refutation(q.Left)
	case q.Op == gojq.OpOr:
		left, right := refutation(q.Left), refutation(q.Right)
		if left == nil || right == nil {
			return nil
		}
		return func(in *input) bool { return left(in) && right(in) }
	case q.Term != nil && q.Term.Type == gojq.TermTypeQuery && len(q.Term.SuffixList) == 0:
		return refutation(q.Term.Query)
	}
	path, text, ok := comparisonOf(q)
	if !ok || path[0] != "headers" {
		return nil
	}
	return func(in *input) bool {
		v, found, err := in.follow(path)
		return err == nil && found && v != text
	}
}

// evaluation holds the state of one call of Apply.
type evaluation struct {
	*meter
	arrival Arrival
	headers map[string]any // made once an expression reads them
	config  any            // decoded once an expression reads it
	actions int
}

// all evaluates a mapping. It reports whether the mapping wants the arrival at all.
func (e *evaluation) all(m *Mapping) (matches []Match, wanted bool, err error) {
	if m.only != nil {
		v, err := m.only.value(&input{evaluation: e, item: e.arrival.Payload})
		if err != nil {
			return nil, false, fault.RefuseAt("", "the mapping, only: "+err.Error())
		}
		if v == nil || v == false {
			return nil, false, nil
		}
	}
	matches, err = e.rules(m.rules)
	return matches, true, err
}

func (e *evaluation) rules(all []rule) ([]Match, error) {
	var matches []Match
	for n, r := range all {
		matched, err := e.matches(n, r)
		if err != nil {
			return nil, err
		}
		if !matched {
			continue
		}
		match := Match{Rule: n}
		if match.Actions, err = e.perform(n, r); err != nil {
			return nil, err
		}
		matches = append(matches, match)
		if !r.goesOn {
			break
		}
	}
	return matches, nil
}

func (e *evaluation) matches(n int, r rule) (bool, error) {
	v, err := r.when.value(&input{evaluation: e, item: e.arrival.Payload})
	if err != nil {
		return false, failed(n, "when", "", err)
	}
	return v != nil && v != false, nil
}

// perform makes the actions of a rule that matches.
func (e *evaluation) perform(n int, r rule) ([]connector.Action, error) {
	at := pointer(r.each)
	subject, _ := follow(e.arrival.Payload, r.each)
	if subject == nil && r.each != nil {
		return nil, fault.RefuseAt(at, "is missing; rule "+strconv.Itoa(n+1)+" of the mapping needs it")
	}
	items, isList := subject.([]any)
	if isList = isList && r.each != nil; !isList {
		items = []any{subject}
	}
	e.actions += len(items)
	if len(items) == 0 || e.actions > connector.MaxActions {
		return nil, fault.RefuseAt(at, fmt.Sprintf("must give 1 to %d actions", connector.MaxActions))
	}
	made := make([]connector.Action, len(items))
	for i, item := range items {
		place := at
		if isList {
			place += "/" + strconv.Itoa(i)
		}
		var err error
		if made[i], err = e.action(n, r, place, item); err != nil {
			return nil, err
		}
	}
	return made, nil
}

func (e *evaluation) action(n int, r rule, at string, item any) (connector.Action, error) {
	v := values{meter: e.meter, at: at, given: make(map[string]any, len(r.with))}
	in := &input{evaluation: e, item: item}
	for _, f := range r.with {
		value, err := f.value.value(in)
		if err != nil {
			return connector.Action{}, failed(n, f.name, at, err)
		}
		v.given[f.name] = value
	}
	a := r.action.draft(&v)
	a.Port, a.At, a.Unreadable = r.action.port, at, v.problem
	return a, nil
}

// failed describes an expression that could not be evaluated.
func failed(n int, field, at string, err error) error {
	return fault.RefuseAt(at, fmt.Sprintf("rule %d of the mapping, %s: %v", n+1, field, err))
}
