package policyengine

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/cedar-policy/cedar-go"

	"orgops/shared/domain/policy"
)

// The annotations that the engine reads. Cedar itself gives annotations no meaning.
const (
	// Approval marks a forbid that the approval of a person lifts. Its value tells the person what to agree to.
	Approval = "approval"
	// Reason says in a decision why the policy permits or forbids.
	Reason = "reason"
)

// rule is one compiled policy.
type rule struct {
	id         string
	policy     *cedar.Policy
	reason     string
	approval   string
	approvable bool
}

// rules implements cedar.PolicyIterator. The order of the rules is the order of a decision's policies.
type rules []*rule

// All implements cedar.PolicyIterator.
func (r rules) All() iter.Seq2[cedar.PolicyID, *cedar.Policy] {
	return func(yield func(cedar.PolicyID, *cedar.Policy) bool) {
		for _, one := range r {
			if !yield(cedar.PolicyID(one.id), one.policy) {
				return
			}
		}
	}
}

// division holds the rules of one mode. Cedar reports the permits of a request only if no forbid applies, so they are
// evaluated separately.
type division struct{ permits, forbids rules }

// Set holds compiled policies. It is safe for concurrent use.
type Set struct {
	byID     map[string]*rule
	enforced division
	logOnly  division
	digest   string
	frames   frames

	// identifies is set if a policy may read the digest of the action.
	identifies bool
}

//go:embed default/*.cedar
var defaults embed.FS

// Defaults returns the policies that apply to every company, in order of id.
func Defaults() ([]policy.Statement, error) {
	files, err := fs.Glob(defaults, "default/*.cedar")
	if err != nil {
		return nil, err
	}
	all := make([]policy.Statement, 0, len(files))
	for _, file := range files {
		text, err := defaults.ReadFile(file)
		if err != nil {
			return nil, err
		}
		id := strings.TrimSuffix(path.Base(file), ".cedar")
		all = append(all, policy.Statement{ID: id, Mode: policy.Enforce, Text: string(text)})
	}
	return all, nil
}

// Compile compiles the default policies and those of a company. It returns an error for a policy that Cedar cannot parse and
// for an id that is used twice. It does not compare the policies with the schema: see package policycheck.
func Compile(company []policy.Statement) (*Set, error) {
	return compile(company, func(id string, err error) error { return fmt.Errorf("policy %q: %w", id, err) })
}

// CompileReadable compiles like Compile, and leaves out the policies that this release cannot compile any more.
func CompileReadable(company []policy.Statement) (*Set, error) {
	return compile(company, func(string, error) error { return nil })
}

// compile compiles policies. It ends with what wrong returns for a policy that cannot be compiled.
func compile(company []policy.Statement, wrong func(id string, err error) error) (*Set, error) {
	all, err := withDefaults(company)
	if err != nil {
		return nil, err
	}
	set := &Set{byID: make(map[string]*rule, len(all)), digest: digestOf(all)}
	for _, s := range all {
		if err := set.add(s); err != nil {
			if err := wrong(s.ID, err); err != nil {
				return nil, err
			}
		}
	}
	return set, nil
}

func (s *Set) add(statement policy.Statement) error {
	compiled, err := Parse(statement.Text)
	if err != nil {
		return err
	}
	if _, taken := s.byID[statement.ID]; taken {
		return fmt.Errorf("another policy has the same id")
	}
	annotations := compiled.Annotations()
	approval, approvable := annotations[Approval]
	r := &rule{
		id: statement.ID, policy: compiled, reason: string(annotations[Reason]), approval: string(approval), approvable: approvable,
	}
	s.byID[r.id] = r
	s.identifies = s.identifies || approvable || strings.Contains(statement.Text, "digest")
	into := &s.enforced
	if statement.Mode != policy.Enforce {
		into = &s.logOnly
	}
	if compiled.Effect() == cedar.Forbid {
		into.forbids = append(into.forbids, r)
	} else {
		into.permits = append(into.permits, r)
	}
	return nil
}

// Digest identifies the set: SHA-256 over the ids, modes and texts of its policies, base64url.
func (s *Set) Digest() string { return s.digest }

// DigestOf returns the digest of the set that Compile makes of a company's policies, also if they do not compile.
func DigestOf(company []policy.Statement) (string, error) {
	all, err := withDefaults(company)
	return digestOf(all), err
}

func withDefaults(company []policy.Statement) ([]policy.Statement, error) {
	all, err := Defaults()
	return append(all, company...), err
}

func digestOf(all []policy.Statement) string {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b policy.Statement) int { return strings.Compare(a.ID, b.ID) })
	h := sha256.New()
	for _, s := range all {
		fmt.Fprintf(h, "%d:%s%d:%s%d:%s", len(s.ID), s.ID, len(s.Mode), s.Mode, len(s.Text), s.Text)
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}
