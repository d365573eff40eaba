package integration

import "time"

// Result is the outcome of a certification check.
type Result string

// The results.
const (
	Pass          Result = "pass"
	Fail          Result = "fail"
	NotApplicable Result = "not-applicable"
)

// Check is one thing that a certification run proved, or why it did not have to.
type Check struct {
	ID       string `json:"id" example:"refuses-bad-signature"`
	Title    string `json:"title"`
	Port     Port   `json:"port" doc:"the port that this check opens"`
	Status   Result `json:"status" enum:"pass,fail,not-applicable"`
	Reason   string `json:"reason" doc:"what was seen, and what to do where it failed"`
	Required bool   `json:"required"`
}

// Report is a certification run.
type Report struct {
	Suite        string    `json:"suite" doc:"version of the checks" example:"1"`
	ConfigDigest string    `json:"configDigest" doc:"SHA-256 of the configuration that was tested, base64url"`
	At           time.Time `json:"at"`
	Passed       bool      `json:"passed"`
	Ports        []Port    `json:"ports" doc:"the ports that all of their checks passed"`
	Checks       []Check   `json:"checks"`
}

// Conclude fills Passed and Ports: a port is proven when it has checks and none of them failed or was not
// applicable while required; the run passes when nothing failed and at least one port is proven.
func (r *Report) Conclude() {
	closed, seen := map[Port]bool{}, map[Port]bool{}
	failed := false
	for _, c := range r.Checks {
		failed = failed || c.Status == Fail
		if c.Status == Pass {
			seen[c.Port] = true
		}
		if c.Status == Fail || c.Status == NotApplicable && c.Required {
			closed[c.Port] = true
		}
	}
	r.Ports = []Port{}
	for _, c := range r.Checks {
		if seen[c.Port] && !closed[c.Port] && !has(r.Ports, c.Port) {
			r.Ports = append(r.Ports, c.Port)
		}
	}
	r.Passed = !failed && len(r.Ports) > 0
}
