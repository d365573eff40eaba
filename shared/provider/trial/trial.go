// Package trial maps an arrival and has its actions decided, without carrying them out. It shows the result to a founder who
// writes a mapping, and to one who looks at what the sandbox has received.
package trial

import (
	"context"
	"errors"

	"orgops/shared/base/fault"
	"orgops/shared/domain/inbox"
	"orgops/shared/domain/integration"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/intake"
	"orgops/shared/provider/mapping"
)

// Mapped holds the actions of an arrival, and the rule that gave each.
type Mapped struct {
	Actions []connector.Action
	Ignored string // why there are no actions
	Place   integration.Place
	rules   []int
}

// Map applies a mapping to an arrival. intake validates the drafts.
func Map(ctx context.Context, m *mapping.Mapping, d mapping.Arrival) (Mapped, error) {
	matches, ignored, err := m.Explain(ctx, d)
	if err != nil {
		return Mapped{}, err
	}
	mapped := Mapped{Actions: mapping.Actions(matches), Ignored: ignored, Place: d.Place}
	for _, match := range matches {
		for range match.Actions {
			mapped.rules = append(mapped.rules, match.Rule)
		}
	}
	return mapped, intake.Validate(mapped.Actions)
}

// Result shows the actions of an arrival with their verdicts.
func (m Mapped) Result(planned []intake.Planned) inbox.MappingResult {
	out := inbox.MappingResult{Actions: make([]inbox.MappingAction, len(planned))}
	for n, p := range planned {
		d := p.Decision
		out.Actions[n] = inbox.MappingAction{
			Rule: m.rules[n], Action: d.Action, At: p.Action.At, Verdict: d.Verdict, Policies: append([]string{}, d.Policies...),
			Reasons: append([]string{}, d.Reasons...), Outcome: string(p.Outcome), Subject: d.Resource.ID,
		}
	}
	return out
}

// Refused shows why an arrival is refused. ok is false for an error that does not follow from the arrival.
func Refused(err error) (r inbox.MappingResult, ok bool) {
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind != fault.Malformed && f.Kind != fault.Invalid {
		return inbox.MappingResult{}, false
	}
	problem := inbox.MappingProblem{Detail: f.Detail, Errors: append([]fault.FieldError{}, f.Problems...)}
	return inbox.MappingResult{Actions: []inbox.MappingAction{}, Problem: &problem}, true
}
