package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"orgops/shared/base/fault"
	"orgops/shared/provider/connector"
)

// Parent says that a stream is read once for each record of another stream.
type Parent struct {
	Stream   string `json:"stream"`   // its name
	Pointer  string `json:"pointer"`  // into its record: the value of the variable
	Variable string `json:"variable"` // that the request of this stream takes
}

// above is where a run stands in the stream of the parents.
type above struct {
	Page   *checkpoint `json:"page,omitempty"`   // the next page of parents; nil behind the last one
	Values []string    `json:"values,omitempty"` // of the parents whose records are not read; the first one's are being read
}

// maxValues limits the values of one page of parents, in bytes. A checkpoint holds them.
const maxValues = 64 << 10

// parent returns the stream of the parents, or nil.
func (m *Manifest) parent(s *stream) *stream {
	if s.Parent == nil {
		return nil
	}
	return m.streams[slices.IndexFunc(m.streams, func(other *stream) bool { return other.Name == s.Parent.Stream })]
}

// descend makes the run read what its checkpoint leads to: a page of parents, or a page of the records of one parent.
func (r *run) descend() {
	at := r.at.Above
	switch {
	case at == nil:
	case len(at.Values) > 0:
		r.of(at.Values[0])
	default:
		outer := r.at
		r.outer, r.at, r.stream = &outer, *at.Page, r.parent(r.stream)
	}
}

// of sets the variable of the parent.
func (r *run) of(value string) {
	values := maps.Clone(r.values)
	if values == nil {
		values = map[string]string{}
	}
	values[r.Parent.Variable] = value
	r.values = values
}

// begun returns the checkpoint of the first page of a stream's parents. It asks for all of them: a parent that has not changed may have
// records that have.
func (r *run) begun(n int) checkpoint {
	s := r.parent(r.streams[n])
	first := checkpoint{Address: r.address(s)}
	if p := s.Paging; p.Type == pagedByNo && p.In != inBody {
		first.Address = with(first.Address, p.Parameter, fmt.Sprint(p.First))
	}
	return checkpoint{Stream: n, Above: &above{Page: &first}}
}

// parents reads a page of parents.
func (r *run) parents(document []byte, header http.Header) (page connector.FetchedPage, err error) {
	below := r.streams[r.outer.Stream]
	if r.at.Pages == 0 {
		r.resetTallies(below)
	}
	var read records
	var values []string
	if !r.repeats(document) {
		if read, values, err = r.valuesIn(document, below.Parent.Pointer, &page); err != nil {
			return page, err
		}
	}
	page.List, page.Shifting, page.NotBefore = below.Name, r.shifting(), r.exhausted(header)
	if page.Shifting && !r.last.Since.IsZero() {
		r.outer.State.Since = r.last.Began
	}
	next, err := r.next(document, header, read)
	if err != nil {
		return page, err
	}
	left := above{Values: values}
	if next.Address != "" {
		left.Page = &next
	}
	r.at, r.stream = *r.outer, below
	return page, r.goOn(&page, left, r.at.State)
}

// valuesIn returns the values of the records of a page of parents. A record without one makes the page incomplete.
func (r *run) valuesIn(document []byte, pointer string, page *connector.FetchedPage) (read records, values []string, err error) {
	objects := json.NewDecoder(bytes.NewReader(find(document, r.Records)))
	if _, err := objects.Token(); err != nil {
		return read, nil, err
	}
	size := 0
	for objects.More() {
		read.last = nil
		if err := objects.Decode(&read.last); err != nil {
			return read, nil, err
		}
		read.count++
		if r.Deleted.is(read.last) {
			continue
		}
		value := textOf(find(read.last, pointer))
		if !fits(value) {
			page.Refuse("object "+strconv.Itoa(read.count)+" of the page", "it has no text or number at "+pointer+" that can stand in a request")
			continue
		}
		values, size = append(values, value), size+len(value)
	}
	if read.count > maxItems || size > maxValues {
		return read, nil, fault.Newf(fault.Unavailable, "a page of %s is too large to read below it; ask for smaller pages in the %s", r.Name, r.words.URL)
	}
	return read, values, nil
}

// goOn sets where the run continues after a page of parents, or after the records of one: with those of the next parent, with the next page of
// parents, or behind the stream.
func (r *run) goOn(page *connector.FetchedPage, left above, state state) (err error) {
	at := checkpoint{Stream: r.at.Stream}
	switch {
	case len(left.Values) > 0:
		r.of(left.Values[0])
		at = r.start(at.Stream)
	case left.Page == nil:
		return r.leave(page, state)
	}
	at.Above, at.State = &left, state
	page.Checkpoint, err = json.Marshal(at)
	return err
}

// resetTallies begins the tallies of a stream again.
func (r *run) resetTallies(s *stream) {
	for _, t := range r.TalliesOf(s.Name) {
		t.Reset()
	}
}
