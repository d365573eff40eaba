package integrations

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/domain/arrival"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/selection"
	"orgops/shared/insight/projection"
	"orgops/shared/web"
)

// Integration shows an integration in the API.
type Integration struct {
	Provider      string                       `json:"provider" doc:"its name in paths: a kind such as github, or a kind and a name such as github-{name}" example:"webhook"`
	Kind          string                       `json:"kind" doc:"the connector's kind" example:"webhook"`
	Title         string                       `json:"title,omitempty" doc:"what people call it; absent: nothing but its name" example:"Shop of the EU"`
	State         integration.State            `json:"state" doc:"certified: events flow; sandbox: events are checked and held" enum:"sandbox,certified"`
	Enabled       bool                         `json:"enabled" doc:"false: nothing goes in or out"`
	Disabled      *integration.Disabled        `json:"disabled,omitempty" doc:"since when and why"`
	URL           string                       `json:"url,omitempty" doc:"the endpoint, or the feed" example:"https://example.com/hooks" format:"uri"`
	Events        []string                     `json:"events,omitempty" doc:"the events that the endpoint subscribes to" nullable:"false" example:"[\"memory.updated\"]"`
	Config        json.RawMessage              `json:"config" doc:"as configured, without secrets"`
	Permissions   []integration.Port           `json:"permissions" nullable:"false" doc:"the ports that the integration requests; a certification opens the ports that its run proved"`
	Place         *integration.Place           `json:"place,omitempty" doc:"the repository or team that the configuration names, as the provider's webhooks tell; after it is renamed its webhooks still count, and its new name is here"`
	Credentials   *integration.CredentialNames `json:"credentials,omitempty" doc:"the names of the stored credentials; absent if none are stored"`
	Connection    *integration.Connection      `json:"connection,omitempty" doc:"the access that a user has given at the provider; absent: the credentials, if any, were stored by hand"`
	Certification *Certification               `json:"certification,omitempty" doc:"the valid certification; absent if there is none"`
	Sandboxed     string                       `json:"sandboxed,omitempty" enum:"configuration,expired,failing" doc:"why it returned to the sandbox"`
	Health        Health                       `json:"health" doc:"its recent results"`
	Paused        *delivery.Pause              `json:"paused,omitempty" doc:"of an endpoint: why it gets no attempts now, and until when; its deliveries wait, and resume-integration ends the pause"`
	Selected      []selection.Counts           `json:"selected,omitempty" doc:"of an endpoint with a filter or a transformation: what became of the events of the last days, the latest day first; only get-integration shows it"`
	Schedule      *Schedule                    `json:"schedule,omitempty" doc:"how often it is synced without a request; absent: only on request"`
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

// Schedule shows the schedule of an integration's syncs in the API.
type Schedule struct {
	Every    string     `json:"every" doc:"as configured" example:"1h"`
	PausedAt *time.Time `json:"pausedAt,omitempty" doc:"when five failed syncs in a row paused it; enabling, configuring or certifying the integration, or storing credentials, begins it again"`
}

// Certification shows a passed certification in the API.
type Certification struct {
	PassedAt  time.Time               `json:"passedAt" doc:"when it passed"`
	ExpiresAt time.Time               `json:"expiresAt" doc:"when it ends, 90 days later"`
	Ports     []integration.Port      `json:"ports" nullable:"false" doc:"the ports that the run proved, and that are open"`
	Report    *integration.PortReport `json:"report,omitempty" doc:"the findings of its run"`

	ClosedPorts []integration.Port `json:"closedPorts,omitempty" doc:"ports that the run proved and that were closed again, because they failed for five days; certify the integration to open them"`
}

// Health summarises the recent results of an integration.
type Health struct {
	Status         string         `json:"status" enum:"pass,warn,fail,unknown" doc:"warn: the filter or the transformation of an endpoint has failed since yesterday, or none of the webhooks of the last 24 hours took effect, and there were at least 3; fail: deliveries or syncs fail now, or the newest webhook that the provider has signed was refused; unknown: nothing has come in or gone out in production yet; the inbox shows what came in while sandboxed"`
	LastSuccessAt  *time.Time     `json:"lastSuccessAt,omitempty" doc:"last delivery to it, or live sync of it, that worked; inbound has its webhooks"`
	LastFailureAt  *time.Time     `json:"lastFailureAt,omitempty" doc:"last delivery attempt to it, or live sync of it, that failed"`
	LastItemAt     *time.Time     `json:"lastItemAt,omitempty" doc:"when a memory of the provider last changed, by one of its webhooks or a sync; absent: none since it was configured"`
	FailedSyncs    int            `json:"failedSyncs" doc:"live syncs that failed since the last one that worked, at most 10" format:"int32"`
	SyncSuccess    *float64       `json:"syncSuccessRate" nullable:"true" doc:"share of the newest 10 live syncs that succeeded; null: no live sync has ended" example:"0.9"`
	SuccessRate24h *float64       `json:"successRate24h" nullable:"true" doc:"share of the delivery attempts of the last 24 hours that succeeded; null: no attempts"`
	ItemDelay      *float64       `json:"itemDelaySeconds" nullable:"true" doc:"of what changed at the provider last: the time from that change, as the provider states it, to its record; null: no such change is known since the integration was last enabled, configured or certified" example:"4.2"`
	Inbound        *InboundHealth `json:"inbound,omitempty" doc:"the webhooks that were received; absent for an integration that receives none"`
	DeliveryDelay  *float64       `json:"deliveryDelaySeconds" nullable:"true" doc:"of the newest event that the endpoint accepted: the time from its commit to the first success; null: none since the integration was last enabled, configured or certified" example:"0.12"`
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
	refusals, err := arrival.List(ctx, c)
	if err != nil {
		return nil, err
	}
	pauses := d.pauses()
	out := &listOutput{}
	out.Body.Items = make([]Integration, 0, len(all))
	for _, stored := range all {
		if !caller.Reaches(stored.Provider) {
			continue
		}
		shown := d.show(ctx, stored, facts, refusals.Of(arrival.OwnerOf(stored.Integration)), reports[stored.Provider])
		if shown.Paused, err = pauses.of(ctx, stored.Integration, facts); err != nil {
			return nil, err
		}
		out.Body.Items = append(out.Body.Items, shown)
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
	facts, refusals, err := d.observed(ctx, stored)
	if err != nil {
		return nil, err
	}
	pause, err := d.pauses().of(ctx, stored.Integration, facts)
	if err != nil {
		return nil, err
	}
	days, err := selected(ctx, stored.Integration)
	if err != nil {
		return nil, err
	}
	return web.Respond(in.IfNoneMatch, d.etag(stored, facts, refusals, pause, days), func() (Integration, error) {
		reports, _, err := integration.LoadReports(ctx, c, in.Provider)
		if err != nil {
			return Integration{}, err
		}
		shown := d.show(ctx, stored, facts, refusals, reports)
		shown.Paused = pause
		return shown.shownWith(days, d.Now()), nil
	})
}

// observed reads what the service has observed of an integration.
func (d Deps) observed(ctx context.Context, s integration.Stored) (facts projection.Context, refusals arrival.Stored, err error) {
	c := web.Tenant(ctx)
	if facts, _, err = projection.Load(ctx, c); err != nil || !s.Has(integration.InboundReceive) {
		return facts, arrival.Stored{}, err
	}
	refusals, err = arrival.Load(ctx, c, arrival.OwnerOf(s.Integration))
	return facts, refusals, err
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
	if err := d.Connectors.Knows(ctx, web.Tenant(ctx), provider); err != nil {
		return integration.Stored{}, err
	}
	i, version, err := integration.Load(ctx, web.Tenant(ctx), provider)
	return integration.Stored{Integration: i, Version: version}, err
}

// endpoint reads a configured integration that receives events.
func (d Deps) endpoint(ctx context.Context, provider string) (integration.Stored, error) {
	stored, err := d.load(ctx, provider)
	if err == nil && !stored.Has(integration.EventDeliver) {
		err = fault.Newf(fault.Conflict, "%s receives no events; only webhook integrations have deliveries", provider)
	}
	return stored, err
}

// answer shows an integration that was just written.
func (d Deps) answer(ctx context.Context, s integration.Stored) (*changedOutput, error) {
	facts, refusals, err := d.observed(ctx, s)
	if err != nil {
		return nil, err
	}
	reports, _, err := integration.LoadReports(ctx, web.Tenant(ctx), s.Provider)
	if err != nil {
		return nil, err
	}
	return &changedOutput{ETag: d.etag(s, facts, refusals, nil, nil), Body: d.show(ctx, s, facts, refusals, reports)}, nil
}

// revision identifies one version of one integration. It includes the time of creation, because an integration that was
// deleted and configured again counts its versions from 1 again.
func revision(s integration.Stored) string {
	if s.Version == 0 {
		return ""
	}
	return fmt.Sprintf("%d-%x", s.Version, s.CreatedAt.UnixMilli())
}

// etag covers everything that an integration's body depends on: the item, the context, the refusals, the state, the hour and a pause. The state
// changes with time, because a certification expires. The hour counts, because the success rate covers the last 24 hours.
func (d Deps) etag(s integration.Stored, facts projection.Context, refusals arrival.Stored, pause *delivery.Pause, days []selection.Counts) string {
	now := d.Now()
	state := integration.Sandbox
	if s.IsCertified(now) {
		state = integration.Certified
	}
	tag := fmt.Sprintf("%s.%d.%d.%d.%s", revision(s), facts.ContextVersion, refusals.Version, now.Unix()/3600, state)
	if pause != nil {
		tag += fmt.Sprintf(".%x", pause.Until.UnixMilli())
	}
	if n := sum(days); n > 0 {
		tag += fmt.Sprintf(".%d", n)
	}
	return web.ETag(tag)
}

func (d Deps) show(
	ctx context.Context, s integration.Stored, facts projection.Context, refusals arrival.Stored, reports integration.Reports,
) Integration {
	now := d.Now()
	var conf struct {
		URL    string   `json:"url"`
		Events []string `json:"events"`
	}
	// A stored configuration is always an object; not every connector has url and events.
	_ = json.Unmarshal(s.Config, &conf)
	out := Integration{
		Provider: s.Provider, Kind: s.Kind, Title: s.Title, State: integration.Sandbox, Enabled: s.Enabled, Disabled: s.Disabled,
		URL: conf.URL, Events: conf.Events, Config: s.Config, Permissions: s.Permissions, Place: s.Place, Credentials: s.Credentials, Connection: s.Connection,
		Sandboxed: s.SandboxedCause, Health: health(facts, refusals.Refusals, s.Integration, now), SecretAt: s.SecretAt,
		Version: s.Number(), CreatedAt: s.CreatedAt, UpdatedAt: s.UpdatedAt,
	}
	if s.Schedule != nil {
		out.Schedule = &Schedule{Every: s.Schedule.Every, PausedAt: s.Schedule.PausedAt}
	}
	switch {
	case s.IsCertified(now):
		out.State = integration.Certified
		out.Certification = &Certification{
			PassedAt: s.Certification.PassedAt, ExpiresAt: s.Certification.ExpiresAt, Ports: s.Certification.Open(), ClosedPorts: s.Certification.Closed,
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

func health(facts projection.Context, refusals arrival.Refusals, i integration.Integration, now time.Time) Health {
	provider := i.Provider
	f := facts.Integrations[provider]
	h := Health{
		Status: "unknown", LastSuccessAt: moment(f.LastSuccessAt), LastFailureAt: moment(f.LastFailureAt),
		FailedSyncs: facts.Syncs[provider].FailuresInRow,
	}
	if at := facts.Memory.Providers[provider].LastChangedAt; at.After(i.CreatedAt) {
		h.LastItemAt = moment(at)
	}
	if i.Has(integration.InboundReceive) {
		h.Inbound = inboundHealth(facts.Results[provider].Taken, refusals, i.CreatedAt, now)
	}
	switch {
	case !f.FailingSince.IsZero(), h.Inbound.failing(f.ChangedAt):
		h.Status = "fail"
	case h.Inbound.idle(f.ChangedAt):
		h.Status = "warn"
	case !f.LastSuccessAt.IsZero(), h.LastItemAt != nil, facts.Results[provider].Received.End().After(i.CreatedAt), h.Inbound.accepts():
		h.Status = "pass"
	}
	if day := facts.Deliveries.Endpoints[provider].Hourly.Since(now.Add(-24 * time.Hour)); day.Total() > 0 {
		rate := 1 - day.FailureRatio()
		h.SuccessRate24h = &rate
	}
	if rate, ok := facts.Syncs[provider].SuccessRate(); ok {
		h.SyncSuccess = &rate
	}
	h.ItemDelay = seconds(facts.Results[provider].Received, f.ChangedAt)
	h.DeliveryDelay = seconds(facts.Results[provider].Sent, f.ChangedAt)
	return h
}

// seconds returns a delay in seconds, or nil if it began before the integration was changed: what happened earlier had to wait
// for the change, such as what a first sync finds, and what is sent again after a certification.
func seconds(d projection.Delay, changed time.Time) *float64 {
	if d.Of.IsZero() || d.Of.Before(changed) {
		return nil
	}
	s := float64(d.MS) / 1000
	return &s
}

func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
