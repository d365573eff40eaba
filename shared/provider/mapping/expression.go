package mapping

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/itchyny/gojq"

	"orgops/shared/base/text"
)

// maxExpression limits the bytes of an expression.
const maxExpression = 2048

// expression holds one checked expression. It is compiled when it is first evaluated.
type expression struct {
	path      []string // of an expression that is only a path: most are, and need no interpreter
	equals    *string  // the text that the path's value is compared with; nil: the expression gives the value
	rewritten *gojq.Query
	patterns  map[string]pattern
	refuted   func(in *input) bool // whether the headers alone make it false; nil: they cannot
	compile   func() (*gojq.Code, error)
}

// newExpression parses and checks an expression. The error says what is wrong and what would be right.
func newExpression(source string) (*expression, error) {
	switch {
	case len(source) > maxExpression:
		return nil, fmt.Errorf("has %d bytes and may have %d", len(source), maxExpression)
	case !text.IsUnicode([]byte(source)):
		return nil, errors.New(text.NotUnicode)
	case strings.TrimSpace(source) == "":
		return nil, errors.New("is empty; write a path, such as .payload.id, or a literal, such as \"ticket\" with its quotation marks")
	}
	parsed, err := gojq.Parse(source)
	if err != nil {
		return nil, syntaxError(source, err)
	}
	r := rewriter{patterns: map[string]pattern{}}
	refuted := refutation(parsed)
	rewritten, err := r.query(parsed)
	if err != nil {
		return nil, err
	}
	e := &expression{rewritten: rewritten, patterns: r.patterns, refuted: refuted}
	if path, text, ok := comparisonOf(parsed); ok {
		e.path, e.equals = path, &text
	} else {
		e.path, _ = pathOf(parsed)
	}
	e.compile = sync.OnceValues(func() (*gojq.Code, error) { return gojq.Compile(e.rewritten, functions(e.patterns)...) })
	return e, nil
}

// syntaxError says where an expression does not parse.
func syntaxError(source string, err error) error {
	var e *gojq.ParseError
	if !errors.As(err, &e) {
		return fmt.Errorf("is not an expression: %w", err)
	}
	if e.Token == "" {
		return errors.New("is not complete: it ends where a value, an operator or a closing bracket must follow")
	}
	before := max(0, min(e.Offset, len(source))-len(e.Token))
	return fmt.Errorf("does not parse at character %d, at %q", utf8.RuneCountInString(source[:before])+1, e.Token)
}

// value evaluates the expression and returns its one value. No value counts as null. The error never quotes the payload.
func (e *expression) value(in *input) (any, error) {
	m := in.meter
	if e.path != nil {
		if err := m.pay(len(e.path)); err != nil {
			return nil, err
		}
		if v, ok, err := in.follow(e.path); ok || err != nil {
			return e.given(v), err
		}
	}
	code, err := e.compile()
	if err != nil {
		return nil, err
	}
	object, err := in.object()
	if err != nil {
		return nil, err
	}
	results := code.RunWithContext(m, object, m)
	first, ok := results.Next()
	if !ok {
		return nil, nil //nolint:nilnil // null is a value of the language
	}
	if err, failed := first.(error); failed {
		return nil, m.explain(err)
	}
	second, ok := results.Next()
	if err, failed := second.(error); failed {
		return nil, m.explain(err)
	}
	if ok {
		return nil, errors.New("gives more than one value; take one with first(…), or make a list with […]")
	}
	return first, nil
}

// given returns what an expression gives that is only a path, with or without a comparison.
func (e *expression) given(v any) any {
	if e.equals == nil {
		return v
	}
	text, ok := v.(string)
	return ok && text == *e.equals
}

// explain returns the reason why an evaluation ended, or the expression's own error without the value that the interpreter
// quotes.
func (m *meter) explain(err error) error {
	if m.err != nil {
		return m.err
	}
	detail, _, _ := strings.Cut(err.Error(), " (")
	return errors.New(detail)
}
