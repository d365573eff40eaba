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
	in    map[string]int      // the number of items that have a path
	kinds map[string][]string // by path, sorted: object, array, string, number, bool. What a field tells of may be of several kinds
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
		s.in, s.kinds = map[string]int{}, map[string][]string{}
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
	note := func(kind string) {
		seen[path] = true
		if at, known := slices.BinarySearch(s.kinds[path], kind); !known {
			s.kinds[path] = slices.Insert(s.kinds[path], at, kind)
		}
	}
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
		other := slices.DeleteFunc(slices.Clone(present.kinds[path]), func(kind string) bool { return slices.Contains(former.kinds[path], kind) })
		switch {
		case len(other) > 0:
			wrong = append(wrong, entity+path+" is of the kind "+other[0]+", and was "+strings.Join(former.kinds[path], " or "))
		case former.in[path] == former.items && present.in[path] < present.items && !strings.ContainsAny(path, "*["):
			wrong = append(wrong, entity+path+" is not in every item")
		}
	}
	return wrong
}
