package mapping

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/itchyny/gojq"
)

// call holds the input and the arguments of a function. The last argument of every call is the meter.
type call struct {
	*meter
	in   any
	args []any
}

// function binds a function of this package to the interpreter, with arity arguments or fewer. The interpreter's own
// functions have no meter.
func function(name string, arity int, f func(c call) (any, error)) gojq.CompilerOption {
	return gojq.WithFunction(prefix+name, 1, arity+1, func(in any, args []any) any {
		last := len(args) - 1
		out, err := f(call{args[last].(*meter), in, args[:last]})
		if err != nil {
			return err
		}
		return out
	})
}

// functions lists the functions that replace the interpreter's own, by the name that the rewritten syntax tree calls.
func functions(patterns map[string]pattern) []gojq.CompilerOption {
	return []gojq.CompilerOption{
		gojq.WithVariables([]string{meterVariable}),
		gojq.WithIterFunction(prefix+iterate, 1, 1, func(in any, args []any) gojq.Iter { return args[0].(*meter).iterate(in) }),
		gojq.WithIterFunction(prefix+iterateOptional, 1, 1, iterateIfPossible),
		gojq.WithIterFunction(prefix+atOptional, 2, 2, atIfPossible),
		function("compare", 3, compare),
		function("length", 0, length),
		function("join", 1, join),
		function("split", 1, split),
		function("startswith", 1, startsWith),
		function("endswith", 1, endsWith),
		function("test", 1, func(c call) (any, error) { return test(c, patterns) }),
		function("ascii_downcase", 0, downcase),
		function("tostring", 0, func(c call) (any, error) { return c.text(c.in) }),
		function("tonumber", 0, toNumber),
		function("slice", 2, slice),
		function("fromdate", 0, fromDate),
		function("strptime", 1, parseTime),
		function("strftime", 1, formatTime),
		function("mktime", 0, epoch),
		function(lookedUp, 2, lookUp),
		function(concatenate, maxConcat, concat),
		function(computedNames, 1, names),
	}
}

// wrongType says that a function got a value that it does not take.
func wrongType(function, want string, got any) error {
	return fmt.Errorf("%s needs %s, but the value is %s", function, want, typeName(got))
}

// typeName names the type of a value with its article.
func typeName(v any) string {
	switch name := gojq.TypeOf(v); name {
	case "null":
		return name
	case "array":
		return "a list"
	case "object":
		return "an object"
	default:
		return "a " + name
	}
}

// texts returns the input and the first argument of a function that needs two strings, and pays for reading them.
func (c call) texts(name string) (in, argument string, err error) {
	in, ok := c.in.(string)
	if !ok {
		return "", "", wrongType(name, "a string", c.in)
	}
	if argument, ok = c.args[0].(string); !ok {
		return "", "", wrongType("the argument of "+name, "a string", c.args[0])
	}
	return in, argument, c.pay((len(in) + len(argument)) / readBytes)
}

// compare answers a comparison. Values of different types compare as in jq.
func compare(c call) (any, error) {
	l, r := c.args[0], c.args[1]
	if err := errors.Join(c.payCompared(l), c.payCompared(r)); err != nil {
		return nil, err
	}
	order := gojq.Compare(l, r)
	switch c.args[2] {
	case "==":
		return order == 0, nil
	case "!=":
		return order != 0, nil
	case "<":
		return order < 0, nil
	case "<=":
		return order <= 0, nil
	case ">":
		return order > 0, nil
	}
	return order >= 0, nil
}

func (m *meter) payCompared(v any) error {
	n, err := m.size(v)
	if err != nil {
		return err
	}
	return m.pay(n / readBytes)
}

// length returns the number of characters, items or members; of a number, the number without its sign.
func length(c call) (any, error) {
	switch v := c.in.(type) {
	case nil:
		return 0, nil
	case string:
		return utf8.RuneCountInString(v), c.pay(len(v) / readBytes)
	case []any:
		return len(v), nil
	case map[string]any:
		return len(v), nil
	case json.Number:
		return json.Number(strings.TrimPrefix(v.String(), "-")), nil
	case int:
		return max(v, -v), nil
	case float64:
		return math.Abs(v), nil
	}
	return nil, wrongType("length", "a string, a list, an object or a number", c.in)
}

// join concatenates the items of a list.
func join(c call) (any, error) {
	items, ok := c.in.([]any)
	if !ok {
		return nil, wrongType("join", "a list", c.in)
	}
	separator, ok := c.args[0].(string)
	if !ok {
		return nil, wrongType("the argument of join", "a string", c.args[0])
	}
	if err := c.pay(len(items) * (nodeUnits + len(separator)/madeBytes)); err != nil {
		return nil, err
	}
	parts := make([]string, len(items))
	for n, item := range items {
		switch item.(type) {
		case []any, map[string]any:
			return nil, wrongType("join", "items that are strings or numbers", item)
		case nil:
			continue
		}
		var err error
		if parts[n], err = c.text(item); err != nil {
			return nil, err
		}
		if err := c.pay(len(parts[n]) / madeBytes); err != nil {
			return nil, err
		}
	}
	return strings.Join(parts, separator), nil
}

