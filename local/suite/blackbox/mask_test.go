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

// mask replaces values that differ from run to run by names. The same id always gets the same name, so that a golden file
// shows which answers are about the same thing.
type mask struct {
	base, asked string // the url of the API, and the path of the request that is answered
	known       []known
	ids         map[string]string
	recovered   bool // deliveries were recovered: see version
}

type known struct{ text, name string }

func newMask(base string) *mask { return &mask{base: base, ids: map[string]string{}} }

// alias gives a text a name. Longer texts are replaced first, because they may hold shorter ones.
func (m *mask) alias(text, name string) {
	m.known = append(m.known, known{text, "<" + name + ">"})
	slices.SortStableFunc(m.known, func(a, b known) int { return len(b.text) - len(a.text) })
}

var uuids = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

// varying lists the patterns of texts that differ from run to run.
var varying = []struct {
	pattern *regexp.Regexp
	name    string
}{
	{regexp.MustCompile(`\beyJ[\w-]+\.[\w-]+\.[\w-]*`), "<token>"},
	{regexp.MustCompile(`\.[A-Z2-7]{26}\b`), ".<secret>"},
	{regexp.MustCompile(`\b([A-Z2-7]{4}-){3}[A-Z2-7]{4}\b`), "<recovery code>"},
	{regexp.MustCompile(`\b[A-Z2-7]{26}([A-Z2-7]{6})?\b`), "<secret>"},
	{regexp.MustCompile(`orgops_[0-9A-Za-z]{36}`), "<secret>"},
	{regexp.MustCompile(`whsec_[A-Za-z0-9+/]+=*`), "<secret>"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d(:|%3A)\d\d(:|%3A)\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`), "<time>"},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\d\b`), "<date>"},
	{regexp.MustCompile(`\b\d+ [A-Z][a-z]+ (\d{4} )?\d\d:\d\d( UTC)?`), "<time>"},
	{regexp.MustCompile(`\b\d+ (January|February|March|April|May|June|July|August|September|October|November|December)( \d{4})?\b`), "<day>"},
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

// id returns the name of an id. A new id gets the next number.
func (m *mask) id(id string) string {
	if m.ids[id] == "" {
		m.ids[id] = fmt.Sprintf("<id %d>", len(m.ids)+1)
	}
	return m.ids[id]
}

// body masks a JSON text. Any other text is masked as a text, and a very long one is replaced by its length.
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

// commit is left out, because it differs between builds, and a deployed function does not know it.
const commit = "commit"

// latency is left out, because the service leaves out one of less than a millisecond.
const latency = "latencyMs"

// outcomes holds times as numbers.
const outcomes = "outcomes"

// taken holds a time as a number, and counts by hour behind it.
const taken = "taken"

// version counts the changes that the context shows. A recovery on AWS sends its deliveries itself, and makes fewer of them.
const version = "contextVersion"

// delays names the members that say how long something took.
var delays = []string{"ms", "itemDelaySeconds", "deliveryDelaySeconds"}

// sizes names the members that count bytes. A time has fewer of them when its last digits are zeros.
var sizes = []string{"bytes"}

// digests depend on the urls in a configuration, or on ids. They are named as an id is, and so is an approval's digest.
var digests = []string{"configDigest", "actionDigest"}

// masked names the members whose values follow no pattern, or depend on how fast the service was.
var masked = map[string]string{"nextCursor": "<cursor>", "network": "<network>", "operator": "<operator>", "applied": "<sequence>", "hint": "<hint>", "kid": "<key>", "x": "<key>"}

// value masks a decoded value. The member is its name in its object.
func (m *mask) value(member string, v any) any {
	switch v := v.(type) {
	case string:
		if name, ok := masked[member]; ok {
			return name
		}
		switch {
		case slices.Contains(digests, member):
			return m.id(v)
		case member == "href", member == "evidence":
			return m.reference(v)
		case member == "text" && strings.HasPrefix(v, "{"): // the answer of a tool, which is JSON in a text
			return m.body([]byte(v))
		}
		return m.text(v)
	case []any:
		if series(v) {
			return []any{total(v)}
		}
		out := make([]any, 0, len(v))
		for _, item := range named(v) {
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
		times, _ := v[member].([]any)
		switch {
		case member == latency, member == commit, member == "shards": // the local feed has none
		case member == version && m.recovered:
			out[member] = "<n>"
		case member == outcomes:
			out[member] = fmt.Sprintf("<%d times>", len(times))
		case member == taken && len(times) > 0:
			out[member] = total(times[1:])
		case v["seconds"] != nil && (member == "delivered" || member == "failed"):
			out[member] = total(v[member])
		case member == "digest" && v["expiresAt"] != nil: // of an approval
			out[member] = m.id(fmt.Sprint(v[member]))
		case member == "value" && timed(v["unit"]), slices.Contains(delays, member) && v[member] != nil, slices.Contains(sizes, member), member == "expires_in" && v["issued_token_type"] != nil: // what is left of another token's time
			out[member] = "<n>"
		default:
			out[m.text(member)] = m.value(member, v[member])
		}
	}
	return out
}

// timed reports whether a quantity of the unit grows with time.
func timed(unit any) bool {
	text, _ := unit.(string)
	return strings.HasPrefix(text, "days") || strings.HasPrefix(text, "hours") || strings.HasPrefix(text, "minutes")
}

// series reports whether a list holds counts by time. The clock decides which interval counts what, so only the total is kept.
func series(v []any) bool {
	if len(v) == 0 {
		return false
	}
	first, _ := v[0].(map[string]any)
	return first["from"] != nil && first["count"] != nil || first["at"] != nil && first["delivered"] != nil && first["failed"] != nil
}

// named returns a list of memories or goals in the order of the names that their provider has for them. The API lists them by id, which
// differs from run to run. Any other list stays as it is.
func named(v []any) []any {
	name := func(item any) string {
		members, _ := item.(map[string]any)
		of, _ := members["externalId"].(string)
		return of
	}
	if slices.ContainsFunc(v, func(item any) bool { return name(item) == "" }) {
		return v
	}
	return slices.SortedStableFunc(slices.Values(v), func(a, b any) int { return strings.Compare(name(a), name(b)) })
}

// total adds up a list of numbers, or a list of objects by member.
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

// copy returns a mask that can name ids without a change to m.
func (m *mask) copy() *mask {
	return &mask{base: m.base, known: slices.Clone(m.known), ids: maps.Clone(m.ids), recovered: m.recovered}
}
