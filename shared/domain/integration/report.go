package integration

import (
	"context"
	"errors"
	"time"

	"orgops/shared/domain/finding"
	"orgops/shared/storage/store"
)

// Result says the outcome of a certification check.
type Result string

// The results.
const (
	Pass          Result = "pass"
	Fail          Result = "fail"
	NotApplicable Result = "not-applicable"
	Warn          Result = "warn" // opens no port and closes none
)

// Check reports one check of a certification run. What it shares with a check of health or readiness has the same name and
// meaning there.
type Check struct {
	ID       string             `json:"id" doc:"stable name of the check" example:"refuses-bad-signature"`
	Title    string             `json:"title" doc:"the check in words" example:"Refuses a request with a bad signature"`
	Port     Port               `json:"port" doc:"the port that this check opens"`
	Status   Result             `json:"status" doc:"what was found" enum:"pass,warn,fail,not-applicable"`
	Reason   string             `json:"reason" doc:"what was found and, if it failed, what to do"`
	Evidence []finding.Evidence `json:"evidence" nullable:"false" doc:"the facts behind it"`
	Remedy   *finding.Remedy    `json:"remedy,omitempty" doc:"the operation that fixes it"`
	Required bool               `json:"required" doc:"true if the port opens only when this check passes; otherwise not-applicable is enough"`
}

// Report describes a certification run.
type Report struct {
	Suite         string    `json:"suite" doc:"version of the checks" example:"2"`
	ConfigDigest  string    `json:"configDigest" doc:"SHA-256 of the configuration that was tested, base64url"`
	MappingDigest string    `json:"mappingDigest,omitempty" doc:"SHA-256 of the company's mapping at that time, base64url; absent if the provider's default applied"`
	At            time.Time `json:"at" doc:"when the certification ran"`
	Passed        bool      `json:"passed" doc:"whether no check failed and at least one port is proven"`
	Ports         []Port    `json:"ports" doc:"the proven ports: each has a passed check, no failed check, and no required check that did not apply"`
	Checks        []Check   `json:"checks" doc:"the checks and their results" nullable:"false"`

	CredentialsUntil *time.Time `json:"credentialsUntil,omitempty" doc:"when the credentials expire; absent if the provider does not say so"`
}

// Conclude fills Passed and Ports. A port is proven when at least one of its checks passed, none failed, and every required
// check applied. The run passes when no check failed and at least one port is proven.
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

// Below returns the report with references that begin with path, the company's path. Stored reports hold references
// without it, because the path depends on the request. A report of a former version has no evidence; Below gives it a list.
func (r Report) Below(path string) Report {
	checks := make([]Check, len(r.Checks))
	for n, c := range r.Checks {
		c.Evidence = append([]finding.Evidence{}, c.Evidence...)
		for i := range c.Evidence {
			if c.Evidence[i].Href != "" {
				c.Evidence[i].Href = path + c.Evidence[i].Href
			}
		}
		if c.Remedy != nil {
			remedy := *c.Remedy
			remedy.Href, c.Remedy = path+remedy.Href, &remedy
		}
		checks[n] = c
	}
	r.Checks = checks
	return r
}

// Reports keeps two certification runs of an integration: the last one, and the one behind its certification. They have
// their own item because every delivery reads the integration and none reads them.
type Reports struct {
	Last   Report  `json:"last"`
	Passed *Report `json:"passed,omitempty"`
}

// ReportsEntity names the entity of the item that holds an integration's reports.
const ReportsEntity = "certification"

const reportsPrefix = "CERTIFICATION#"

// ReportsKey returns the sort key of an integration's reports.
func ReportsKey(provider string) string { return reportsPrefix + provider }

// LoadReports reads an integration's reports. It returns version 0 and no error when no certification has been run.
func LoadReports(ctx context.Context, c store.Company, provider string) (r Reports, version int64, err error) {
	item, err := c.Get(ctx, ReportsKey(provider), &r)
	if errors.Is(err, store.ErrNotFound) {
		return Reports{}, 0, nil
	}
	return r, item.Version, store.Fault(err, "")
}

// SaveReports returns the write that replaces the reports at version (0: none yet). The write stays out of the change feed,
// because consumers see the change of the integration.
func SaveReports(c store.Company, provider string, version int64, r Reports) store.Op {
	return c.Save(ReportsKey(provider), ReportsEntity, version, r).Quietly()
}

// ListReports reads the reports of all integrations of a company and returns them by provider.
func ListReports(ctx context.Context, c store.Company) (map[string]Reports, error) {
	all := map[string]Reports{}
	for item, err := range c.Items(ctx, store.Query{Prefix: reportsPrefix}) {
		if err != nil {
			return nil, store.Fault(err, "")
		}
		var r Reports
		if err := item.Decode(&r); err != nil {
			return nil, err
		}
		all[item.Key[len(reportsPrefix):]] = r
	}
	return all, nil
}
