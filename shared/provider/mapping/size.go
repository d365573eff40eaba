package mapping

import (
	"encoding/json"
	"math/big"
)

// nodeUnits holds the fuel for one value of a list or an object that a function walks through.
const nodeUnits = 4

// size returns the length of a value's JSON, or a little more. The walk is paid for, value by value: a value can stand in
// several places of a list or an object, and such a tree can be far larger than the memory that it takes.
func (m *meter) size(v any) (int, error) {
	if err := m.pay(nodeUnits); err != nil {
		return 0, err
	}
	switch v := v.(type) {
	case string:
		return m.textSize(v)
	case json.Number:
		return len(v), nil
	case *big.Int:
		return v.BitLen()/3 + 2, nil
	case []any:
		total := 2
		for _, item := range v {
			n, err := m.size(item)
			if err != nil {
				return 0, err
			}
			total += n + 1
		}
		return total, nil
	case map[string]any:
		total := 2
		for name, member := range v {
			n, err := m.textSize(name)
			if err != nil {
				return 0, err
			}
			total += n + 1
			if n, err = m.size(member); err != nil {
				return 0, err
			}
			total += n + 1
		}
		return total, nil
	}
	return 24, nil // the longest number
}

// textSize returns the length of a text as JSON.
func (m *meter) textSize(s string) (int, error) {
	if err := m.pay(len(s) / readBytes); err != nil {
		return 0, err
	}
	n := len(s) + 2
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			n += 5 // at most, such as \u0007
		}
	}
	return n, nil
}
