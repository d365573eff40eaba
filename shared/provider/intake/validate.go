package intake

import (
	"cmp"
	"strings"

	"orgops/shared/base/fault"
	"orgops/shared/provider/connector"
)

// Validate returns fault.Invalid for a delivery with too many actions or with invalid drafts. It reports every problem at
// once, each with its place in the delivery. Nothing else in the service checks drafts.
func Validate(actions []connector.Action) error {
	if len(actions) > connector.MaxActions {
		return fault.Newf(fault.Invalid, "a delivery may ask for at most %d actions; this one asks for %d", connector.MaxActions, len(actions))
	}
	var problems []fault.FieldError
	for _, a := range actions {
		problems = append(problems, Problems(a)...)
	}
	return fault.Refuse(problems)
}

// Problems lists what is wrong with one action.
func Problems(a connector.Action) []fault.FieldError {
	switch {
	case a.Unreadable != nil:
		return []fault.FieldError{*a.Unreadable}
	case a.Memory != nil:
		return a.Memory.Check(a.At)
	case a.Goal != nil:
		return a.Goal.Check(a.At)
	case a.Note != nil:
		return a.Note.Check(a.At)
	}
	return nil
}

// Skip tells why an action with problems is left out.
func Skip(a connector.Action) connector.Skipped {
	var reasons []string
	for _, p := range Problems(a) {
		reasons = append(reasons, strings.TrimPrefix(strings.TrimPrefix(p.Pointer, a.At), "/")+" "+p.Detail)
	}
	return connector.Skipped{Item: Name(a), Reason: strings.Join(reasons, "; ")}
}

// Name returns the provider's id of what an action is about, or its title if it lacks an id.
func Name(a connector.Action) string {
	switch {
	case a.Memory != nil:
		return cmp.Or(a.Memory.ExternalID, a.Memory.Title)
	case a.Goal != nil:
		return cmp.Or(a.Goal.ExternalID, a.Goal.Title)
	case a.Note != nil:
		return cmp.Or(a.Note.Subject, a.Note.Title)
	}
	return ""
}
