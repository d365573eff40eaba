package web

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"

	"orgops/shared/base/fault"
	"orgops/shared/base/text"
)

// faultOf converts an error that huma reports. Status 500 comes with the error that a handler returned. Any other status is
// a refusal by huma itself, which faultOf converts by its status.
func faultOf(status int, msg string, errs []error) error {
	switch status {
	case http.StatusInternalServerError:
		return handlerError(msg, errs)
	case http.StatusBadRequest, http.StatusRequestTimeout:
		return malformed(msg, errs)
	case http.StatusUnprocessableEntity:
		return validationError(errs)
	}
	for _, k := range problemKinds() {
		if k.status == status {
			return fault.New(k.kind, msg)
		}
	}
	return errors.New(msg)
}

func handlerError(msg string, errs []error) error {
	if len(errs) == 0 {
		return errors.New(msg)
	}
	if msg == "cannot read request body" && fault.KindOf(errs[0]) == fault.Internal {
		return fault.Wrap(fault.Malformed, "the body could not be read to its end", errs[0])
	}
	return errs[0]
}

// malformed makes the refusal of a body that could not be parsed. The text comes from decode, so it is public.
func malformed(msg string, errs []error) error {
	for _, err := range errs {
		var d *huma.ErrorDetail
		if !errors.As(err, &d) || d.Location != "body" {
			continue
		}
		refused := fault.New(fault.Malformed, d.Message)
		if body, ok := d.Value.(string); ok && d.Message == errNotUnicode.Error() {
			refused.Problems = []fault.FieldError{{Pointer: text.NotUnicodeAt([]byte(body)), Detail: text.NotUnicode}}
		}
		return refused
	}
	return fault.New(fault.Malformed, msg)
}

func validationError(errs []error) error {
	problems := make([]fault.FieldError, 0, len(errs))
	for _, err := range errs {
		var d *huma.ErrorDetail
		var f *fault.Error
		switch {
		case errors.As(err, &f):
			problems = append(problems, f.Problems...)
		case errors.As(err, &d):
			problems = append(problems, publicDetail(d))
		default:
			problems = append(problems, fault.FieldError{Detail: "does not meet its schema"})
		}
	}
	return fault.Refuse(problems)
}

// publicDetail converts a huma detail and leaves out the offending value. It points at a missing or unknown property
// itself, not at its parent.
func publicDetail(d *huma.ErrorDetail) fault.FieldError {
	at, msg := pointer(d.Location), publicMessage(d.Message)
	if rest, ok := strings.CutPrefix(msg, "expected required property "); ok {
		name := strings.TrimSuffix(rest, " to be present")
		return fault.FieldError{Pointer: at + fault.Pointer(name), Detail: "is required"}
	}
	if msg == "unexpected property" {
		msg = "is not a known field"
	}
	if msg == "unknown query parameter" {
		msg = "is not a known parameter"
	}
	return fault.FieldError{Pointer: at, Detail: msg}
}

// publicMessage cuts off the parser's error that huma appends, because that error quotes the value: "…uri: parse
// "https://u:p@…". For a time in a parameter huma writes Go's layout; publicMessage returns huma's text for a time in a
// body instead.
func publicMessage(msg string) string {
	if msg == "invalid date/time for format "+time.RFC3339Nano {
		return validation.MsgExpectedRFC3339DateTime
	}
	if strings.HasPrefix(msg, "expected string to match pattern") { // a person reads no regular expression
		return "has a form that is not allowed here; see the field's description"
	}
	for _, prefix := range []string{"expected string to be RFC", "expected string to be regex", "expected duration", "invalid value"} {
		if strings.HasPrefix(msg, prefix) {
			msg, _, _ = strings.Cut(msg, ":")
			return msg
		}
	}
	return msg
}

// pointer turns huma's path ("body.items[3].url", "query.limit") into a JSON Pointer into the body ("/items/3/url"), or
// into a fragment for another part of the request ("#/query/limit").
func pointer(location string) string {
	part, rest, _ := strings.Cut(location, ".")
	name, index, indexed := strings.Cut(part, "[")
	if indexed {
		rest = "[" + index + "." + rest
	}
	fragment := ""
	if name != "body" && name != "" {
		fragment = "#/" + name
	}
	return fragment + fault.Pointer(strings.FieldsFunc(rest, func(r rune) bool { return r == '.' || r == '[' || r == ']' })...)
}
