package integrations

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/domain/integration"
	"orgops/shared/insight/projection"
	"orgops/shared/web"
)

// Integration shows an integration in the API.
type Integration struct {
	Provider      string                       `json:"provider" doc:"its name in paths: webhook, webhook-{name}, github or feed" example:"webhook"`
	Kind          string                       `json:"kind" doc:"the connector's kind" example:"webhook"`
	State         integration.State            `json:"state" doc:"certified: events flow; sandbox: events are checked and held" enum:"sandbox,certified"`
	Enabled       bool                         `json:"enabled" doc:"false: nothing goes in or out"`
	Disabled      *integration.Disabled        `json:"disabled,omitempty" doc:"since when and why"`
	URL           string                       `json:"url,omitempty" doc:"the endpoint, or the feed" example:"https://example.com/hooks" format:"uri"`
	Events        []string                     `json:"events,omitempty" doc:"the events that the endpoint subscribes to" nullable:"false" example:"[\"memory.updated\"]"`
	Config        json.RawMessage              `json:"config" doc:"as configured, without secrets"`
	Permissions   []integration.Port           `json:"permissions" nullable:"false" doc:"the ports that the integration requests; a certification opens the ports that its run proved"`
	Credentials   *integration.CredentialNames `json:"credentials,omitempty" doc:"the names of the stored credentials; absent if none are stored"`
	Certification *Certification               `json:"certification,omitempty" doc:"the valid certification; absent if there is none"`
	Sandboxed     string                       `json:"sandboxed,omitempty" enum:"configuration,expired,failing" doc:"why it returned to the sandbox"`
	Health        Health                       `json:"health" doc:"its recent results"`
	SecretAt      *time.Time                   `json:"secretAt,omitempty" doc:"when the newest signing secret was stored"`
	Version       int64                        `json:"version" doc:"increments with each change" example:"7"`
	CreatedAt     time.Time                    `json:"createdAt" doc:"when it was configured first"`
	UpdatedAt     time.Time                    `json:"updatedAt" doc:"when it last changed"`
}

// Configured answers a configuration. Only this answer and a rotation's show a signing secret, and only a generated one.
type Configured struct {
	Integration
	SigningSecret string `json:"signingSecret,omitempty" doc:"the signing secret if it was generated; shown only once"`
}

// Certification shows a passed certification in the API.
type Certification struct {
	PassedAt  time.Time           `json:"passedAt" doc:"when it passed"`
	ExpiresAt time.Time           `json:"expiresAt" doc:"when it ends, 90 days later"`
	Ports     []integration.Port  `json:"ports" nullable:"false" doc:"the ports that the run proved"`
	Report    *integration.Report `json:"report,omitempty" doc:"the findings of its run"`
}

// Health summarises the recent results of an integration.
type Health struct {
	Status         string     `json:"status" enum:"pass,fail,unknown" doc:"fail: failing now; unknown: no result yet"`
	LastSuccessAt  *time.Time `json:"lastSuccessAt,omitempty" doc:"last delivery or sync that worked"`
	LastFailureAt  *time.Time `json:"lastFailureAt,omitempty" doc:"last delivery attempt or sync that failed"`
	SuccessRate24h *float64   `json:"successRate24h" nullable:"true" doc:"share of the delivery attempts of the last 24 hours that succeeded; null: no attempts"`
}

// IntegrationList lists every integration of a company, by name.
type IntegrationList struct {
	Items []Integration `json:"items" doc:"every integration, by provider" nullable:"false"`
}

type listOutput struct{ Body IntegrationList }

func (d Deps) listIntegrations(ctx context.Context, _ *struct{}) (*listOutput, error) {
	c, caller := web.Tenant(ctx), web.CallerOf(ctx)
	all, err := integration.List(ctx, c)
	if err != nil {
		return nil, err
	}
	facts, _, err := projection.Load(ctx, c)
	if err != nil {
		return nil, err
	}
	reports, err := integration.ListReports(ctx, c)
	if err != nil {
		return nil, err
	}
	out := &listOutput{}
	out.Body.Items = make([]Integration, 0, len(all))
	for _, stored := range all {
		if caller.Reaches(stored.Provider) {
			out.Body.Items = append(out.Body.Items, d.show(ctx, stored, facts, reports[stored.Provider]))
		}
	}
	return out, nil
}

type changedOutput struct {
	ETag string `header:"ETag"`
	Body Integration
}

type getInput struct {
	ProviderInput
	web.IfNoneMatch
}

