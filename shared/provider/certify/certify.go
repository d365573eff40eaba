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

	"orgops/shared/domain/integration"
	"orgops/shared/domain/policy"
	"orgops/shared/provider/connector"
	"orgops/shared/storage/store"
	"orgops/shared/webhook/outbound"
)

// Suite is the version of the checks. Every report names it.
const Suite = "1"

// Examiner runs certifications.
type Examiner struct {
	Connectors connector.Registry
	Client     *outbound.Client
	Engine     policy.Engine
	Now        func() time.Time
}

// Candidate holds the integration to examine.
type Candidate struct {
	Company     store.Company
	Integration integration.Integration
	Secrets     integration.Secrets
}

// Run examines a candidate against its provider and its own configuration. It sends samples to the endpoint, fetches from
// the source and changes nothing. The checks run concurrently. Run returns an error if the connector is unknown or ctx has
// ended; the report holds every other result.
func (e Examiner) Run(ctx context.Context, c Candidate) (integration.Report, error) {
	conn, err := e.Connectors.Find(c.Integration.Provider)
	if err != nil {
		return integration.Report{}, err
	}
	suites := []func() []integration.Check{}
	if c.Integration.Has(integration.EventDeliver) {
		suites = append(suites, func() []integration.Check { return e.endpoint(ctx, c) })
	}
	if inbound, ok := conn.(connector.Inbound); ok && c.Integration.Has(integration.InboundReceive) {
		suites = append(suites, func() []integration.Check { return e.inbound(ctx, inbound, c) })
	}
	if source, ok := conn.(connector.Source); ok && c.Integration.Has(integration.SyncPull) {
		suites = append(suites, func() []integration.Check { return e.source(ctx, source, c) })
	}
	report := integration.Report{
		Suite: Suite, ConfigDigest: connector.Digest(c.Integration.Config), At: e.Now().UTC(), Checks: concurrently(suites),
	}
	report.Conclude()
	return report, ctx.Err()
}

// concurrently runs suites at the same time and keeps their order.
func concurrently(suites []func() []integration.Check) []integration.Check {
	results := make([][]integration.Check, len(suites))
	var running sync.WaitGroup
	for n, suite := range suites {
		running.Go(func() { results[n] = suite() })
	}
	running.Wait()
	checks := []integration.Check{}
	for _, r := range results {
		checks = append(checks, r...)
	}
	return checks
}
