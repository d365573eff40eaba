package mapping

import (
	"slices"

	"github.com/itchyny/gojq"
)

// iterate returns the items of a list, or the values of an object in order of their names. Unlike the interpreter's own
// iteration it makes no copy of a list.
func (m *meter) iterate(v any) gojq.Iter {
	switch v := v.(type) {
	case []any:
		return gojq.NewIter(v...)
	case map[string]any:
		if err := m.pay(len(v) * nodeUnits); err != nil {
			return gojq.NewIter(err)
		}
		names := make([]string, 0, len(v))
		for name := range v {
			names = append(names, name)
		}
		slices.Sort(names)
		return &members{v, names}
	}
	return gojq.NewIter(wrongType(".[]", "a list or an object", v))
}

// members iterates over the values of an object.
type members struct {
	object map[string]any
	names  []string
}

// Next implements gojq.Iter.
func (i *members) Next() (any, bool) {
	if len(i.names) == 0 {
		return nil, false
	}
	name := i.names[0]
	i.names = i.names[1:]
	return i.object[name], true
}

// iterateIfPossible iterates like iterate, and gives nothing for a value that is neither a list nor an object.
func iterateIfPossible(v any, args []any) gojq.Iter {
	switch v.(type) {
	case []any, map[string]any:
		return args[0].(*meter).iterate(v)
	}
	return gojq.NewIter[any]()
}

// atIfPossible gives a member of an object or an item of a list, null for null, and nothing for another value.
func atIfPossible(v any, args []any) gojq.Iter {
	switch v := v.(type) {
	case nil:
		return gojq.NewIter[any](nil)
	case map[string]any:
		if name, ok := args[0].(string); ok {
			return gojq.NewIter(v[name])
		}
	case []any:
		if n, ok := gojq.ToInt(args[0]); ok {
			return gojq.NewIter(item(v, n))
		}
	}
	return gojq.NewIter[any]()
}

// item returns the nth item of a list, or null if the list is shorter. A negative n counts from the end.
func item(list []any, n int) any {
	if n < 0 {
		n += len(list)
	}
	if n < 0 || n >= len(list) {
		return nil
	}
	return list[n]
}

// lookUp gives the member or the item that a computed index names, and null where there is no such thing.
func lookUp(c call) (any, error) {
	switch v := c.args[0].(type) {
	case nil:
		return nil, nil //nolint:nilnil // null is a value of the language
	case map[string]any:
		name, ok := c.args[1].(string)
		if !ok {
			return nil, wrongType("the index of an object", "a string", c.args[1])
		}
		return v[name], c.pay(len(name) / readBytes)
	case []any:
		n, ok := gojq.ToInt(c.args[1])
		if !ok {
			return nil, wrongType("the index of a list", "a number", c.args[1])
		}
		return item(v, n), nil
	}
	return nil, wrongType("an index", "an object or a list", c.args[0])
}
