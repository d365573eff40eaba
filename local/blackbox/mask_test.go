package blackbox_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// mask replaces what differs from run to run by names. The same id gets the same name, so that a record shows which
// answers speak of the same thing.
type mask struct {
	base, asked string // the API's address, and the path below it that is answered
	known       []known
	ids         map[string]string
}

type known struct{ text, name string }

func newMask(base string) *mask { return &mask{base: base, ids: map[string]string{}} }

// call gives a text a name. A text that holds another is replaced first.
func (m *mask) call(text, name string) {
	m.known = append(m.known, known{text, "<" + name + ">"})
	slices.SortStableFunc(m.known, func(a, b known) int { return len(b.text) - len(a.text) })
}

var uuids = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// varying is what means the same in every run, however it is written this time.
var varying = []struct {
	pattern *regexp.Regexp
	name    string
}{
	{regexp.MustCompile(`\beyJ[\w-]+\.[\w-]+\.[\w-]*`), "<token>"},
	{regexp.MustCompile(`whsec_[A-Za-z0-9+/]+=*`), "<secret>"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d(:|%3A)\d\d(:|%3A)\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`), "<time>"},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\d\b`), "<date>"},
	{regexp.MustCompile(`\b\d+ [A-Z][a-z]+ (\d{4} )?\d\d:\d\d( UTC)?`), "<time>"},
	{regexp.MustCompile(`\d+ ms\b`), "<n> ms"},
	{regexp.MustCompile(`\b(\d+ minutes?|a minute) (ago|old|late)`), "<n> minutes $2"},
	{regexp.MustCompile(`cursor=[\w-]+`), "cursor=<cursor>"},
	{regexp.MustCompile(`v1,[A-Za-z0-9+/]{43}=`), "v1,<signature>"},
	{regexp.MustCompile(`sha256=[0-9a-f]{64}`), "sha256=<signature>"},
	{regexp.MustCompile(`\bt=\d+$`), "t=<n>"},
}

// text masks a text.
func (m *mask) text(s string) string {
	for _, k := range m.known {
		s = strings.ReplaceAll(s, k.text, k.name)
	}
	for _, v := range varying {
		s = v.pattern.ReplaceAllString(s, v.name)
	}
	return uuids.ReplaceAllStringFunc(s, m.id)
}

// id is the name of an id: the next number for one that is new.
func (m *mask) id(id string) string {
	if m.ids[id] == "" {
		m.ids[id] = fmt.Sprintf("<id %d>", len(m.ids)+1)
	}
	return m.ids[id]
}

// body masks a JSON text; what is none is masked as text, and a very long one is told by its length.
func (m *mask) body(content []byte) any {
	switch {
	case len(content) == 0:
		return nil
	case len(content) > askBefore:
		return fmt.Sprintf("<%d bytes>", len(content))
	}
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.UseNumber()
	var v any
	if decoder.Decode(&v) != nil || decoder.More() {
		return m.text(string(content))
	}
	return m.value("", v)
}

// Members that are masked by their name: those whose texts follow no pattern, and those that how fast things went
// decides about. A latency of less than a millisecond is left out of an answer, so every latency is.
const latency = "latencyMs"

// digest is of a configuration, with the url in it.
const digest = "configDigest"

var masked = map[string]string{"nextCursor": "<cursor>", "applied": "<sequence>", "kid": "<key>", "x": "<key>"}

// value masks a decoded value; member is the name that it has in its object.
func (m *mask) value(member string, v any) any {
	switch v := v.(type) {
	case string:
		if name, ok := masked[member]; ok {
			return name
		}
		switch member {
		case digest:
			return m.id(v)
		case "href", "evidence":
			return m.reference(v)
		}
		return m.text(v)
	case []any:
		if steps(v) {
			return []any{total(v)}
		}
		out := make([]any, 0, len(v))
		for _, item := range v {
			out = append(out, m.value(member, item))
		}
		return out
	case map[string]any:
		return m.object(v)
	}
	return v
}

func (m *mask) object(v map[string]any) any {
	out := map[string]any{}
	for _, member := range slices.Sorted(maps.Keys(v)) {
		switch {
		case member == latency:
		case v["seconds"] != nil && (member == "delivered" || member == "failed"):
			out[member] = total(v[member])
		case member == "value" && timed(v["unit"]):
			out[member] = "<n>"
		default:
			out[m.text(member)] = m.value(member, v[member])
		}
	}
	return out
}

// timed reports whether a quantity grows while one watches.
func timed(unit any) bool {
	text, _ := unit.(string)
	return strings.HasPrefix(text, "days") || strings.HasPrefix(text, "hours") || strings.HasPrefix(text, "minutes")
}

// steps reports whether a list is of counts by time: what falls into which step depends on the clock.
func steps(v []any) bool {
	if len(v) == 0 {
		return false
	}
	first, _ := v[0].(map[string]any)
	return first["from"] != nil && first["count"] != nil || first["at"] != nil && first["delivered"] != nil && first["failed"] != nil
}

// total adds up the numbers of a list: numbers, or objects' numbers by their names.
func total(v any) any {
	list, _ := v.([]any)
	var sum int64
	sums := map[string]any{}
	for _, item := range list {
		switch item := item.(type) {
		case json.Number:
			n, _ := item.Int64()
			sum += n
		case map[string]any:
			for member, value := range item {
				if number, ok := value.(json.Number); ok {
					n, _ := number.Int64()
					before, _ := sums[member].(int64)
					sums[member] = before + n
				}
			}
		}
	}
	if len(sums) > 0 {
		return sums
	}
	return sum
}

// copy is a mask to try an answer with.
func (m *mask) copy() *mask {
	return &mask{base: m.base, known: slices.Clone(m.known), ids: maps.Clone(m.ids)}
}
