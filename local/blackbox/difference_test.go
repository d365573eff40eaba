package blackbox_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// difference is where a target cannot answer as the others do. The table is the whole of it: what it does not say must
// be equal, and what it says must be so.
type difference struct {
	target string
	where  func(step) bool
	change func(*exchange) // what the golden answer is there
	why    string
}

var differences = []difference{
	{
		target: "deployed",
		where:  func(s step) bool { return unauthenticated(s) && s.Answered.Headers["Www-Authenticate"] == "Bearer" },
		change: func(e *exchange) { e.Headers["Www-Authenticate"] = `Bearer error="invalid_token"` },
		why:    "API Gateway has one answer for a request without a token and one with a bad token",
	},
	{
		target: "deployed",
		where:  func(s step) bool { return s.Answered.Status == http.StatusNoContent },
		change: func(e *exchange) { e.Headers["Content-Type"] = "application/json" },
		why:    "API Gateway gives an answer without a content type this one, though it has no content",
	},
	{
		target: "deployed",
		where:  func(s step) bool { return s.Name == "a broken encoding" },
		change: func(e *exchange) {
			e.Headers = map[string]string{
				"Cache-Control": "no-store", "Content-Type": "application/problem+json", "X-Content-Type-Options": "nosniff", "X-Request-Id": "<request>",
			}
			e.Body = object{
				"type": "/problems/malformed", "title": "Malformed request", "status": 400, "instance": "urn:uuid:<request>",
				"detail": "the path holds a % that is not followed by two hexadecimal digits, or a character that a path cannot hold",
			}
		},
		why: "Go's HTTP server refuses such a path by itself, in plain text, before the program sees it; a function is asked",
	},
	{
		target: "deployed",
		where:  func(s step) bool { return s.Name == "a semicolon" || s.Name == "a broken query" },
		change: func(e *exchange) {
			e.Status, e.Body, e.Headers["Content-Type"] = http.StatusOK, object{"items": []any{}}, "application/json"
		},
		why: "API Gateway reads the query and hands over its parameters: what it makes of a text that is none, the function cannot see",
	},
}

// unauthenticated reports whether the company guard turned a request away for its token.
func unauthenticated(s step) bool {
	return s.Answered.Status == http.StatusUnauthorized && strings.Contains(s.Sent.Line, " /companies/")
}

// expected is what a target must answer: the golden record, and what is different there.
func expected(target string, golden []step) []step {
	steps := slices.Clone(golden)
	for _, d := range differences {
		for i, s := range steps {
			if d.target == target && s.Answered != nil && d.where(s) {
				steps[i].Answered = s.Answered.copy()
				d.change(steps[i].Answered)
			}
		}
	}
	return steps
}

// copy is an exchange that can be changed.
func (e *exchange) copy() *exchange {
	out := *e
	out.Headers = maps.Clone(e.Headers)
	return &out
}

// A row that is about no answer has gone stale.
func TestDifferences(t *testing.T) {
	golden := readGolden(t)
	for _, d := range differences {
		about := 0
		for _, steps := range golden {
			for _, s := range steps {
				if s.Answered != nil && d.where(s) {
					about++
				}
			}
		}
		if about == 0 {
			t.Errorf("no answer of %s: %s", d.target, d.why)
		}
	}
}