// split returns the parts of a string between separators. It takes no pattern.
func split(c call) (any, error) {
	in, separator, err := c.texts("split")
	if err != nil {
		return nil, err
	}
	if in == "" {
		return []any{}, nil
	}
	count := strings.Count(in, separator) + 1
	if err := c.pay(count * nodeUnits); err != nil {
		return nil, err
	}
	parts := make([]any, 0, count)
	for part := range strings.SplitSeq(in, separator) {
		parts = append(parts, part)
	}
	return parts, nil
}

func startsWith(c call) (any, error) {
	in, prefix, err := c.texts("startswith")
	return strings.HasPrefix(in, prefix), err
}

func endsWith(c call) (any, error) {
	in, suffix, err := c.texts("endswith")
	return strings.HasSuffix(in, suffix), err
}

func downcase(c call) (any, error) {
	in, ok := c.in.(string)
	if !ok {
		return nil, wrongType("ascii_downcase", "a string", c.in)
	}
	if err := c.pay(len(in) / madeBytes); err != nil {
		return nil, err
	}
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, in), nil
}

// text returns a string unchanged, and any other value as JSON.
func (m *meter) text(v any) (string, error) {
	if s, ok := v.(string); ok {
		return s, nil
	}
	raw, err := m.json(v, 4) // the buffer grows, and an expression can ask for the same text often
	return string(raw), err
}

// json returns a value as JSON. It pays for so many copies of it.
func (m *meter) json(v any, copies int) ([]byte, error) {
	n, err := m.size(v)
	if err != nil {
		return nil, err
	}
	if err := m.pay(copies * n / madeBytes); err != nil {
		return nil, err
	}
	return gojq.Marshal(v)
}

// toNumber reads a JSON number from a string.
func toNumber(c call) (any, error) {
	switch v := c.in.(type) {
	case json.Number, int, float64, *big.Int:
		return v, nil
	case string:
		if len(v) > maxDigits || !isNumber(v) {
			return nil, errors.New("tonumber needs a string that holds one number, such as 12.5")
		}
		return json.Number(v), nil
	}
	return nil, wrongType("tonumber", "a string or a number", c.in)
}

func isNumber(s string) bool {
	return s != "" && (s[0] == '-' || '0' <= s[0] && s[0] <= '9') && json.Valid([]byte(s))
}

// names returns an object, and pays for the hashes of its computed names. Their number is the argument: equal names leave one
// member, but each was hashed. So every name costs as much as the longest.
func names(c call) (any, error) {
	object, ok := c.in.(map[string]any)
	if !ok {
		return nil, wrongType("an object with computed names", "an object", c.in)
	}
	computed, err := strconv.Atoi(c.args[0].(string))
	if err != nil {
		return nil, err
	}
	if err := c.pay(len(object)); err != nil {
		return nil, err
	}
	longest := 0
	for name := range object {
		longest = max(longest, len(name))
	}
	return object, c.pay(computed * longest / readBytes)
}

// slice returns a part of a list, or of a string by characters. A bound that is null stands for the end.
func slice(c call) (any, error) {
	switch v := c.in.(type) {
	case nil:
		return nil, nil //nolint:nilnil // null is a value of the language
	case []any:
		from, to := bounds(c.args, len(v))
		return v[from:to:to], nil
	case string:
		if err := c.pay(len(v) / readBytes); err != nil {
			return nil, err
		}
		from, to := bounds(c.args, utf8.RuneCountInString(v))
		return v[offset(v, from):offset(v, to)], nil
	}
	return nil, wrongType("a slice", "a list or a string", c.in)
}

// bounds returns the bounds of a slice within 0 and n, in order. A negative bound counts from the end.
func bounds(args []any, n int) (from, to int) {
	at := func(v any, otherwise int) int {
		i, ok := gojq.ToInt(v)
		if !ok {
			return otherwise
		}
		if i < 0 {
			i += n
		}
		return min(max(i, 0), n)
	}
	from, to = at(args[0], 0), at(args[1], n)
	return from, max(from, to)
}

// offset returns the byte at which the nth character of s begins.
func offset(s string, n int) int {
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}

// concat makes one string of the parts of a text with interpolations.
func concat(c call) (any, error) {
	parts, total := make([]string, len(c.args)), 0
	for n, part := range c.args {
		var err error
		if parts[n], err = c.text(part); err != nil {
			return nil, err
		}
		total += len(parts[n])
	}
	if err := c.pay(total / madeBytes); err != nil {
		return nil, err
	}
	return strings.Join(parts, ""), nil
}
