package mapping

import (
	"errors"
	"fmt"
	"strings"

	"github.com/itchyny/gojq"
)

// functionNames lists the functions of the language, for an error about another one.
const functionNames = "select, map, any, all, not, first, length, join, split, startswith, endswith, test, ascii_downcase, tostring, tonumber, " +
	"fromdate, todate, strptime, strftime and mktime"

// function rewrites a call of one of the language's functions.
func (r *rewriter) function(f *gojq.Func) (step, error) {
	if strings.HasPrefix(f.Name, "$") {
		return step{}, refuse("a variable ("+f.Name+")", "read each value by its path, such as .payload.id")
	}
	if f.Name == "test" {
		q, err := r.test(f)
		return step{q, try(q)}, err
	}
	if f.Name == "strptime" || f.Name == "strftime" {
		q, err := timed(f)
		return step{q, try(q)}, err
	}
	args := make([]*gojq.Query, len(f.Args))
	for n, arg := range f.Args {
		var err error
		if args[n], err = r.query(arg); err != nil {
			return step{}, err
		}
	}
	identity := of(&gojq.Term{Type: gojq.TermTypeIdentity})
	switch signature := fmt.Sprintf("%s/%d", f.Name, len(args)); signature {
	case "not/0", "select/1", "first/1", "any/2", "all/2":
		return step{query: calls(f.Name, args...)}, nil
	case "map/1":
		return step{query: of(&gojq.Term{Type: gojq.TermTypeArray, Array: &gojq.Array{Query: pipe(metered(iterate), args[0])}})}, nil
	case "any/0", "all/0":
		return step{query: calls(f.Name, metered(iterate), identity)}, nil
	case "any/1", "all/1":
		return step{query: calls(f.Name, metered(iterate), args[0])}, nil
	case "first/0":
		return place(of(&gojq.Term{Type: gojq.TermTypeNumber, Number: "0"})), nil
	case "length/0", "ascii_downcase/0", "tostring/0", "tonumber/0", "mktime/0":
		q := metered(f.Name)
		return step{q, try(q)}, nil
	case "fromdate/0", "fromdateiso8601/0":
		q := metered("fromdate")
		return step{q, try(q)}, nil
	case "todate/0", "todateiso8601/0":
		q := metered("strftime", constant(isoDate))
		return step{q, try(q)}, nil
	case "join/1", "split/1", "startswith/1", "endswith/1":
		return step{query: metered(f.Name, args...)}, nil
	default:
		return step{}, unknown(f.Name, signature)
	}
}

// unknown describes a call that the language does not have.
func unknown(name, signature string) error {
	switch name {
	case "not", "select", "first", "any", "all", "map", "length", "ascii_downcase", "tostring", "tonumber", "join", "split", "startswith", "endswith",
		"mktime", "fromdate", "fromdateiso8601", "todate", "todateiso8601":
		return fmt.Errorf("%s takes another number of arguments", signature)
	}
	instead := "the functions are " + functionNames
	if strings.HasSuffix(signature, "/0") {
		instead += fmt.Sprintf("; a text stands in quotes, as in %q", name)
	}
	return refuse("the function "+name, instead)
}

// timed rewrites a call of strptime or strftime, whose format must be a literal: it is checked when the expression is.
func timed(f *gojq.Func) (*gojq.Query, error) {
	const want = `%s takes one argument, the format as a literal string, such as "%%d/%%m/%%Y %%H:%%M"`
	if len(f.Args) != 1 {
		return nil, fmt.Errorf(want, f.Name)
	}
	format, ok := literalText(f.Args[0])
	if !ok {
		return nil, fmt.Errorf(want, f.Name)
	}
	return metered(f.Name, constant(format)), checkFormat(format)
}

// test rewrites a call of test, whose pattern must be a literal: it is compiled when the expression is checked.
func (r *rewriter) test(f *gojq.Func) (*gojq.Query, error) {
	if len(f.Args) != 1 {
		return nil, errors.New(`test takes one argument, the pattern; flags stand in the pattern, such as "(?i)urgent"`)
	}
	source, ok := literalText(f.Args[0])
	if !ok {
		return nil, errors.New(`the pattern of test must be a literal string, such as test("^v[0-9]+")`)
	}
	if _, known := r.patterns[source]; !known {
		p, err := newPattern(source)
		if err != nil {
			return nil, err
		}
		r.patterns[source] = p
	}
	return metered("test", constant(source)), nil
}

// index rewrites one step of a path: a name, a place in a list, or a slice.
func index(i *gojq.Index) (step, error) {
	switch {
	case i.Name != "":
		return named(i.Name), nil
	case i.Str != nil && i.Str.Queries == nil:
		return named(i.Str.Str), nil
	case i.IsSlice:
		from, okFrom := bound(i.Start)
		to, okTo := bound(i.End)
		if okFrom && okTo {
			q := metered("slice", from, to)
			return step{q, try(q)}, nil
		}
		return step{}, errors.New("the bounds of a slice must be literal numbers, such as .[0:200]")
	case i.Start != nil && i.Start.Term != nil && len(i.Start.Term.SuffixList) == 0:
		if name, ok := literalText(i.Start); ok {
			return named(name), nil
		}
		if n := literal(i.Start.Term); n != nil {
			return place(n), nil
		}
	}
	return step{}, errors.New(`the index of a path must be a name, such as .["a name"], a place, such as .[0], or an expression with a string, such as .config.tables.kinds[.item.kind]`)
}

// named reads a member of an object.
func named(name string) step {
	return step{
		of(&gojq.Term{Type: gojq.TermTypeIndex, Index: &gojq.Index{Str: &gojq.String{Str: name}}}),
		metered(atOptional, constant(name)),
	}
}

// place reads an item of a list by a literal number.
func place(n *gojq.Query) step {
	return step{of(&gojq.Term{Type: gojq.TermTypeIndex, Index: &gojq.Index{Start: n}}), metered(atOptional, n)}
}

// bound returns the bound of a slice, which is a literal number or missing.
func bound(q *gojq.Query) (*gojq.Query, bool) {
	if q == nil {
		return of(&gojq.Term{Type: gojq.TermTypeNull}), true
	}
	if q.Term == nil || len(q.Term.SuffixList) > 0 {
		return nil, false
	}
	n := literal(q.Term)
	return n, n != nil
}

// literal returns a literal number, which may have a sign, or nil for any other term. It ignores suffixes.
func literal(t *gojq.Term) *gojq.Query {
	switch {
	case t.Type == gojq.TermTypeNumber:
		return of(&gojq.Term{Type: t.Type, Number: t.Number})
	case t.Type == gojq.TermTypeUnary && t.Unary.Term.Type == gojq.TermTypeNumber && len(t.Unary.Term.SuffixList) == 0:
		n := &gojq.Term{Type: gojq.TermTypeNumber, Number: t.Unary.Term.Number}
		return of(&gojq.Term{Type: t.Type, Unary: &gojq.Unary{Op: t.Unary.Op, Term: n}})
	}
	return nil
}

// literalText returns the text of a query that is a string without interpolations.
func literalText(q *gojq.Query) (string, bool) {
	t := q.Term
	if t == nil || t.Type != gojq.TermTypeString || t.Str.Queries != nil || len(t.SuffixList) > 0 {
		return "", false
	}
	return t.Str.Str, true
}
