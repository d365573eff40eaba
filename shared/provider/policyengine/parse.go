package policyengine

import (
	"fmt"
	"strings"

	"github.com/cedar-policy/cedar-go"

	"orgops/shared/domain/policy"
)

// maxBrackets limits the brackets of one policy, and so the depth at which the parser and the evaluation call themselves.
const maxBrackets = 400

// Forbids reports whether a policy forbids. A text that is no policy may have been a forbid in an older release.
func Forbids(text string) bool {
	p, err := Parse(text)
	return err != nil || p.Effect() == cedar.Forbid
}

// Parse parses the text of one policy. It returns an error for a text with no policy or with several, and for one beyond
// policy.MaxText or with more than 400 opening brackets.
func Parse(text string) (*cedar.Policy, error) {
	if len(text) > policy.MaxText {
		return nil, fmt.Errorf("the text has %d bytes; the limit is %d", len(text), policy.MaxText)
	}
	if n := strings.Count(text, "(") + strings.Count(text, "[") + strings.Count(text, "{"); n > maxBrackets {
		return nil, fmt.Errorf("the text opens %d brackets; the limit is %d", n, maxBrackets)
	}
	list, err := cedar.NewPolicyListFromBytes("", []byte(text))
	if err != nil {
		return nil, err
	}
	if len(list) != 1 {
		return nil, fmt.Errorf("the text has %d policies; write each policy under its own id", len(list))
	}
	return list[0], nil
}
