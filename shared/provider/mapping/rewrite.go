package mapping

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/itchyny/gojq"
)

// The names that a rewritten syntax tree uses. No expression can contain them: the check refuses variables and unknown
// functions.
const (
	meterVariable = "$meter"
	prefix        = "_metered_" // of the functions of this package; the interpreter has its own, such as _slice
	iterate       = "iterate"

	iterateOptional = "iterate_optional"
	atOptional      = "at_optional"
	concatenate     = "concat"
	computedNames   = "names"
	lookedUp        = "lookup"
)

const (
	maxConcat = 20  // parts of a text in one call
	maxNested = 100 // levels of a syntax tree
)

// rewriter checks a syntax tree against the closed list of what the language has. It returns the tree with each operator and
// function that works in proportion to its input replaced by a function that pays a meter.
type rewriter struct {
	patterns map[string]pattern // those of test, by their source
	depth    int
}

func (r *rewriter) query(q *gojq.Query) (*gojq.Query, error) {
	r.depth++
	defer func() { r.depth-- }()
	switch {
	case r.depth > maxNested:
		return nil, fmt.Errorf("has more than %d levels; use several rules", maxNested)
	case q.Meta != nil || len(q.Imports) > 0:
		return nil, refuse("a module directive", "write one expression")
	case len(q.FuncDefs) > 0:
		return nil, refuse("def", "write the expression where it is used")
	case len(q.Patterns) > 0:
		return nil, refuse("a variable (as $x)", "read each value by its path, such as .payload.id")
	case q.Term != nil:
		return r.term(q.Term)
	case q.Left == nil || q.Right == nil:
		return nil, errors.New("is empty; write a path, such as .payload.id")
	}
	return r.operation(q)
}

func (r *rewriter) operation(q *gojq.Query) (*gojq.Query, error) {
	left, err := r.query(q.Left)
	if err != nil {
		return nil, err
	}
	right, err := r.query(q.Right)
	if err != nil {
		return nil, err
	}
	switch q.Op {
	case gojq.OpPipe, gojq.OpComma, gojq.OpAlt, gojq.OpAnd, gojq.OpOr:
		return &gojq.Query{Left: left, Op: q.Op, Right: right}, nil
	case gojq.OpEq, gojq.OpNe, gojq.OpLt, gojq.OpLe, gojq.OpGt, gojq.OpGe:
		return metered("compare", left, right, constant(q.Op.String())), nil
	case gojq.OpAdd, gojq.OpSub, gojq.OpMul, gojq.OpDiv, gojq.OpMod:
		return nil, refuse(q.Op.String(), `join texts by interpolation, such as "\(.payload.a) \(.payload.b)"; there is no arithmetic`)
	}
	return nil, refuse(q.Op.String(), "an expression reads values and changes none")
}

// step holds a term without its suffixes, or one suffix. Optional does the same, but gives nothing where the step fails; it
// is nil where the language has no such form. Only steps whose errors are cheap have one: the interpreter makes the text
// of each error that it catches, which quotes the value.
type step struct{ query, optional *gojq.Query }

// term rewrites a term and its suffixes, which become steps of a pipe.
func (r *rewriter) term(t *gojq.Term) (*gojq.Query, error) {
	last, err := r.first(t)
	if err != nil {
		return nil, err
	}
	var before *gojq.Query
	for _, s := range t.SuffixList {
		if s.Optional {
			if last.optional == nil {
				return nil, errors.New("a question mark follows a step of a path, such as .payload.labels[]?, or tonumber; elsewhere, ask with if")
			}
			last.query = last.optional
			continue
		}
		before = pipe(before, last.query)
		if name := computed(s.Index); name != nil {
			if last, err = r.lookedUp(before, name); err != nil {
				return nil, err
			}
			before = nil
			continue
		}
		if last, err = suffix(s); err != nil {
			return nil, err
		}
	}
	return pipe(before, last.query), nil
}

