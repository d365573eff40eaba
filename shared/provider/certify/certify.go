// Package certify runs the checks that take a connector out of the sandbox. Each check proves that a valid request is
// accepted or that an invalid one is refused.
//
// A connector is certified for its ports. If a port lacks something that it needs, such as a signing secret, its check is
// not applicable and the port stays closed. The report says why. At least one port must pass and none may fail.
package certify

import (
	"context"
	"sync"
	"time"

	"orgops/shared/domain/finding"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/policy"
	"orgops/shared/provider/connector"
	"orgops/shared/provider/mapping"
	"orgops/shared/storage/store"
	"orgops/shared/webhook/outbound"
)

// Suite is the version of the checks. Every report names it.
const Suite = "2"

// Examiner runs certifications.
type Examiner struct {
	Connectors connector.Registry
	Client     *outbound.Client
	Engine     policy.Engine
	Now        func() time.Time
	Mappings   *mapping.Cache
}

// Candidate holds the integration to examine.
type Candidate struct {
	Company     store.Company
	Integration integration.Integration
	Secrets     integration.Secrets // that sign
	Credentials map[string]string   // with which the source is fetched
	Base        string              // through which it is fetched, see connector.Fetch
}

// Run examines a candidate against its provider and its own configuration. It sends samples to the endpoint, fetches from
// the source and changes nothing. The checks run concurrently. Run returns an error if the connector is unknown or ctx has
// ended; the report holds every other result.
func (e Examiner) Run(ctx context.Context, c Candidate) (integration.PortReport, error) {
	conn, err := e.Connectors.Of(ctx, c.Company, c.Integration)
	if err != nil {
		return integration.PortReport{}, err
	}
	suites := []func() []integration.PortCheck{}
	var until time.Time
	if c.Integration.Has(integration.EventDeliver) {
		suites = append(suites, func() []integration.PortCheck { return e.endpoint(ctx, c) })
	}
	if inbound, ok := conn.(connector.Inbound); ok && c.Integration.Has(integration.InboundReceive) {
		suites = append(suites, func() []integration.PortCheck { return e.inbound(ctx, inbound, c) })
	}
	if source, ok := conn.(connector.Source); ok && c.Integration.Has(integration.SyncPull) {
		suites = append(suites, func() (checks []integration.PortCheck) {
			checks, until = e.source(ctx, source, c)
			return checks
		})
	}
	report := integration.PortReport{
		Report:       finding.Report[integration.PortCheck]{Suite: Suite, At: e.Now().UTC(), Checks: concurrently(suites)},
		ConfigDigest: connector.Digest(c.Integration.Config),
	}
	if c.Integration.Mapping != nil {
		report.MappingDigest = c.Integration.Mapping.Digest
	}
	if !until.IsZero() {
		report.CredentialsUntil = &until
	}
	report.Conclude()
	return report, ctx.Err()
}

// outcome is what a check found: its result, the reason, and the facts.
type outcome struct {
	status   finding.Status
	reason   string
	evidence []finding.Evidence
	remedy   string // the operation that fixes it; "" if none of this API does
}

func passed(reason string, evidence ...finding.Evidence) outcome {
	return outcome{status: finding.Pass, reason: reason, evidence: evidence}
}

func failed(reason, remedy string, evidence ...finding.Evidence) outcome {
	return outcome{status: finding.Fail, reason: reason, remedy: remedy, evidence: evidence}
}

// The operations that fix what a check found.
const (
	configure        = "configure-integration"
	rotate           = "rotate-integration-secret"
	certify          = "certify-integration" // again, when what it needs answers
	destroy          = "delete-integration-credentials"
	storeCredentials = "put-integration-credentials"
	govern           = "put-policies"
	elsewhere        = "" // the receiver's or the provider's side has to change
)

// check reports an outcome. The reference of its remedy has no company's path; see integration.PortReport.Below.
func check(c Candidate, port integration.Port, name, title string, o outcome) integration.PortCheck {
	found := integration.PortCheck{
		Check: finding.Check{ID: name, Title: title, Status: o.status, Reason: o.reason, Evidence: []finding.Evidence{}},
		Port:  port, Required: true,
	}
	found.Evidence = append(found.Evidence, o.evidence...)
	if o.remedy != "" {
		remedy := finding.Call(o.remedy, "", c.Integration.Provider)
		found.Remedy = &remedy
	}
	return found
}

// count makes the evidence of how many there are of something.
func count(name string, n int, unit string) finding.Evidence {
	return finding.Evidence{Name: name, Value: float64(n), Unit: unit}
}

// concurrently runs suites at the same time and keeps their order.
func concurrently(suites []func() []integration.PortCheck) []integration.PortCheck {
	results := make([][]integration.PortCheck, len(suites))
	var running sync.WaitGroup
	for n, suite := range suites {
		running.Go(func() { results[n] = suite() })
	}
	running.Wait()
	checks := []integration.PortCheck{}
	for _, r := range results {
		checks = append(checks, r...)
	}
	return checks
}
