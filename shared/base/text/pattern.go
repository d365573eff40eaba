package text

import (
	"regexp"
	"sync"
)

// Pattern is a regular expression (RE2 syntax) as a constant. It is compiled when it is first used, so that the start of a program
// does not pay for expressions that it may not need.
type Pattern string

// compiled keeps the compiled form of each Pattern of the program. Patterns are constants, so it does not grow.
var compiled sync.Map //nolint:gochecknoglobals // a cache of constants

// Regexp returns the compiled form. It panics if p is not a regular expression.
func (p Pattern) Regexp() *regexp.Regexp {
	if known, ok := compiled.Load(p); ok {
		return known.(*regexp.Regexp) //nolint:forcetypeassert // nothing else is stored
	}
	made, _ := compiled.LoadOrStore(p, regexp.MustCompile(string(p)))
	return made.(*regexp.Regexp) //nolint:forcetypeassert // nothing else is stored
}

// Matches reports whether s contains a match.
func (p Pattern) Matches(s string) bool { return p.Regexp().MatchString(s) }
