package finding

import "time"

// Status says the outcome of a check.
type Status string

// The outcomes. A certification knows no unknown outcome, and Warn there opens no port and closes none. In an assessment, Unknown
// never counts as passed: it lowers coverage and the lower bound.
const (
	Pass          Status = "pass"
	Warn          Status = "warn"
	Fail          Status = "fail"
	Unknown       Status = "unknown"
	NotApplicable Status = "not-applicable"
)

// Check reports one check: of health, of readiness or of a certification. Where such a check has more to say, its type embeds
// this one.
type Check struct {
	ID       string     `json:"id" doc:"stable name of the check" example:"webhook-deliveries"`
	Title    string     `json:"title" doc:"the check in words" example:"Webhook deliveries"`
	Status   Status     `json:"status" doc:"outcome of the check" enum:"pass,warn,fail,unknown,not-applicable"`
	Reason   string     `json:"reason" doc:"the finding, the rule that it was compared with and, after a failure, what to do" example:"no delivery waits"`
	Evidence []Evidence `json:"evidence" nullable:"false" doc:"the facts behind the outcome"`
	Remedy   *Remedy    `json:"remedy,omitempty" doc:"the operation that fixes the problem"`
}

// Below returns the check with references that begin with path, the company's path, and with a list of evidence.
func (c Check) Below(path string) Check {
	c.Evidence = append([]Evidence{}, c.Evidence...)
	for n := range c.Evidence {
		if c.Evidence[n].Href != "" {
			c.Evidence[n].Href = path + c.Evidence[n].Href
		}
	}
	if c.Remedy != nil {
		remedy := *c.Remedy
		remedy.Href, c.Remedy = path+remedy.Href, &remedy
	}
	return c
}

// Report describes a certification run, whose checks are of type C.
type Report[C interface{ Below(path string) C }] struct {
	Suite  string    `json:"suite" doc:"version of the checks" example:"2"`
	At     time.Time `json:"at" doc:"when the certification ran"`
	Passed bool      `json:"passed" doc:"whether the run certifies: no check failed, and something was proven"`
	Checks []C       `json:"checks" nullable:"false" doc:"the checks and their results"`
}

// Below returns the report with references that begin with path, the company's path. Stored reports hold references without
// it, because the path depends on the request.
func (r Report[C]) Below(path string) Report[C] {
	checks := make([]C, 0, len(r.Checks))
	for _, c := range r.Checks {
		checks = append(checks, c.Below(path))
	}
	r.Checks = checks
	return r
}
