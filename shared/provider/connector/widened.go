package connector

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// Widened lists the fields by which a configuration request lets more in or out than the stored configuration, or something else.
// A field that keeps its value does not, nor does a shorter list, fewer members of an object or a smaller number of a field that no
// certification is about ("x-certified": false): another number may be a port, which leads to another server. Every other
// change does, unless the field's schema says "x-widens": false. The service cannot compare a secret: a sent one widens.
func Widened(c Connector, before, request json.RawMessage) ([]string, error) {
	schema, err := fields(c)
	if err != nil {
		return nil, err
	}
	old, err := members(before)
	if err != nil {
		old = nil // nothing is known of a damaged configuration, so everything is more
	}
	asked, err := members(request)
	if err != nil {
		return nil, err
	}
	widened := []string{}
	for name := range union(old, asked) {
		f := schema[name]
		if f.Widens != nil && !*f.Widens || f.WriteOnly && asked[name] == nil {
			continue
		}
		if was, is := valueOf(old[name]), valueOf(asked[name]); f.WriteOnly || !atMost(was, is) && (!f.isLimit() || !less(was, is)) {
			widened = append(widened, name)
		}
	}
	slices.Sort(widened)
	return widened, nil
}

// valueOf decodes a value. An absent one is nil.
func valueOf(raw json.RawMessage) (v any) {
	_ = json.Unmarshal(raw, &v) // both were checked
	return v
}

// atMost reports whether a value allows at most what another one allows.
func atMost(old, asked any) bool {
	switch old := old.(type) {
	case []any:
		list, ok := asked.([]any)
		return ok && !slices.ContainsFunc(list, func(item any) bool { return !covered(old, item) })
	case map[string]any:
		object, ok := asked.(map[string]any)
		for name, value := range object {
			if had, given := old[name]; !given || !reflect.DeepEqual(had, value) {
				return false
			}
		}
		return ok || asked == nil
	}
	return reflect.DeepEqual(old, asked)
}

// isLimit reports whether a number of the field only limits what is read.
func (f field) isLimit() bool { return f.Certified != nil && !*f.Certified }

// less reports whether a number became smaller.
func less(old, asked any) bool {
	was, number := old.(float64)
	is, still := asked.(float64)
	return number && still && is < was
}

// covered reports whether a list has an item, or a pattern such as memory.* of which the item is a case.
func covered(list []any, item any) bool {
	text, _ := item.(string)
	return slices.ContainsFunc(list, func(other any) bool {
		pattern, _ := other.(string)
		prefix, open := strings.CutSuffix(pattern, "*")
		return reflect.DeepEqual(other, item) || open && strings.HasPrefix(text, prefix)
	})
}
