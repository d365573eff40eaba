package shown

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/domain/arrival"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/user"
	"orgops/shared/insight/projection"
	"orgops/shared/run/boot"
	"orgops/shared/web"
	"orgops/shared/webhook/courier"
)

// Deps holds what showing integrations needs.
type Deps struct {
	Courier *courier.Courier // knows pauses of endpoints
	Now     func() time.Time
}

// Mount registers the list with the service's parts.
func Mount(api huma.API, s *boot.Services) { Register(api, Deps{Courier: s.Courier(), Now: s.Now}) }

// Register adds the list to api.
func Register(api huma.API, d Deps) {
	web.Register(api, web.AsTool(web.Bound(web.AuditedWrites(huma.Operation{
		OperationID: "list-integrations", Method: http.MethodGet, Path: "/companies/{companyId}/integrations", Summary: "List integrations",
		Description: "With state, certification and health; never with a secret.", DefaultStatus: http.StatusOK, Tags: []string{"integrations"},
		Security: web.Needs(user.ScopeIntegrationsRead),
	})), web.Tool{}), d.list)
}

// IntegrationList lists every integration of a company, by name.
type IntegrationList struct {
	Items []Integration `json:"items" doc:"every integration, by provider" nullable:"false"`
}

type listOutput struct{ Body IntegrationList }

func (d Deps) list(ctx context.Context, _ *struct{}) (*listOutput, error) {
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
	pauses, path, now := d.Pauses(), web.CompanyPath(ctx), d.Now()
	out := &listOutput{}
	out.Body.Items = make([]Integration, 0, len(all))
	for _, stored := range all {
		if !caller.Reaches(stored.Provider) {
			continue
		}
		one := Of(stored, facts, refusals.Of(arrival.OwnerOf(stored.Integration)), reports[stored.Provider], path, now)
		if one.Paused, err = pauses.Of(ctx, stored.Integration, facts); err != nil {
			return nil, err
		}
		out.Body.Items = append(out.Body.Items, one)
	}
	return out, nil
}
