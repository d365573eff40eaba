package manifest

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"orgops/shared/base/fault"
	"orgops/shared/domain/integration"
	"orgops/shared/provider/connector"
)

// MaxSize limits a manifest, in bytes.
const MaxSize = 64 << 10

// Manifest is a checked manifest. It is safe for concurrent use.
type Manifest struct {
	Document

	words   Words
	digest  string // tells manifests of the same kind apart; "" for a manifest that follows from a configuration
	streams []*stream
	acts    map[integration.Port]bool // what the streams ask for
	headers []string                  // sorted
}

// stream is a checked stream with what each of its pages needs.
type stream struct {
	Stream

	ways   []way    // to ask for it, of which the first that can be made is
	mapped string   // names the mapping in the cache of mappings
	used   []string // pointers that a member of the document is read by
	shifts bool     // a deletion between two pages moves an item past the reader
}

// Parse reads and checks a manifest. It returns fault.Malformed for a document that is no manifest, and fault.Invalid with every problem
// at once, each with its place. The caller has checked the document against Schema.
func Parse(raw json.RawMessage) (*Manifest, error) {
	if len(raw) > MaxSize {
		return nil, fault.Newf(fault.TooLarge, "a manifest has at most %d bytes", MaxSize)
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	decoder.UseNumber()
	var d Document
	if err := decoder.Decode(&d); err != nil {
		return nil, fault.Wrap(fault.Malformed, "a manifest is one JSON object; see the schema of manifests", err)
	}
	if err := fault.Refuse(d.check()); err != nil {
		return nil, err
	}
	m := Compile(d)
	m.digest = connector.Digest(raw)[:16]
	return m, nil
}

// Compile prepares a document that is known to be correct, such as a manifest of a checked configuration.
func Compile(d Document) *Manifest {
	m := &Manifest{Document: d, words: d.words(), acts: map[integration.Port]bool{}, headers: slices.Sorted(maps.Keys(d.Headers))}
	for _, s := range d.Streams {
		c := &stream{Stream: s, ways: s.Request.ways()}
		c.used = []string{s.Records, s.Paging.Pointer, s.Paging.More, s.Paging.Last}
		for _, e := range d.Errors {
			c.used = append(c.used, e.Pointer)
		}
		switch p := s.Paging; p.Type {
		case PagedByLink, "", pagedByNext, PagedByOffset, pagedByNo:
			c.shifts = true
		}
		if s.Mapping != nil {
			c.mapped = "manifest " + connector.Digest(s.Mapping)
		}
		for _, port := range s.ports() {
			m.acts[port] = true
		}
		m.streams = append(m.streams, c)
	}
	return m
}

// ports returns what a stream asks for.
func (s Stream) ports() (ports []integration.Port) {
	switch {
	case s.Item != nil && s.Item.Target == ToGoal:
		return []integration.Port{integration.GoalUpdate}
	case s.Item != nil:
		return []integration.Port{integration.MemoryUpsert}
	}
	for _, r := range s.rules() {
		ports = append(ports, r.Action)
	}
	return ports
}

// rule is what a manifest reads of a mapping's rule. Package mapping checks the rest.
type rule struct {
	Action integration.Port           `json:"action"`
	With   map[string]json.RawMessage `json:"with"`
}

func (s Stream) rules() []rule {
	var mapping struct {
		Rules []rule `json:"rules"`
	}
	_ = json.Unmarshal(s.Mapping, &mapping) // package mapping refuses what is no mapping
	return mapping.Rules
}

// incremental reports whether a run can ask for what has changed.
func (m *Manifest) incremental() bool {
	return slices.ContainsFunc(m.streams, func(s *stream) bool { return s.Incremental != nil })
}

// IsReserved reports whether a header has a meaning for the connection or the request.
func IsReserved(name string) bool {
	switch strings.ToLower(name) {
	case "host", "connection", "content-length", "content-type", "transfer-encoding", "upgrade", "te", "trailer", "keep-alive", "proxy-authorization",
		"proxy-connection", "accept", "accept-encoding", "if-none-match", "if-modified-since", "user-agent", "cookie":
		return true
	}
	return false
}
