package integrations

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"orgops/shared/base/fault"
)

// nulls lists each null in a JSON value. The pointers begin with at.
func nulls(raw json.RawMessage, at string) []fault.FieldError {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return nil // the decoder of the body has refused it
	}
	return nullsOf(v, at)
}

func nullsOf(v any, at string) []fault.FieldError {
	var found []fault.FieldError
	switch v := v.(type) {
	case nil:
		return []fault.FieldError{{Pointer: at, Detail: "must not be null; leave the member out"}}
	case []any:
		for n, item := range v {
			found = append(found, nullsOf(item, at+"/"+strconv.Itoa(n))...)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			found = append(found, nullsOf(v[name], at+fault.Pointer(name))...)
		}
	}
	return found
}
