package web

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"

	"orgops/shared/fault"
)

// faultOf reads what huma reports: its own refusals by their status, and with 500 the error a handler returned.
func faultOf(status int, msg string, errs []error) error {
	switch status {
	case http.StatusInternalServerError:
		return ofHandler(msg, errs)
	case http.StatusBadRequest, http.StatusRequestTimeout:
		return fault.New(fault.Malformed, firstOf(msg, errs))
	case http.StatusUnprocessableEntity:
		return ofValidation(errs)
	}
	for kind := fault.Malformed; kind <= fault.Unavailable; kind++ {
		if s, _ := statusOf(kind); s == status {
			return fault.New(kind, msg)
		}
	}
	return errors.New(msg)
}

func ofHandler(msg string, errs []error) error {
	if len(errs) == 0 {
		return errors.New(msg)
	}
	if msg == "cannot read request body" && fault.KindOf(errs[0]) == fault.Internal {
		return fault.Wrap(fault.Malformed, "the body could not be read to its end", errs[0])
	}
	return errs[0]
}

// firstOf is the detail of a body that could not be parsed; decode made the text, so it is public.
func firstOf(msg string, errs []error) string {
	for _, err := range errs {
		var d *huma.ErrorDetail
		if errors.As(err, &d) && d.Location == "body" {
			return d.Message
		}
	}
	return msg
}

func ofValidation(errs []error) error {
	problems := make([]fault.Problem, 0, len(errs))
	for _, err := range errs {
		var d *huma.ErrorDetail
		var f *fault.Error
		switch {
		case errors.As(err, &f):
			problems = append(problems, f.Problems...)
		case errors.As(err, &d):
			problems = append(problems, publicDetail(d))
		default:
			problems = append(problems, fault.Problem{Detail: "does not meet its schema"})
		}
	}
	return fault.Refuse(problems)
}

// publicDetail is a huma detail without the offending value. A missing or unknown property is pointed at itself, not
// at its parent.
func publicDetail(d *huma.ErrorDetail) fault.Problem {
	at, msg := pointer(d.Location), publicMessage(d.Message)
	if rest, ok := strings.CutPrefix(msg, "expected required property "); ok {
		name := strings.TrimSuffix(rest, " to be present")
		return fault.Problem{Pointer: at + "/" + escape(name), Detail: "is required"}
	}
	if msg == "unexpected property" {
		msg = "is not a known field"
	}
	if msg == "unknown query parameter" {
		msg = "is not a known parameter"
	}
	return fault.Problem{Pointer: at, Detail: msg}
}

// publicMessage cuts what huma appends from the parser's error, which quotes the value: "…uri: parse "https://u:p@…". A time
// in a parameter is described as one in a body is; huma writes Go's layout.
func publicMessage(msg string) string {
	if msg == "invalid date/time for format "+time.RFC3339Nano {
		return validation.MsgExpectedRFC3339DateTime
	}
	for _, prefix := range []string{"expected string to be RFC", "expected string to be regex", "expected duration", "invalid value"} {
		if strings.HasPrefix(msg, prefix) {
			msg, _, _ = strings.Cut(msg, ":")
			return msg
		}
	}
	return msg
}

// pointer turns huma's path ("body.items[3].url", "query.limit") into a JSON Pointer into the body ("/items/3/url"),
// or into the fragment that names another part of the request ("#/query/limit").
func pointer(location string) string {
	part, rest, _ := strings.Cut(location, ".")
	name, index, indexed := strings.Cut(part, "[")
	if indexed {
		rest = "[" + index + "." + rest
	}
	var b strings.Builder
	if name != "body" && name != "" {
		b.WriteString("#/" + name)
	}
	for _, segment := range strings.FieldsFunc(rest, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		b.WriteString("/" + escape(segment))
	}
	return b.String()
}

// escape is the escaping of RFC 6901 §3.
func escape(segment string) string {
	return strings.ReplaceAll(strings.ReplaceAll(segment, "~", "~0"), "/", "~1")
}
