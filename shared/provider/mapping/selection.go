package mapping

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/itchyny/gojq"

	"orgops/shared/base/fault"
	"orgops/shared/domain/event"
)

// Limits of a filter and a transformation together, for one event. An event may go to many endpoints, so they are a tenth of those of an
// arrival. The steps decide, so that an event that is evaluated again has the same result; on an idle processor they take less than
// 10 ms. The time ends what the steps do not count, and is long, because a function with little memory gets its processor in slices.
const (
	MaxSteps      = 10_000
	maxSelectTime = time.Second
	maxBody       = 20_000 // bytes that a transformation makes, as many as an event's payload has
)

var (
	errSteps = errors.New("needs too much work for this event: it may use 10,000 steps; select fewer items, or shorter texts")
	errSlow  = errors.New("took longer than a second")
)

// Selection says which events an endpoint gets, by its filter, and with which body, by its transformation. Both are expressions of the
// language over .type, .timestamp, .data and .previous. They read nothing else, so they reach no secret. It is safe for concurrent use.
type Selection struct{ filter, transform *expression }

// NewSelection checks a filter and a transformation; "" stands for none. It returns fault.Invalid with the problems, under /filter and
// /transform.
func NewSelection(filter, transform string) (*Selection, error) {
	s := &Selection{}
	var problems []fault.FieldError
	for _, one := range []struct {
		name, source string
		into         **expression
	}{{"filter", filter, &s.filter}, {"transform", transform, &s.transform}} {
		if one.source == "" {
			continue
		}
		e, err := selecting(one.source)
		if err != nil {
			problems = append(problems, fault.FieldError{Pointer: "/" + one.name, Detail: strings.ReplaceAll(err.Error(), ".payload", ".data")})
		}
		*one.into = e
	}
	return s, fault.Refuse(problems)
}

// selecting checks an expression, and that it reads what an event has: a path that does not exist would give null, and a filter would
// leave out every event.
func selecting(source string) (*expression, error) {
	e, err := newExpression(source)
	if err != nil {
		return nil, err
	}
	parsed, err := gojq.Parse(source)
	if err != nil {
		return nil, err
	}
	for _, name := range roots(parsed) {
		if !slices.Contains([]string{"type", "timestamp", "data", "previous"}, name) {
			return nil, fmt.Errorf("reads .%s, which an event does not have; it has .type, .timestamp, .data and .previous", name)
		}
	}
	return e, nil
}

// roots lists the members of the event that an expression reads by name, as far as its operators show them.
func roots(q *gojq.Query) []string {
	switch {
	case q == nil:
		return nil
	case q.Op == gojq.OpPipe:
		return roots(q.Left)
	case q.Term == nil:
		return append(roots(q.Left), roots(q.Right)...)
	case q.Term.Type == gojq.TermTypeIndex && q.Term.Index.Name != "":
		return []string{q.Term.Index.Name}
	case q.Term.Type == gojq.TermTypeQuery:
		return roots(q.Term.Query)
	}
	return nil
}

// Source is an event as expressions read it.
type Source struct{ of map[string]any }

// NewSource reads an event.
func NewSource(e event.Event) (Source, error) {
	decoder := json.NewDecoder(bytes.NewReader(e.Data))
	decoder.UseNumber()
	var data map[string]any
	if err := decoder.Decode(&data); err != nil {
		return Source{}, fmt.Errorf("data of an event: %w", err)
	}
	return Source{map[string]any{
		"type": e.Type, "timestamp": e.Timestamp.UTC().Format(time.RFC3339Nano), "data": data, "previous": data["previous"],
	}}, nil
}

// Selected answers what an endpoint gets of an event.
type Selected struct {
	Wanted bool
	Body   json.RawMessage // nil: the payload as it is
	Steps  int
}

// SelectError says that a filter or a transformation could not be evaluated.
type SelectError struct {
	Part   string // filter or transform
	Detail string // without values of the event
}

func (e *SelectError) Error() string { return "the " + e.Part + " " + e.Detail }

// Apply evaluates the filter, and then the transformation. It returns a *SelectError if one of them fails.
func (s *Selection) Apply(ctx context.Context, from Source) (Selected, error) {
	for _, e := range []*expression{s.filter, s.transform} { // before the clock starts
		if e == nil || e.path != nil {
			continue
		}
		if _, err := e.compile(); err != nil {
			return Selected{}, err
		}
	}
	m := newMeter(ctx, time.Now().Add(maxSelectTime))
	m.fuel, m.spent = MaxSteps, errSteps
	out := Selected{Wanted: true}
	err := s.apply(&input{evaluation: &evaluation{meter: m}, of: from.of}, &out)
	out.Steps = MaxSteps - m.fuel
	if ctx.Err() != nil {
		return out, ctx.Err()
	}
	return out, err
}

func (s *Selection) apply(in *input, out *Selected) error {
	if s.filter != nil {
		v, err := s.filter.value(in)
		if err != nil {
			return selectError("filter", err)
		}
		wanted, ok := v.(bool)
		if !ok {
			return &SelectError{"filter", fmt.Sprintf("gives %s; it must give true or false, such as .data.kind == \"issue\"", kindOf(v))}
		}
		if out.Wanted = wanted; !wanted {
			return nil
		}
	}
	if s.transform == nil {
		return nil
	}
	v, err := s.transform.value(in)
	if err != nil {
		return selectError("transform", err)
	}
	out.Body, err = in.body(v)
	return err
}

// body encodes what a transformation gives, with the escapes that the store writes: a retry sends the stored bytes.
func (in *input) body(v any) (json.RawMessage, error) {
	switch v.(type) {
	case map[string]any, []any:
	default:
		return nil, &SelectError{"transform", "gives " + kindOf(v) + "; it must give an object or a list"}
	}
	size, err := in.size(v)
	if err != nil {
		return nil, selectError("transform", err)
	}
	var out []byte
	if size <= 2*maxBody { // size may be too high
		if out, err = json.Marshal(v); err != nil {
			return nil, selectError("transform", errors.New("gives what JSON cannot hold"))
		}
		size = len(out)
	}
	if size > maxBody {
		return nil, &SelectError{"transform", fmt.Sprintf("gives more than %d bytes", maxBody)}
	}
	return out, nil
}

func selectError(part string, err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		err = errSlow
	}
	return &SelectError{part, err.Error()}
}

// kindOf names the kind of a value.
func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "true or false"
	case string:
		return "a text"
	case []any:
		return "a list"
	case map[string]any:
		return "an object"
	}
	return "a number"
}
