// Package policycheck checks the Cedar policies of a company before they are stored, against the schema of the service's
// actions and entities. A policy that passes uses only facts that every request has, so its evaluation fails only where a
// value is out of range, such as in an overflow.
package policycheck

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/cedar-policy/cedar-go/x/exp/ast"
	"github.com/cedar-policy/cedar-go/x/exp/schema"
	"github.com/cedar-policy/cedar-go/x/exp/schema/resolved"
	"github.com/cedar-policy/cedar-go/x/exp/schema/validate"

	"orgops/shared/base/fault"
	"orgops/shared/domain/policy"
	"orgops/shared/provider/policyengine"
)

// Schema holds the schema in Cedar's own form, with comments for people.
//
//go:embed schema.cedarschema
var Schema string

// Checker checks policies. It is safe for concurrent use.
type Checker struct {
	load func() (*resolved.Schema, error)
}

// New makes a checker. It reads the schema at the first check, once.
func New() *Checker {
	return &Checker{load: sync.OnceValues(func() (*resolved.Schema, error) {
		var s schema.Schema
		if err := s.UnmarshalCedar([]byte(Schema)); err != nil {
			return nil, fmt.Errorf("read the policy schema: %w", err)
		}
		return s.Resolve()
	})}
}

// Check lists what is wrong with the policies of a company, and says where and what would be right. Pointers start with at. The
// error is not nil if the schema itself cannot be read.
func (c *Checker) Check(at string, statements []policy.Statement) ([]fault.FieldError, error) {
	s, err := c.load()
	if err != nil {
		return nil, err
	}
	taken, err := defaultIDs()
	if err != nil {
		return nil, err
	}
	var problems []fault.FieldError
	refuse := func(pointer, format string, args ...any) {
		problems = append(problems, fault.FieldError{Pointer: at + pointer, Detail: fmt.Sprintf(format, args...)})
	}
	if len(statements) > policy.MaxStatements {
		refuse("", "at most %d policies; these are %d", policy.MaxStatements, len(statements))
		return problems, nil
	}
	size := 0
	for i, statement := range statements {
		size += len(statement.Text)
		if slices.Contains(taken, statement.ID) {
			refuse(fmt.Sprintf("/%d/id", i), "is the id of another policy, of this company or of the service: choose another id")
		}
		taken = append(taken, statement.ID)
		for _, detail := range check(s, statement.Text) {
			refuse(fmt.Sprintf("/%d/text", i), "%s", detail)
		}
	}
	if size > policy.MaxTexts {
		refuse("", "at most %d bytes in the texts of all policies; these have %d", policy.MaxTexts, size)
	}
	return problems, nil
}

func defaultIDs() ([]string, error) {
	defaults, err := policyengine.Defaults()
	ids := make([]string, 0, len(defaults))
	for _, d := range defaults {
		ids = append(ids, d.ID)
	}
	return ids, err
}

// check lists what is wrong with one policy.
func check(s *resolved.Schema, text string) []string {
	parsed, err := policyengine.Parse(text)
	if err != nil {
		return []string{explainSyntax(err)}
	}
	var details []string
	if err := validate.New(s).Policy("", (*ast.Policy)(parsed.AST())); err != nil {
		for line := range strings.Lines(err.Error()) {
			details = append(details, explainType(s, text, strings.TrimSpace(line)))
		}
	}
	slices.Sort(details) // Cedar's own order differs from one check to the next
	details = append(details, checkHosts(s, text, parsed)...)
	details = append(details, checkAnnotations(text, parsed)...)
	details = append(details, checkReplacement(s, parsed)...)
	return append(details, checkApproval(s, parsed)...)
}
