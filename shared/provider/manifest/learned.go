package manifest

import (
	"cmp"
	"maps"
	"slices"

	"orgops/shared/provider/connector"
)

// learned holds the variables that answers have told. Requests carry them from then on, also those of later runs, until the configuration or the
// manifest's words for them change.
type learned struct {
	Of     string            `json:"of"` // identifies the configuration
	Values map[string]string `json:"values,omitempty"`
}

// maxValue limits a value of an answer that a request carries, in bytes.
const maxValue = 256

// fits reports whether a request can carry a value of an answer.
func fits(value string) bool {
	return value != "" && value != "." && value != ".." && len(value) <= maxValue
}

// recall sets the variables that were learned under the same configuration.
func (r *run) recall(known *learned) *learned {
	if len(r.Learned) == 0 {
		return nil
	}
	of := connector.Digest(encoded(map[string]any{"base": r.Document.Base + " " + r.Base, "learned": r.Learned, "values": r.values}))[:16]
	if known == nil || known.Of != of || known.Values == nil {
		return &learned{Of: of, Values: map[string]string{}}
	}
	maps.Copy(r.values, known.Values)
	return known
}

// learn keeps what an answer tells of the variables that are not known.
func (r *run) learn(document []byte) {
	at := &r.at
	if r.outer != nil {
		at = r.outer
	}
	for name, pointer := range r.Learned {
		if value := textOf(find(document, pointer)); r.values[name] == "" && fits(value) {
			r.values[name], at.State.Learned.Values[name] = value, value
		}
	}
}

// way is a request of a stream that can be made if its variables have values.
type way struct {
	Request

	needs  []string
	sorted []string // names of the query's parameters
}

// ways lists the requests that the parts of a request make of it, and then the one without any.
func (r Request) ways() (all []way) {
	for _, p := range append(slices.Clone(r.Either), Part{}) {
		w := way{Request: r, needs: namesIn(string(encoded(p)))}
		w.Path, w.Query, w.Body = cmp.Or(p.Path, r.Path), map[string]string{}, joined(r.Body, p.Body)
		maps.Copy(w.Query, r.Query)
		maps.Copy(w.Query, p.Query)
		w.sorted = sortedKeys(w.Query)
		all = append(all, w)
	}
	return all
}

// way returns the first request that can be made with values.
func (s *stream) way(values map[string]string) way {
	n := slices.IndexFunc(s.ways, func(w way) bool {
		return !slices.ContainsFunc(w.needs, func(name string) bool { return values[name] == "" })
	})
	return s.ways[n] // the last one needs nothing
}

// joined returns an object with the members of another one. Of members that are objects in both, it joins those.
func joined(object, more map[string]any) map[string]any {
	all := map[string]any{}
	maps.Copy(all, object)
	for name, value := range more {
		was, is := all[name].(map[string]any)
		below, both := value.(map[string]any)
		if is && both {
			value = joined(was, below)
		}
		all[name] = value
	}
	return all
}
