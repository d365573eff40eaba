package upgrade

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// shape tells for the items of one entity which paths their bodies have, and of which kind each value is.
type shape struct {
	items int
	in    map[string]int    // the number of items that have a path
	kinds map[string]string // by path: object, array, string, number, bool
}

// named matches a key of an object that names an item, such as an id or a moment, instead of a field.
var named = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}|^\d|[:#/]`)

// add adds the body of an item.
func (s *shape) add(body []byte) error {
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		return err
	}
	if s.in == nil {
		s.in, s.kinds = map[string]int{}, map[string]string{}
	}
	s.items++
	seen := map[string]bool{}
	s.walk("", value, seen)
	for path := range seen {
		s.in[path]++
	}
	return nil
}

func (s *shape) walk(path string, value any, seen map[string]bool) {
	note := func(kind string) { seen[path], s.kinds[path] = true, kind }
	switch v := value.(type) {
	case map[string]any:
		note("object")
		for key, inner := range v {
			if named.MatchString(key) {
				key = "*"
			}
			s.walk(path+"."+key, inner, seen)
		}
	case []any:
		note("array")
		for _, inner := range v {
			s.walk(path+"[]", inner, seen)
		}
	case string:
		note("string")
	case float64:
		note("number")
	case bool:
		note("bool")
	}
}

// missing returns what a reader of the former shape does not find in the present one: paths that every former item has, and
// values of another kind. What is inside of a list or a named item counts only if there is one.
func missing(entity string, former, present shape) []string {
	var wrong []string
	for _, path := range slices.Sorted(maps.Keys(former.kinds)) {
		kind, there := present.kinds[path]
		switch {
		case there && kind != former.kinds[path]:
			wrong = append(wrong, entity+path+" is of the kind "+kind+", and was "+former.kinds[path])
		case former.in[path] == former.items && present.in[path] < present.items && !strings.ContainsAny(path, "*["):
			wrong = append(wrong, entity+path+" is not in every item")
		}
	}
	return wrong
}
