package intake

import (
	"cmp"
	"strings"
	"unicode/utf8"

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
		return append(a.Memory.Check(a.At), checkIDs(a.At, "externalId", a.Memory.ExternalID, "goal", a.Memory.Goal)...)
	case a.Goal != nil:
		return append(a.Goal.Check(a.At), checkIDs(a.At, "externalId", a.Goal.ExternalID)...)
	case a.Note != nil:
		return append(a.Note.Check(a.At), checkIDs(a.At, "subject", a.Note.Subject, "once", a.Note.Once)...)
	}
	return nil
}

// checkIDs refuses ids that are not valid Unicode. They come in pairs of field and id. The decoders of JSON and XML write U+FFFD for
// what is not valid, so two ids of the provider would be the same.
func checkIDs(at string, pairs ...string) []fault.FieldError {
	var problems []fault.FieldError
	for n := 0; n < len(pairs); n += 2 {
		if strings.ContainsRune(pairs[n+1], utf8.RuneError) { // or an invalid byte
			problems = append(problems, fault.FieldError{Pointer: at + "/" + pairs[n], Detail: "is not valid Unicode"})
		}
	}
	return problems
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
