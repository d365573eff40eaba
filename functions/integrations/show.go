package integrations

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"orgops/shared/fault"
	"orgops/shared/integration"
	"orgops/shared/projection"
	"orgops/shared/web"
)

// Integration is an integration as the API shows it.
type Integration struct {
	Provider      string                       `json:"provider" example:"webhook"`
	Kind          string                       `json:"kind" doc:"the connector behind it" example:"webhook"`
	State         integration.State            `json:"state" enum:"sandbox,certified"`
	Enabled       bool                         `json:"enabled"`
	Disabled      *integration.Disabled        `json:"disabled,omitempty" doc:"since when and why"`
	URL           string                       `json:"url,omitempty" example:"https://example.com/hooks"`
	Events        []string                     `json:"events,omitempty" nullable:"false" example:"[\"memory.updated\"]"`
	Config        json.RawMessage              `json:"config" doc:"as configured, without secrets"`
	Permissions   []integration.Port           `json:"permissions" nullable:"false" doc:"the ports it asks for; a certification opens those that it proves"`
	Credentials   *integration.CredentialNames `json:"credentials" doc:"which credentials the vault holds; null: none"`
	Certification *Certification               `json:"certification" doc:"null: not certified"`
	Sandboxed     string                       `json:"sandboxed,omitempty" enum:"configuration,expired,failing" doc:"why it is back in the sandbox"`
	Health        Health                       `json:"health"`
	SecretAt      *time.Time                   `json:"secretAt,omitempty" doc:"when the newest signing secret was made"`
	Version       int64                        `json:"version"`
	CreatedAt     time.Time                    `json:"createdAt"`
	UpdatedAt     time.Time                    `json:"updatedAt"`
}

// Configured is the answer to a configuration: the one place where a signing secret is shown, and only one made here.
type Configured struct {
	Integration
	SigningSecret string `json:"signingSecret,omitempty" doc:"the signing secret where it was made here: shown this once"`
}

// Certification is a passed certification, as the API shows it.
type Certification struct {
	PassedAt  time.Time           `json:"passedAt"`
	ExpiresAt time.Time           `json:"expiresAt"`
	Ports     []integration.Port  `json:"ports" nullable:"false" doc:"what was proven"`
	Report    *integration.Report `json:"report,omitempty"`
}

// Health is how an integration has been doing.
type Health struct {
	Status         string     `json:"status" enum:"pass,fail,unknown" doc:"fail: failing now; unknown: nothing has happened yet"`
	LastSuccessAt  *time.Time `json:"lastSuccessAt,omitempty"`
	LastFailureAt  *time.Time `json:"lastFailureAt,omitempty"`
	SuccessRate24h *float64   `json:"successRate24h" nullable:"true" doc:"share of the last 24 hours' delivery attempts that arrived; null: there were none"`
}

type listOutput struct {
	Body struct {
		Items []Integration `json:"items" nullable:"false"`
	}
}

func (d Deps) listIntegrations(ctx context.Context, _ *struct{}) (*listOutput, error) {
	c := web.Tenant(ctx)
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
		out.Body.Items = append(out.Body.Items, d.show(stored, facts, reports[stored.Provider]))
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
	stored, err := d.load(ctx, in.Provider)
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
	return web.WithETag(etag, d.show(stored, facts, reports)), nil
}

// load is a configured integration; an unknown provider lists the known ones.
func (d Deps) load(ctx context.Context, provider string) (integration.Stored, error) {
	if _, err := d.Connectors.Find(provider); err != nil {
		return integration.Stored{}, err
	}
	i, version, err := integration.Load(ctx, web.Tenant(ctx), provider)
	return integration.Stored{Integration: i, Version: version}, err
}

// checkEndpoint is nil for a configured integration that events are sent to.
func (d Deps) checkEndpoint(ctx context.Context, provider string) error {
	stored, err := d.load(ctx, provider)
	if err == nil && !stored.Has(integration.EventDeliver) {
		err = fault.Newf(fault.Conflict, "no events are sent to %s; only webhook integrations have deliveries", provider)
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
	return &changedOutput{ETag: d.etag(s, facts), Body: d.show(s, facts, reports)}, nil
}

// etag names all that an integration's body depends on: the item, the context, and the two things that move with time
// alone, the state (a certification ends) and the hour (the success rate looks back from it).
func (d Deps) etag(s integration.Stored, facts projection.Context) string {
	now := d.Now()
	state := integration.Sandbox
	if s.IsCertified(now) {
		state = integration.Certified
	}
	return web.ETag(fmt.Sprintf("%d.%d.%d.%s", s.Version, facts.ContextVersion, now.Unix()/3600, state))
}

func (d Deps) show(s integration.Stored, facts projection.Context, reports integration.Reports) Integration {
	now := d.Now()
	var conf struct {
		URL    string   `json:"url"`
		Events []string `json:"events"`
	}
	// A configuration that is not an object was never stored; url and events are there only where a connector has them.
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
			PassedAt: s.Certification.PassedAt, ExpiresAt: s.Certification.ExpiresAt, Ports: s.Certification.Ports, Report: reports.Passed,
		}
	case s.State == integration.Certified: // the ticker has not come by yet
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
