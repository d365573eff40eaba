package integration

import (
	"context"
	"errors"
	"time"

	"orgops/shared/domain/finding"
	"orgops/shared/storage/store"
)

// PortCheck reports one check of a certification run, which opens a port.
type PortCheck struct {
	finding.Check
	Port     Port `json:"port" doc:"the port that this check opens"`
	Required bool `json:"required" doc:"true if the port opens only when this check passes; otherwise not-applicable is enough"`
}

// Below returns the check with references that begin with path, the company's path.
func (c PortCheck) Below(path string) PortCheck {
	c.Check = c.Check.Below(path)
	return c
}

// PortReport describes a certification run.
type PortReport struct {
	finding.Report[PortCheck]
	ConfigDigest  string `json:"configDigest" doc:"SHA-256 of the configuration that was tested, base64url"`
	MappingDigest string `json:"mappingDigest,omitempty" doc:"SHA-256 of the company's mapping at that time, base64url; absent if the provider's default applied"`
	Ports         []Port `json:"ports" doc:"the proven ports: each has a passed check, no failed check, and no required check that did not apply"`

	CredentialsUntil *time.Time `json:"credentialsUntil,omitempty" doc:"when the credentials expire; absent if the provider does not say so"`
}

// Below returns the report with references that begin with path, the company's path.
func (r PortReport) Below(path string) PortReport {
	r.Report = r.Report.Below(path)
	return r
}

// Conclude fills Passed and Ports. A port is proven when at least one of its checks passed, none failed, and every required
// check applied. The run passes when no check failed and at least one port is proven.
func (r *PortReport) Conclude() {
	closed, seen := map[Port]bool{}, map[Port]bool{}
	failed := false
	for _, c := range r.Checks {
		failed = failed || c.Status == finding.Fail
		if c.Status == finding.Pass {
			seen[c.Port] = true
		}
		if c.Status == finding.Fail || c.Status == finding.NotApplicable && c.Required {
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

// Reports keeps two certification runs of an integration: the last one, and the one behind its certification. They have
// their own item because every arrival reads the integration and none reads them.
type Reports struct {
	Last   PortReport  `json:"last"`
	Passed *PortReport `json:"passed,omitempty"`
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
