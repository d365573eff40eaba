package executive

import (
	"time"

	"orgops/shared/domain/finding"
)

// Result says the outcome of a certification check.
type Result string

// The results.
const (
	Pass Result = "pass"
	Fail Result = "fail"
)

// Check reports one check of a certification run.
type Check struct {
	ID       string             `json:"id" doc:"stable name of the check" example:"refuses-undeclared-actions"`
	Title    string             `json:"title" doc:"the check in words" example:"The policies refuse an action that it does not declare"`
	Status   Result             `json:"status" enum:"pass,fail" doc:"what was found"`
	Reason   string             `json:"reason" doc:"what was found and, if it failed, what to do"`
	Evidence []finding.Evidence `json:"evidence" nullable:"false" doc:"the facts behind it"`
	Remedy   *finding.Remedy    `json:"remedy,omitempty" doc:"the operation that fixes it"`
}

// Suite is the version of the checks.
const Suite = "1"

// Report describes a certification run.
type Report struct {
	Suite  string    `json:"suite" doc:"version of the checks" example:"1"`
	At     time.Time `json:"at" doc:"when the certification ran"`
	Passed bool      `json:"passed" doc:"whether every check passed"`
	Checks []Check   `json:"checks" nullable:"false" doc:"the checks and their results"`
}

// NewReport makes the report of a run with these checks.
func NewReport(checks []Check, now time.Time) Report {
	r := Report{Suite: Suite, At: now, Passed: len(checks) > 0, Checks: checks}
	for _, c := range checks {
		r.Passed = r.Passed && c.Status == Pass
	}
	return r
}

// Below returns the report with references that begin with path, the company's path. Stored reports hold references without
// it, because the path depends on the request.
func (r Report) Below(path string) Report {
	checks := make([]Check, len(r.Checks))
	for n, c := range r.Checks {
		if c.Remedy != nil {
			remedy := *c.Remedy
			remedy.Href, c.Remedy = path+remedy.Href, &remedy
		}
		checks[n] = c
	}
	r.Checks = checks
	return r
}
