package intake

import (
	"cmp"
	"strings"
	"unicode/utf8"

	"orgops/shared/base/fault"
	"orgops/shared/provider/connector"
)

// Validate returns fault.Invalid for an arrival with too many actions or with invalid drafts. It reports every problem at
// once, each with its place in the arrival. Nothing else in the service checks drafts.
func Validate(actions []connector.Action) error {
	if len(actions) > connector.MaxActions {
		return fault.Newf(fault.Invalid, "an arrival may ask for at most %d actions; this one asks for %d", connector.MaxActions, len(actions))
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
		return append(a.Memory.Check(a.At), checkIDs(a.At, fieldID{"externalId", a.Memory.ExternalID}, fieldID{"goal", a.Memory.Goal})...)
	case a.Goal != nil:
		return append(a.Goal.Check(a.At), checkIDs(a.At, fieldID{"externalId", a.Goal.ExternalID})...)
	case a.Note != nil:
		return append(a.Note.Check(a.At), checkIDs(a.At, fieldID{"subject", a.Note.Subject}, fieldID{"once", a.Note.Once})...)
	}
	return nil
}

// fieldID is an id in a field of an action.
type fieldID struct{ field, id string }

// checkIDs refuses ids that are not valid Unicode. The decoders of JSON and XML write U+FFFD for what is not valid, so two ids of the
// provider would be the same.
func checkIDs(at string, ids ...fieldID) []fault.FieldError {
	var problems []fault.FieldError
	for _, f := range ids {
		if strings.ContainsRune(f.id, utf8.RuneError) { // or an invalid byte
			problems = append(problems, fault.FieldError{Pointer: at + "/" + f.field, Detail: "is not valid Unicode"})
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
	case a.Reading != nil:
		return a.Reading.Title
	case a.Note != nil:
		return cmp.Or(a.Note.Subject, a.Note.Title)
	}
	return ""
}
