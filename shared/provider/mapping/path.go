package mapping

import (
	"errors"
	"strings"

	"github.com/itchyny/gojq"

	"orgops/shared/base/fault"
)

var errPath = errors.New("must be a path below the payload, such as .payload.issue or .payload.data.items; filter in when, and read the items in with")

// payloadPath returns the names of a path that begins with .payload.
func payloadPath(source string) ([]string, error) {
	if len(source) > maxExpression {
		return nil, errPath
	}
	q, err := gojq.Parse(source)
	if err != nil {
		return nil, errPath
	}
	path, ok := pathOf(q)
	if !ok || path[0] != "payload" {
		return nil, errPath
	}
	return path[1:], nil
}

// pathOf returns the names of a query that only follows names, such as .payload.data["id"].
func pathOf(q *gojq.Query) (names []string, ok bool) {
	if q.Term == nil || q.Term.Type != gojq.TermTypeIndex || len(q.FuncDefs) > 0 || q.Term.Index.Name == "" {
		return nil, false
	}
	names = []string{q.Term.Index.Name}
	for _, s := range q.Term.SuffixList {
		switch i := s.Index; {
		case i == nil:
			return nil, false
		case i.Name != "":
			names = append(names, i.Name)
		case i.Str != nil && i.Str.Queries == nil:
			names = append(names, i.Str.Str)
		case isName(i.Start) && !i.IsSlice && i.End == nil:
			names = append(names, i.Start.Term.Str.Str)
		default:
			return nil, false
		}
	}
	return names, true
}

// comparisonOf returns the path and the text of a query that only compares these two, such as .payload.type == "issue".
func comparisonOf(q *gojq.Query) (path []string, text string, ok bool) {
	if q.Op != gojq.OpEq || len(q.FuncDefs) > 0 || !isName(q.Right) {
		return nil, "", false
	}
	path, ok = pathOf(q.Left)
	return path, q.Right.Term.Str.Str, ok
}

// isName reports whether a query is only a text.
func isName(q *gojq.Query) bool {
	return q != nil && q.Term != nil && len(q.FuncDefs) == 0 && q.Term.Type == gojq.TermTypeString && q.Term.Str.Queries == nil && len(q.Term.SuffixList) == 0
}

// follow returns the value at a path, or null if a name is missing, as the interpreter does. If a value on the way has no names, it
// returns null and false: the interpreter refuses that.
func follow(v any, path []string) (_ any, ok bool) {
	for _, name := range path {
		if v == nil {
			return nil, true
		}
		object, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		v = object[name]
	}
	return v, true
}

// pointer returns the JSON Pointer of a path in the arrival's body.
func pointer(path []string) string { return fault.Pointer(path...) }

// list names fields in a sentence.
func list(names []string) string { return strings.Join(names, ", ") }
