// Package certify runs the checks that take a connector out of the sandbox. Each proves success or refusal: that what
// is right gets through and, just as much, that what is wrong does not.
//
// A connector is certified for its ports. A port without what it needs (a signing secret, say) is not applicable, with
// the reason, and stays closed; at least one must be proven and none may fail.
package certify

import (
	"context"
	"sync"
	"time"

	"orgops/shared/connector"
	"orgops/shared/integration"
	"orgops/shared/outbound"
	"orgops/shared/policy"
	"orgops/shared/store"
)

// Suite is the version of the checks; a report names the one it was made with.
const Suite = "1"

// Examiner runs certifications.
type Examiner struct {
	Connectors connector.Registry
	Client     *outbound.Client
	Engine     policy.Engine
	Now        func() time.Time
}

// Candidate is what is examined.
type Candidate struct {
	Company     store.Company
	Integration integration.Integration
	Secrets     integration.Secrets
}

// Run examines a candidate against its provider and its own configuration. It sends samples to the endpoint and fetches
// from the source, changes nothing, and takes at most the time of its slowest check. A connector that cannot be found is
// an error, and so is a context that ended; whatever else happens is in the report.
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
		Suite: Suite, ConfigDigest: connector.Digest(c.Integration.Config), At: e.Now().UTC(), Checks: together(suites),
	}
	report.Conclude()
	return report, ctx.Err()
}

// together runs suites side by side and keeps their order.
func together(suites []func() []integration.Check) []integration.Check {
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
