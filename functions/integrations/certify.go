package integrations

import (
	"context"

	"orgops/shared/base/fault"
	"orgops/shared/domain/integration"
	"orgops/shared/insight/projection"
	"orgops/shared/provider/certify"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// CertificationReport shows a certification run in the API.
type CertificationReport struct {
	integration.PortReport
	State   integration.State `json:"state" enum:"sandbox,certified" doc:"the integration's state after the run"`
	Recover *Recoverable      `json:"recover,omitempty" doc:"the deliveries held in the sandbox, and the operation that sends them"`
}

// Recoverable offers the operation that sends held deliveries.
type Recoverable struct {
	Held      int    `json:"held" doc:"deliveries held so far" format:"int32"`
	Operation string `json:"operation" doc:"the id of the operation that sends them" example:"recover-integration"`
	Method    string `json:"method" doc:"HTTP method" example:"POST"`
	Href      string `json:"href" doc:"path of the operation" format:"uri-reference" example:"/companies/0198c5f2-0000-7000-8000-000000000000/integrations/webhook/recover"`
}

type reportOutput struct{ Body CertificationReport }

func (d Deps) certifyIntegration(ctx context.Context, in *ProviderInput) (*reportOutput, error) {
	a, err := d.accessed(ctx, in.Provider)
	if err != nil {
		return nil, err
	}
	examiner := certify.Examiner{Connectors: d.Connectors, Client: d.Client, Engine: d.Engine, Now: d.Now, Mappings: d.mappings}
	report, err := examiner.Run(ctx, certify.Candidate{Company: web.Tenant(ctx), Integration: a.Integration, Secrets: a.secrets, Credentials: a.values, Base: a.base})
	if err != nil {
		return nil, err
	}
	i, err := d.conclude(ctx, a.Stored, report)
	if err != nil {
		return nil, err
	}
	return d.report(ctx, i, report)
}

// conclude stores the report of a run. If the run passed, conclude also stores the certification and a timer for its expiry.
// A failed run revokes nothing: the integration stays certified until the certification expires or the configuration
// changes.
func (d Deps) conclude(ctx context.Context, stored integration.Stored, report integration.PortReport) (integration.Integration, error) {
	c, now := web.Tenant(ctx), d.Now().UTC()
	reports, version, err := integration.LoadReports(ctx, c, stored.Provider)
	if err != nil {
		return integration.Integration{}, err
	}
	reports.Last = report
	i := stored.Integration
	i.UpdatedAt = now
	ops := []store.Op{}
	if until := report.CredentialsUntil; until != nil {
		var news bool
		if i, news = i.CredentialsEnd(*until); news {
			ops = i.CredentialsEnding(c, stored.Version+1)
		}
	}
	if report.Passed {
		expires := now.Add(integration.CertifiedFor)
		i.State, i.SandboxedCause = integration.Certified, ""
		i.Certification = &integration.Certification{
			PassedAt: now, ExpiresAt: expires, ConfigDigest: report.ConfigDigest, Ports: report.Ports,
		}
		reports.Passed = &report
		ops = append(ops, resume(c, &i)...)
		ops = append(ops, i.Ending(c, stored.Version+1))
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
		return nil, fault.Newf(fault.NotFound, "the certification of %s has not been run; POST to this path to run it", in.Provider)
	}
	return d.report(ctx, stored.Integration, reports.Last)
}

func (d Deps) report(ctx context.Context, i integration.Integration, last integration.PortReport) (*reportOutput, error) {
	out := &reportOutput{Body: CertificationReport{PortReport: last.Below(web.CompanyPath(ctx)), State: integration.Sandbox}}
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