func suffix(s *gojq.Suffix) (step, error) {
	if s.Iter {
		return step{metered(iterate), metered(iterateOptional)}, nil
	}
	return index(s.Index)
}

// computed returns the expression in an index such as .table[.item.kind], or nil for another index.
func computed(i *gojq.Index) *gojq.Query {
	switch {
	case i == nil || i.IsSlice:
		return nil
	case i.Str != nil && i.Str.Queries != nil:
		return of(&gojq.Term{Type: gojq.TermTypeString, Str: i.Str})
	case i.Start == nil:
		return nil
	}
	if _, name := literalText(i.Start); name || i.Start.Term != nil && len(i.Start.Term.SuffixList) == 0 && literal(i.Start.Term) != nil {
		return nil
	}
	return i.Start
}

// lookedUp rewrites an index that is computed. Both expressions read the input of the whole term.
func (r *rewriter) lookedUp(table, name *gojq.Query) (step, error) {
	name, err := r.query(name)
	return step{query: metered(lookedUp, table, name)}, err
}

// first rewrites a term without its suffixes.
func (r *rewriter) first(t *gojq.Term) (step, error) {
	switch t.Type {
	case gojq.TermTypeIndex:
		if name := computed(t.Index); name != nil {
			return r.lookedUp(of(&gojq.Term{Type: gojq.TermTypeIdentity}), name)
		}
		return index(t.Index)
	case gojq.TermTypeFunc:
		return r.function(t.Func)
	}
	q, err := r.base(t)
	return step{query: q}, err
}

func (r *rewriter) base(t *gojq.Term) (*gojq.Query, error) {
	switch t.Type {
	case gojq.TermTypeIdentity, gojq.TermTypeNull, gojq.TermTypeTrue, gojq.TermTypeFalse, gojq.TermTypeNumber:
		return of(&gojq.Term{Type: t.Type, Number: t.Number}), nil
	case gojq.TermTypeUnary:
		if n := literal(t); n != nil {
			return n, nil
		}
		return nil, refuse("a sign before an expression", "there is no arithmetic; a number may have a sign, such as -1")
	case gojq.TermTypeObject:
		return r.object(t.Object)
	case gojq.TermTypeArray:
		return r.list(t.Array)
	case gojq.TermTypeString:
		return r.text(t.Str)
	case gojq.TermTypeIf:
		return r.condition(t.If)
	case gojq.TermTypeQuery:
		return r.query(t.Query)
	}
	return nil, refusedTerm(t)
}

// refusedTerm says what to write instead of a term that jq has and the language does not.
func refusedTerm(t *gojq.Term) error {
	switch t.Type {
	case gojq.TermTypeRecurse:
		return refuse("..", "name the path, such as .payload.issue.title")
	case gojq.TermTypeReduce, gojq.TermTypeForeach:
		return refuse("reduce or foreach", "use map, select, any, all, first or join")
	case gojq.TermTypeTry:
		return refuse("try", "append ? to a path, or give an alternative with //")
	case gojq.TermTypeFormat:
		return refuse(t.Format, "use tostring or a text with interpolations")
	}
	return refuse("label or break", "use first(…)")
}

func (r *rewriter) list(a *gojq.Array) (*gojq.Query, error) {
	out := &gojq.Array{}
	if a.Query != nil {
		var err error
		if out.Query, err = r.query(a.Query); err != nil {
			return nil, err
		}
	}
	return of(&gojq.Term{Type: gojq.TermTypeArray, Array: out}), nil
}

// object rewrites an object. One with computed names pays after it is made, because the interpreter hashes every name again
// for each value that a generator gives.
func (r *rewriter) object(o *gojq.Object) (*gojq.Query, error) {
	out, computed := &gojq.Object{}, 0
	for _, member := range o.KeyVals {
		rewritten, err := r.member(member)
		if err != nil {
			return nil, err
		}
		out.KeyVals = append(out.KeyVals, rewritten)
		if rewritten.KeyQuery != nil {
			computed++
		}
	}
	made := of(&gojq.Term{Type: gojq.TermTypeObject, Object: out})
	if computed == 0 {
		return made, nil
	}
	return pipe(made, metered(computedNames, constant(strconv.Itoa(computed)))), nil
}

