package blackbox_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// difference declares where a target cannot answer as the others do. Every other answer must equal the golden one, and an
// answer that a row applies to must be the declared one.
type difference struct {
	target string
	where  func(step) bool
	change func(*message) // turns the golden answer into the target's
	why    string
}

var differences = []difference{
	{
		target: "deployed",
		where:  func(s step) bool { return unauthenticated(s) && s.Answered.Headers["Www-Authenticate"] == "Bearer" },
		change: func(e *message) { e.Headers["Www-Authenticate"] = `Bearer error="invalid_token"` },
		why:    "API Gateway has one answer for a request without a token and one with a bad token",
	},
	{
		target: "deployed",
		where: func(s step) bool {
			return s.Answered.Status == http.StatusNoContent || s.Answered.Status == http.StatusFound && s.Answered.Headers["Content-Type"] == ""
		},
		change: func(e *message) { e.Headers["Content-Type"] = "application/json" },
		why:    "API Gateway gives this content type to an answer that has none, even to one without content",
	},
	{
		target: "deployed",
		where:  func(s step) bool { return s.Name == "a broken encoding" },
		change: func(e *message) {
			e.Headers = map[string]string{
				"Cache-Control": "no-store", "Content-Type": "application/problem+json", "X-Content-Type-Options": "nosniff", "X-Request-Id": "<request>",
			}
			e.Body = object{
				"type": "/problems/malformed", "title": "Malformed request", "status": 400, "instance": "urn:uuid:<request>",
				"detail": "the path holds a % that is not followed by two hexadecimal digits, or a character that a path cannot hold",
			}
		},
		why: "Go's HTTP server refuses such a path in plain text before the program sees it; the gateway passes it to a function",
	},
	{
		target: "deployed",
		where:  func(s step) bool { return s.Name == "a semicolon" || s.Name == "a broken query" },
		change: func(e *message) {
			e.Status, e.Body, e.Headers["Content-Type"] = http.StatusOK, object{"items": []any{}}, "application/json"
		},
		why: "API Gateway parses the query and passes on its parameters; the function cannot see that the text was malformed",
	},
}

// unauthenticated reports whether the company guard refused a request for its token.
func unauthenticated(s step) bool {
	return s.Answered.Status == http.StatusUnauthorized && strings.Contains(s.Sent.Line, " /companies/")
}

// appliesTo reports whether s is a step that the target answers differently.
func (d difference) appliesTo(s step) bool { return s.Answered != nil && d.where(s) }

// applyDifferences turns golden steps into those that a target must answer.
func applyDifferences(target string, golden []step) {
	for _, d := range differences {
		for _, s := range golden {
			if d.target == target && d.appliesTo(s) {
				d.change(s.Answered)
			}
		}
	}
}

// TestDifferences fails for a row that applies to no golden step.
func TestDifferences(t *testing.T) {
	var golden []step
	for _, tt := range journeys {
		golden = append(golden, readGolden(t, tt.name)...)
	}
	for _, d := range differences {
		if !slices.ContainsFunc(golden, d.appliesTo) {
			t.Errorf("this difference of the target %s applies to no golden step; delete it: %s", d.target, d.why)
		}
	}
}
