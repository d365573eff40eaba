package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"orgops/shared/store"
)

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

// Reports are an integration's certification runs that are kept: the last one, and the one that its certification
// rests on. They have an item of their own because every delivery reads the integration and none reads them.
type Reports struct {
	Last   Report  `json:"last"`
	Passed *Report `json:"passed,omitempty"`
}

// ReportsEntity is the entity of the item that holds an integration's reports.
const ReportsEntity = "certification"

const reportsPrefix = "CERTIFICATION#"

// ReportsKey is the sort key of an integration's reports.
func ReportsKey(provider string) string { return reportsPrefix + provider }

// LoadReports reads an integration's reports; version 0 says that no certification has been run.
func LoadReports(ctx context.Context, c store.Company, provider string) (r Reports, version int64, err error) {
	item, err := c.Get(ctx, ReportsKey(provider), &r)
	if errors.Is(err, store.ErrNotFound) {
		return Reports{}, 0, nil
	}
	return r, item.Version, store.Fault(err, "")
}

// SaveReports is the write that stores reports over version. It stays out of the feed: the integration tells of it.
func SaveReports(c store.Company, provider string, version int64, r Reports) store.Op {
	return c.Save(ReportsKey(provider), ReportsEntity, version, r).Silent()
}

// ListReports reads the reports of all of a company's integrations, by provider.
func ListReports(ctx context.Context, c store.Company) (map[string]Reports, error) {
	all := map[string]Reports{}
	for q := (store.Query{Prefix: reportsPrefix}); ; {
		page, err := c.Query(ctx, q)
		if err != nil {
			return nil, store.Fault(err, "")
		}
		for _, item := range page.Items {
			var r Reports
			if err := json.Unmarshal(item.Body, &r); err != nil {
				return nil, fmt.Errorf("decode %s: %w", item.Key, err)
			}
			all[item.Key[len(reportsPrefix):]] = r
		}
		if q.After = page.Next; q.After == "" {
			return all, nil
		}
	}
}