// member rewrites a member of an object. A name that stands alone, such as {title}, reads the member of that name.
func (r *rewriter) member(member *gojq.ObjectKeyVal) (out *gojq.ObjectKeyVal, err error) {
	out = &gojq.ObjectKeyVal{Key: member.Key}
	switch {
	case member.Key != "" && member.Key[0] == '$':
		return nil, refuse("a variable ("+member.Key+")", "write the name and the path, such as {title: .payload.title}")
	case member.Val == nil && (member.KeyQuery != nil || member.KeyString != nil && member.KeyString.Queries != nil):
		return nil, refuse("a name without a value", "write both, such as {title: .payload.title}")
	case member.KeyString != nil && member.KeyString.Queries == nil:
		out.KeyString = member.KeyString
	case member.KeyString != nil:
		out.KeyQuery, err = r.text(member.KeyString)
	case member.KeyQuery != nil:
		out.KeyQuery, err = r.query(member.KeyQuery)
	}
	if err == nil && member.Val != nil {
		out.Val, err = r.query(member.Val)
	}
	return out, err
}

func (r *rewriter) condition(i *gojq.If) (*gojq.Query, error) {
	out := &gojq.If{}
	var err error
	if out.Cond, err = r.query(i.Cond); err != nil {
		return nil, err
	}
	if out.Then, err = r.query(i.Then); err != nil {
		return nil, err
	}
	for _, e := range i.Elif {
		next := &gojq.IfElif{}
		if next.Cond, err = r.query(e.Cond); err != nil {
			return nil, err
		}
		if next.Then, err = r.query(e.Then); err != nil {
			return nil, err
		}
		out.Elif = append(out.Elif, next)
	}
	if i.Else != nil {
		if out.Else, err = r.query(i.Else); err != nil {
			return nil, err
		}
	}
	return of(&gojq.Term{Type: gojq.TermTypeIf, If: out}), nil
}

// text rewrites a string. The parts of a string with interpolations become the arguments of concat.
func (r *rewriter) text(s *gojq.String) (*gojq.Query, error) {
	if s.Queries == nil {
		return constant(s.Str), nil
	}
	parts := make([]*gojq.Query, 0, len(s.Queries))
	for _, q := range s.Queries {
		part, err := r.query(q)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
		if len(parts) == maxConcat {
			parts = append(parts[:0:0], metered(concatenate, parts...))
		}
	}
	return metered(concatenate, parts...), nil
}

// refuse says that the language does not have something of jq, and what to write instead.
func refuse(what, instead string) error {
	return fmt.Errorf("%s is not part of the language; %s", what, instead)
}

// The functions below make syntax trees.

func of(t *gojq.Term) *gojq.Query { return &gojq.Query{Term: t} }

func constant(s string) *gojq.Query {
	return of(&gojq.Term{Type: gojq.TermTypeString, Str: &gojq.String{Str: s}})
}

// try returns nothing where q fails.
func try(q *gojq.Query) *gojq.Query {
	return of(&gojq.Term{Type: gojq.TermTypeTry, Try: &gojq.Try{Body: q}})
}

// pipe returns first | second, or second if there is no first.
func pipe(first, second *gojq.Query) *gojq.Query {
	if first == nil {
		return second
	}
	return &gojq.Query{Left: first, Op: gojq.OpPipe, Right: second}
}

func calls(name string, args ...*gojq.Query) *gojq.Query {
	return of(&gojq.Term{Type: gojq.TermTypeFunc, Func: &gojq.Func{Name: name, Args: args}})
}

// metered calls a function of this package with the meter as its last argument.
func metered(name string, args ...*gojq.Query) *gojq.Query {
	return calls(prefix+name, append(args[:len(args):len(args)], calls(meterVariable))...)
}