func (d Deps) getIntegration(ctx context.Context, in *getInput) (*web.Tagged[Integration], error) {
	c := web.Tenant(ctx)
	stored, err := d.find(ctx, in.Provider)
	if err != nil {
		return nil, err
	}
	facts, _, err := projection.Load(ctx, c)
	if err != nil {
		return nil, err
	}
	etag := d.etag(stored, facts)
	if in.Matches(etag) {
		return web.NotModified[Integration](etag), nil
	}
	reports, _, err := integration.LoadReports(ctx, c, in.Provider)
	if err != nil {
		return nil, err
	}
	return web.WithETag(etag, d.show(ctx, stored, facts, reports)), nil
}

// load reads a configured integration that can be used.
func (d Deps) load(ctx context.Context, provider string) (integration.Stored, error) {
	stored, err := d.find(ctx, provider)
	if err != nil {
		return stored, err
	}
	return stored, stored.Usable()
}

// find reads a configured integration, even a damaged one. The error for an unknown provider lists the known ones.
func (d Deps) find(ctx context.Context, provider string) (integration.Stored, error) {
	if _, err := d.Connectors.Find(provider); err != nil {
		return integration.Stored{}, err
	}
	i, version, err := integration.Load(ctx, web.Tenant(ctx), provider)
	return integration.Stored{Integration: i, Version: version}, err
}

// checkEndpoint returns nil if the integration is configured and receives events.
func (d Deps) checkEndpoint(ctx context.Context, provider string) error {
	stored, err := d.load(ctx, provider)
	if err == nil && !stored.Has(integration.EventDeliver) {
		err = fault.Newf(fault.Conflict, "%s receives no events; only webhook integrations have deliveries", provider)
	}
	return err
}

// answer shows an integration that was just written.
func (d Deps) answer(ctx context.Context, s integration.Stored) (*changedOutput, error) {
	facts, _, err := projection.Load(ctx, web.Tenant(ctx))
	if err != nil {
		return nil, err
	}
	reports, _, err := integration.LoadReports(ctx, web.Tenant(ctx), s.Provider)
	if err != nil {
		return nil, err
	}
	return &changedOutput{ETag: d.etag(s, facts), Body: d.show(ctx, s, facts, reports)}, nil
}

// revision identifies one version of one integration. It includes the time of creation, because an integration that was
// deleted and configured again counts its versions from 1 again.
func revision(s integration.Stored) string {
	if s.Version == 0 {
		return ""
	}
	return fmt.Sprintf("%d-%x", s.Version, s.CreatedAt.UnixMilli())
}

// etag covers everything that an integration's body depends on: the item, the context, the state and the hour. The state
// changes with time, because a certification expires. The hour counts, because the success rate covers the last 24 hours.
func (d Deps) etag(s integration.Stored, facts projection.Context) string {
	now := d.Now()
	state := integration.Sandbox
	if s.IsCertified(now) {
		state = integration.Certified
	}
	return web.ETag(fmt.Sprintf("%s.%d.%d.%s", revision(s), facts.ContextVersion, now.Unix()/3600, state))
}

func (d Deps) show(ctx context.Context, s integration.Stored, facts projection.Context, reports integration.Reports) Integration {
	now := d.Now()
	var conf struct {
		URL    string   `json:"url"`
		Events []string `json:"events"`
	}
	// A stored configuration is always an object; not every connector has url and events.
	_ = json.Unmarshal(s.Config, &conf)
	out := Integration{
		Provider: s.Provider, Kind: s.Kind, State: integration.Sandbox, Enabled: s.Enabled, Disabled: s.Disabled,
		URL: conf.URL, Events: conf.Events, Config: s.Config, Permissions: s.Permissions, Credentials: s.Credentials,
		Sandboxed: s.SandboxedCause, Health: health(facts, s.Provider, now), SecretAt: s.SecretAt,
		Version: s.Version, CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt,
	}
	switch {
	case s.IsCertified(now):
		out.State = integration.Certified
		out.Certification = &Certification{
			PassedAt: s.Certification.PassedAt, ExpiresAt: s.Certification.ExpiresAt, Ports: s.Certification.Ports,
		}
		if reports.Passed != nil {
			report := reports.Passed.Below(web.CompanyPath(ctx))
			out.Certification.Report = &report
		}
	case s.State == integration.Certified: // expired, but the ticker has not updated it yet
		out.Sandboxed = integration.SandboxedByExpiry
	}
	return out
}

func health(facts projection.Context, provider string, now time.Time) Health {
	f := facts.Integrations[provider]
	h := Health{Status: "unknown", LastSuccessAt: moment(f.LastSuccessAt), LastFailureAt: moment(f.LastFailureAt)}
	switch {
	case !f.FailingSince.IsZero():
		h.Status = "fail"
	case !f.LastSuccessAt.IsZero():
		h.Status = "pass"
	}
	if day := facts.Deliveries.Endpoints[provider].Hourly.Since(now.Add(-24 * time.Hour)); day.Total() > 0 {
		rate := 1 - day.FailureRatio()
		h.SuccessRate24h = &rate
	}
	return h
}

func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
