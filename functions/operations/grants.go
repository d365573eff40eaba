package operations

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/domain/grant"
	"orgops/shared/domain/timeline"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

func (d Deps) registerGrants(api huma.API) {
	const all, one = "/grants", "/grants/{grantId}"
	web.Register(api, operation(http.MethodGet, all, "list-grants", "List what third parties may do",
		"Each grant is what one person of the company has allowed one third party. Oldest first; those that have expired are left out.", http.StatusOK, user.ScopeOperationsWrite), d.listGrants)
	web.Register(api, operation(http.MethodGet, one, "get-grant", "Get what a third party may do", "Never with a token.", http.StatusOK, user.ScopeOperationsWrite), d.getGrant)
	web.Register(api, operation(http.MethodDelete, one, "end-grant", "End a third party's access",
		"Ends all of its tokens within five seconds. It has to ask a person again.", http.StatusNoContent, user.ScopeOperationsWrite), d.endGrant)
}

// ThirdPartyGrant shows what a third party may do.
type ThirdPartyGrant struct {
	ID          string    `json:"id" format:"uuid" doc:"UUIDv7"`
	ClientID    string    `json:"clientId" doc:"the third party's client_id: the address of its document" example:"https://agent.example.com/client.json"`
	ClientName  string    `json:"clientName" doc:"what it calls itself; anyone can call itself anything" example:"Agent"`
	ClientHost  string    `json:"clientHost" doc:"whose document describes it" example:"agent.example.com"`
	UserID      string    `json:"userId" format:"uuid" doc:"the user who allowed it"`
	ExecutiveID string    `json:"executiveId,omitempty" doc:"the executive as which it acts; absent: it acts for the user" example:"3f0a7c1e-58d2-8a64-9d0b-0c8a1f6e2b47"`
	Scopes      []string  `json:"scopes" nullable:"false" doc:"the scopes that it was given; with an executive none, because it has what the executive declares" example:"[\"intelligence:read\"]"`
	Endpoint    string    `json:"endpoint" enum:"api,mcp" doc:"what its tokens open"`
	CreatedAt   time.Time `json:"createdAt" doc:"when it was allowed"`
	LastUsedAt  time.Time `json:"lastUsedAt" doc:"when it last got a token"`
	ExpiresAt   time.Time `json:"expiresAt" doc:"when the access ends unless it gets a new token: 30 days after the last one, and a year after it was allowed at the latest"`
}

// ThirdPartyGrantList shows what third parties may do in a company.
type ThirdPartyGrantList struct {
	Items []ThirdPartyGrant `json:"items" nullable:"false" doc:"every grant, the oldest first"`
}

type grantsOutput struct{ Body ThirdPartyGrantList }

func showGrant(g grant.Grant) ThirdPartyGrant {
	out := ThirdPartyGrant{
		ID: g.ID, ClientID: g.Client.ID, ClientName: g.Client.Name, ClientHost: g.Client.Host, UserID: g.UserID, ExecutiveID: g.Executive,
		Scopes: append([]string{}, g.Scopes...), Endpoint: "api", CreatedAt: g.CreatedAt, LastUsedAt: g.LastUsedAt, ExpiresAt: g.ExpiresAt,
	}
	if g.Resource != "" {
		out.Endpoint = "mcp"
	}
	return out
}

func (d Deps) listGrants(ctx context.Context, _ *struct{}) (*grantsOutput, error) {
	all, err := grant.List(ctx, web.Tenant(ctx), d.Now())
	out := &grantsOutput{ThirdPartyGrantList{Items: make([]ThirdPartyGrant, len(all))}}
	for n, s := range all {
		out.Body.Items[n] = showGrant(s.Grant)
	}
	return out, err
}

// GrantInput holds the path parameter of the operations on one grant.
type GrantInput struct {
	GrantID string `path:"grantId" maxLength:"64" doc:"The grant's id" example:"0198c5f2-7a00-7000-8000-00000000000c"`
}

type grantOutput struct{ Body ThirdPartyGrant }

func (d Deps) getGrant(ctx context.Context, in *GrantInput) (*grantOutput, error) {
	s, err := grant.Load(ctx, web.Tenant(ctx), in.GrantID, d.Now())
	if err != nil {
		return nil, err
	}
	return &grantOutput{showGrant(s.Grant)}, nil
}

func (d Deps) endGrant(ctx context.Context, in *GrantInput) (*struct{}, error) {
	c, now := web.Tenant(ctx), d.Now().UTC()
	s, err := grant.Load(ctx, c, in.GrantID, now)
	if err != nil {
		return nil, err
	}
	ops, err := s.End(ctx, c, now)
	if err != nil {
		return nil, err
	}
	by := timeline.Reference{Type: user.Entity, ID: web.CallerOf(ctx).UserID}
	return nil, store.Fault(c.Commit(ctx, append(ops, s.Tell(timeline.AccessEnded, by, "lost access", now).Create(c))...), "")
}
