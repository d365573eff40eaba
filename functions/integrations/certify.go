package integrations

import (
	"context"
	"fmt"

	"orgops/shared/certify"
	"orgops/shared/fault"
	"orgops/shared/integration"
	"orgops/shared/projection"
	"orgops/shared/store"
	"orgops/shared/web"
)

// Report is a certification run as the API shows it.
type Report struct {
	integration.Report
	State   integration.State `json:"state" enum:"sandbox,certified" doc:"where the integration stands after it"`
	Recover *Recoverable      `json:"recover,omitempty" doc:"what was held in the sandbox, and how to have it sent"`
}

// Recoverable offers to send what was held.
type Recoverable struct {
	Held      int    `json:"held" doc:"deliveries held so far"`
	Operation string `json:"operation" example:"recover-integration"`
	Method    string `json:"method" example:"POST"`
	Href      string `json:"href"`
}

type reportOutput struct{ Body Report }

func (d Deps) certifyIntegration(ctx context.Context, in *ProviderInput) (*reportOutput, error) {
	stored, err := d.load(ctx, in.Provider)
	if err != nil {
		return nil, err
	}
	c := web.Tenant(ctx)
	secrets, _, err := integration.LoadSecrets(ctx, c, d.Vault, in.Provider)
	if err != nil {
		return nil, err
	}
	report, err := d.Examiner.Run(ctx, certify.Candidate{Company: c, Integration: stored.Integration, Secrets: secrets})
	if err != nil {
		return nil, err
	}
	i, err := d.conclude(ctx, stored, report)
	if err != nil {
		return nil, err
	}
	return d.report(ctx, i, report)
}

// conclude stores the report and, where it passed, the certification with the timer that ends it. A failed run takes
// nothing away: what was certified stays so until it expires or its configuration changes.
func (d Deps) conclude(ctx context.Context, stored integration.Stored, report integration.Report) (integration.Integration, error) {
	c, now := web.Tenant(ctx), d.Now().UTC()
	reports, version, err := integration.LoadReports(ctx, c, stored.Provider)
	if err != nil {
		return integration.Integration{}, err
	}
	reports.Last = report
	i := stored.Integration
	i.UpdatedAt = now
	ops := []store.Op{}
	if report.Passed {
		expires := now.Add(integration.CertifiedFor)
		i.State, i.SandboxedCause = integration.Certified, ""
		i.Certification = &integration.Certification{
			PassedAt: now, ExpiresAt: expires, ConfigDigest: report.ConfigDigest, Ports: report.Ports,
		}
		reports.Passed = &report
		ops = append(ops, c.Timer(expires, integration.ExpiryTimer, fmt.Sprintf("%s@%d", i.Provider, stored.Version+1)))
	}
	ops = append(ops, c.Replace(integration.Key(i.Provider), integration.Entity, stored.Version, i),
		integration.SaveReports(c, i.Provider, version, reports))
	return i, store.Fault(c.Commit(ctx, ops...), "")
}

func (d Deps) getCertification(ctx context.Context, in *ProviderInput) (*reportOutput, error) {
	stored, err := d.load(ctx, in.Provider)
	if err != nil {
		return nil, err
	}
	reports, version, err := integration.LoadReports(ctx, web.Tenant(ctx), in.Provider)
	if err != nil {
		return nil, err
	}
	if version == 0 {
		return nil, fault.Newf(fault.NotFound, "no certification of %s has been run; POST to this address to run one", in.Provider)
	}
	return d.report(ctx, stored.Integration, reports.Last)
}

func (d Deps) report(ctx context.Context, i integration.Integration, last integration.Report) (*reportOutput, error) {
	out := &reportOutput{Body: Report{Report: last, State: integration.Sandbox}}
	if i.IsCertified(d.Now()) {
		out.Body.State = integration.Certified
	}
	facts, _, err := projection.Load(ctx, web.Tenant(ctx))
	if err != nil {
		return nil, err
	}
	if held := facts.Deliveries.Endpoints[i.Provider].Held.Total(); held > 0 && out.Body.State == integration.Certified {
		out.Body.Recover = &Recoverable{
			Held: held, Operation: "recover-integration", Method: "POST", Href: href(ctx, "/integrations/%s/recover", i.Provider),
		}
	}
	return out, nil
}
