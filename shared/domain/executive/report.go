package executive

import (
	"time"

	"orgops/shared/domain/finding"
)

// Suite is the version of the checks.
const Suite = "1"

// Report describes a certification run.
type Report = finding.Report[finding.Check]

// NewReport makes the report of a run with these checks.
func NewReport(checks []finding.Check, now time.Time) Report {
	r := Report{Suite: Suite, At: now, Passed: len(checks) > 0, Checks: checks}
	for _, c := range checks {
		r.Passed = r.Passed && c.Status == finding.Pass
	}
	return r
}
