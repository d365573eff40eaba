package web

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/base/fault"
)

// checkQuery refuses a query that cannot be parsed. It also refuses an empty parameter, unless the parameter takes any
// text. huma treats both as absent, so a script that sends ?since=% or ?since= would get the whole list.
func checkQuery(op *huma.Operation, r *http.Request) error {
	if r.URL.RawQuery == "" {
		return nil
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return fault.New(fault.Malformed, "the query holds a semicolon, or a % that is not followed by two hexadecimal digits")
	}
	var problems []fault.FieldError
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if !utf8.ValidString(name) || slices.ContainsFunc(query[name], func(value string) bool { return !utf8.ValidString(value) }) {
			problems = append(problems, fault.FieldError{Pointer: "#/query" + fault.Pointer(strings.ToValidUTF8(name, "\uFFFD")), Detail: "is not UTF-8"})
		}
	}
	for _, p := range op.Parameters {
		if p.In != "query" || p.Schema.Type == huma.TypeString && p.Schema.Format == "" && p.Schema.Pattern == "" && len(p.Schema.Enum) == 0 {
			continue
		}
		if values, there := query[p.Name]; there && values[0] == "" {
			problems = append(problems, fault.FieldError{Pointer: "#/query/" + p.Name, Detail: "has no value; give one or leave the parameter out"})
		}
	}
	return fault.Refuse(problems)
}
