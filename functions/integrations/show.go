package integrations

import (
	"context"
	"fmt"

	"orgops/functions/integrations/shown"
	"orgops/shared/base/fault"
	"orgops/shared/domain/arrival"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/selection"
	"orgops/shared/insight/projection"
	"orgops/shared/web"
)

// Configured answers a configuration. Only this answer and a rotation's show a signing secret, and only a generated one.
type Configured struct {
	shown.Integration
	SigningSecret string `json:"signingSecret,omitempty" doc:"the signing secret if it was generated; shown only once"`
}

type changedOutput struct {
	ETag string `header:"ETag"`
	Body shown.Integration
}

type getInput struct {
	ProviderInput
	web.IfNoneMatch
}

func (d Deps) getIntegration(ctx context.Context, in *getInput) (*web.Tagged[shown.Integration], error) {
	c := web.Tenant(ctx)
	stored, err := d.find(ctx, in.Provider)
	if err != nil {
		return nil, err
	}
	facts, refusals, err := d.observed(ctx, stored)
	if err != nil {
		return nil, err
	}
	pause, err := d.shown().Pauses().Of(ctx, stored.Integration, facts)
	if err != nil {
		return nil, err
	}
	days, err := selected(ctx, stored.Integration)
	if err != nil {
		return nil, err
	}
	return web.Respond(in.IfNoneMatch, d.etag(stored, facts, refusals, pause, days), func() (shown.Integration, error) {
		reports, _, err := integration.LoadReports(ctx, c, in.Provider)
		if err != nil {
			return shown.Integration{}, err
		}
		one := shown.Of(stored, facts, refusals, reports, web.CompanyPath(ctx), d.Now())
		one.Paused = pause
		return one.With(days, d.Now()), nil
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
	return &changedOutput{ETag: d.etag(s, facts, refusals, nil, nil), Body: shown.Of(s, facts, refusals, reports, web.CompanyPath(ctx), d.Now())}, nil
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
