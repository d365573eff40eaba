package mapping

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
)

// maxInstructions limits the size of a compiled pattern. A match takes time in proportion to this size and to the text.
const maxInstructions = 200

// cellsPerUnit holds how many pairs of an instruction of a pattern and a byte of the text a unit of fuel pays for.
const cellsPerUnit = 16

// pattern holds a regular expression of the RE2 syntax, which needs no backtracking.
type pattern struct {
	*regexp.Regexp
	instructions int
}

// newPattern compiles a pattern, or says what is wrong with it.
func newPattern(source string) (pattern, error) {
	parsed, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		var e *syntax.Error
		if errors.As(err, &e) {
			return pattern{}, fmt.Errorf("the pattern of test is not of the RE2 syntax: %s", e.Code)
		}
		return pattern{}, err
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return pattern{}, err
	}
	if n := len(program.Inst); n > maxInstructions {
		return pattern{}, fmt.Errorf("the pattern of test has %d instructions and may have %d; use shorter repetitions", n, maxInstructions)
	}
	compiled, err := regexp.Compile(source)
	return pattern{compiled, len(program.Inst)}, err
}

// test reports whether a pattern matches a part of a string.
func test(c call, patterns map[string]pattern) (any, error) {
	in, source, err := c.texts("test")
	if err != nil {
		return nil, err
	}
	p := patterns[source]
	if err := c.pay(len(in) * p.instructions / cellsPerUnit); err != nil {
		return nil, err
	}
	return p.MatchString(in), nil
}
