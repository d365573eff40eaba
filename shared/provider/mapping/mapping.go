// Package mapping turns a provider's arrival into actions, by rules in a closed subset of jq.
//
// A mapping is data: a company can store its own, and each provider's default is written in the same language. The rules are
// checked when they are stored. An evaluation is bounded by fuel, so that no rule takes more than 100 ms or 64 MiB.
package mapping

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"orgops/shared/base/fault"
	"orgops/shared/domain/integration"
)

// Limits of a mapping.
const (
	MaxRules = 50
	MaxSize  = 64 << 10 // bytes of its JSON
)

// Document holds a mapping as it is written and stored.
type Document struct {
	Only      string   `json:"only,omitempty" doc:"expression; an arrival for which it gives null or false is accepted and ignored" example:".payload.action != \"deleted\""`
	Rules     []Rule   `json:"rules" doc:"the rules, in order; the first that matches decides" minItems:"1" maxItems:"50" nullable:"false"`
	Otherwise *Refusal `json:"otherwise,omitempty" doc:"refuses an arrival that no rule matches; without it, such an arrival is accepted and ignored"`
}

// Refusal says what is wrong with an arrival that no rule matches.
type Refusal struct {
	Pointer string `json:"pointer" maxLength:"200" doc:"JSON Pointer of what is wrong in the arrival's body" example:"/type"`
	Detail  string `json:"detail" minLength:"1" maxLength:"200" doc:"what is wrong and what would be right" example:"must be ticket"`
}

// Rule says which arrivals it matches and which action they ask for. Every text but Action is an expression.
type Rule struct {
	When     string            `json:"when" doc:"matches an arrival if its value is neither null nor false" example:".payload.type == \"ticket\""`
	Each     string            `json:"each,omitempty" doc:"path of what the action is about, such as .payload.data: .item in the expressions of with; a list gives one action for each item. Without it, .item is the payload" example:".payload.ticket"`
	Action   integration.Port  `json:"action" enum:"memory.upsert,goal.update,timeline.note" doc:"what the arrival asks for"`
	With     map[string]string `json:"with" doc:"the action's fields, each with the expression of its value; null leaves a field out" example:"{\"externalId\":\".item.id\",\"title\":\".item.subject\"}"`
	Continue bool              `json:"continue,omitempty" doc:"goes on with the rules below even if this rule matches"`
}

// Mapping holds checked rules. It is safe for concurrent use.
type Mapping struct {
	only      *expression // nil: every arrival
	rules     []rule
	otherwise *Refusal
	compile   func() error // compiles every expression, once
}

type rule struct {
	when   *expression
	each   []string // the names and places of the path below the payload
	action action
	with   []field
	goesOn bool
}

// field holds the expression of one of an action's fields.
type field struct {
	name  string
	value *expression
}

// Parse reads and checks a mapping. It returns fault.Malformed for a document that is not JSON, and fault.Invalid with every
// problem at once, each with its place in the document.
func Parse(raw json.RawMessage) (*Mapping, error) {
	if len(raw) > MaxSize {
		return nil, fault.Newf(fault.TooLarge, "a mapping has at most %d bytes", MaxSize)
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	var d Document
	if err := decoder.Decode(&d); err != nil {
		return nil, fault.Wrap(fault.Malformed, "a mapping is one JSON object with rules", err)
	}
	return New(d)
}

// New checks a mapping. It returns fault.Invalid with every problem at once, each with its place in the document.
func New(d Document) (*Mapping, error) {
	m := &Mapping{otherwise: d.Otherwise}
	c := check{}
	if d.Only != "" {
		m.only = c.expression(d.Only, "only")
	}
	if n := len(d.Rules); n == 0 || n > MaxRules {
		c.add(fmt.Sprintf("needs 1 to %d rules", MaxRules), "rules")
	}
	for n, r := range d.Rules {
		if n < MaxRules {
			m.rules = append(m.rules, c.rule(strconv.Itoa(n), r))
		}
	}
	if len(c.problems) > 0 {
		return nil, fault.Refuse(c.problems)
	}
	m.compile = sync.OnceValue(m.expressions)
	return m, nil
}

// expressions compiles every expression of the mapping.
func (m *Mapping) expressions() error {
	if m.only != nil {
		if _, err := m.only.compile(); err != nil {
			return err
		}
	}
	for _, r := range m.rules {
		if _, err := r.when.compile(); err != nil {
			return err
		}
		for _, f := range r.with {
			if _, err := f.value.compile(); err != nil {
				return err
			}
		}
	}
	return nil
}

// check gathers the problems of a mapping.
type check struct{ problems []fault.FieldError }

func (c *check) add(detail string, place ...string) {
	c.problems = append(c.problems, fault.FieldError{Pointer: fault.Pointer(place...), Detail: detail})
}

func (c *check) rule(n string, r Rule) rule {
	out := rule{goesOn: r.Continue, when: c.expression(r.When, "rules", n, "when")}
	if r.Each != "" {
		var err error
		if out.each, err = payloadPath(r.Each); err != nil {
			c.add(err.Error(), "rules", n, "each")
		}
	}
	known, ok := actions()[r.Action]
	if !ok {
		c.add("must be memory.upsert, goal.update or timeline.note", "rules", n, "action")
		return out
	}
	out.action = known
	for _, name := range known.required {
		if _, given := r.With[name]; !given {
			c.add(fmt.Sprintf("is missing; %s needs it", r.Action), "rules", n, "with", name)
		}
	}
	for _, name := range sorted(r.With) {
		if !slices.Contains(known.fields, name) {
			c.add(fmt.Sprintf("is not a field of %s; the fields are %s", r.Action, list(known.fields)), "rules", n, "with", name)
			continue
		}
		out.with = append(out.with, field{name, c.expression(r.With[name], "rules", n, "with", name)})
	}
	return out
}

func (c *check) expression(source string, place ...string) *expression {
	e, err := newExpression(source)
	if err != nil {
		c.add(err.Error(), place...)
	}
	return e
}

func sorted(with map[string]string) []string {
	names := make([]string, 0, len(with))
	for name := range with {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
