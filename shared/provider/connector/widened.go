package connector

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// Widened lists the fields by which a configuration request lets more in or out than the stored configuration, or something else.
// A field that keeps its value does not, nor does a shorter list, fewer members of an object or a smaller number. Every other
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
		if f.WriteOnly || !atMost(valueOf(old[name]), valueOf(asked[name])) {
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
	case float64:
		number, ok := asked.(float64)
		return ok && number <= old
	}
	return reflect.DeepEqual(old, asked)
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
