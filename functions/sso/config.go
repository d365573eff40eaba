package sso

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/domain/sso"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// SignOn shows how the users of a company sign in.
type SignOn struct {
	Protocol     sso.Protocol    `json:"protocol" enum:"oidc,saml" doc:"how the provider proves who a user is"`
	OIDC         *OpenIDProvider `json:"oidc,omitempty" doc:"the OpenID provider"`
	SAML         *SAMLProvider   `json:"saml,omitempty" doc:"the SAML identity provider"`
	Roles        RoleMapping     `json:"roles" doc:"which role a user gets"`
	Redirects    []string        `json:"redirects" nullable:"false" doc:"where a sign-in may end, in addition to the console"`
	LinkExisting bool            `json:"linkExisting" doc:"whether a user who has the same e-mail address and a password is taken over at the first sign-in"`
	Register     Registration    `json:"register" doc:"what the administrator of the provider registers"`
	UpdatedAt    time.Time       `json:"updatedAt" doc:"when the configuration was stored"`
	UpdatedBy    string          `json:"updatedBy" doc:"the user who stored it"`
}

// OpenIDProvider shows an OpenID provider, without the client secret.
type OpenIDProvider struct {
	Issuer          string   `json:"issuer" doc:"the provider's issuer identifier" example:"https://login.example.com"`
	ClientID        string   `json:"clientId" doc:"the id of this service at the provider" example:"orgops"`
	ClientSecretSet bool     `json:"clientSecretSet" doc:"whether a client secret is stored; it is never shown"`
	Scopes          []string `json:"scopes" nullable:"false" doc:"scopes that are asked for in addition to openid, email and profile"`
}

// SAMLProvider shows a SAML identity provider.
type SAMLProvider struct {
	EntityID       string     `json:"entityId" doc:"the provider's entity id, from its metadata" example:"https://idp.example.com/metadata"`
	Metadata       string     `json:"metadata" doc:"the provider's metadata, XML"`
	MetadataURL    string     `json:"metadataUrl,omitempty" doc:"where the metadata is read again, at most once an hour" example:"https://idp.example.com/metadata"`
	FetchedAt      *time.Time `json:"fetchedAt,omitempty" doc:"when the metadata was read there"`
	EmailAttribute string     `json:"emailAttribute,omitempty" doc:"the attribute with the e-mail address" example:"mail"`
}

// RoleMapping says which role a user gets.
type RoleMapping struct {
	Claim   string         `json:"claim,omitempty" maxLength:"256" doc:"the claim, or the SAML attribute, whose values map lists; with it, each sign-in sets the role" example:"groups"`
	Map     []sso.RoleRule `json:"map,omitempty" maxItems:"50" doc:"the first entry with one of the user's values decides"`
	Default string         `json:"default,omitempty" enum:"member,operator,none" default:"member" doc:"the role of a user to whom no entry applies; none: such a user is refused" example:"member"`
}

// Registration holds what the administrator of a provider registers.
type Registration struct {
	RedirectURI string `json:"redirectUri,omitempty" doc:"OpenID Connect: the redirect URI" example:"https://orgops.example.com/auth/sso/callback"`
	EntityID    string `json:"entityId,omitempty" doc:"SAML: the entity id of this service, and the address of its metadata"`
	ACS         string `json:"acs,omitempty" doc:"SAML: the assertion consumer service, with the HTTP-POST binding"`
}

type configOutput struct {
	ETag string `header:"ETag"`
	Body SignOn
}

func (d Deps) getConfig(ctx context.Context, in *web.IfNoneMatch) (*web.Tagged[SignOn], error) {
	c := web.Tenant(ctx)
	config, version, err := configured(ctx, c)
	if err != nil {
		return nil, err
	}
	return web.Respond(*in, web.ETag(revision(config, version)), func() (SignOn, error) { return d.show(c.ID(), config), nil })
}

// configured returns the stored configuration, with its version. A company that has left the plan sees and removes what it stored. Without a
// configuration, configured returns what the company lacks: the plan, or the configuration.
func configured(ctx context.Context, c store.Company) (sso.Config, int64, error) {
	planned := sso.CheckPlan(ctx, c)
	config, version, err := sso.Load(ctx, c)
	if err == nil && version == 0 {
		err = cmp.Or(planned, errNone())
	}
	return config, version, err
}

// revision identifies one version of the configuration: "" without one. It includes the time, because a configuration
// that follows a deleted one counts its versions from 1 again.
func revision(config sso.Config, version int64) string {
	if version == 0 {
		return ""
	}
	return fmt.Sprintf("%d-%x", version, config.UpdatedAt.UnixMilli())
}

func errNone() error {
	return fault.New(fault.NotFound, "there is no such company, or it has no single sign-on")
}

func (d Deps) show(companyID string, config sso.Config) SignOn {
	out := SignOn{
		Protocol: config.Protocol, Redirects: nonNil(config.Redirects), LinkExisting: config.LinkExisting,
		Roles:     RoleMapping{Claim: config.Roles.Claim, Map: config.Roles.Map, Default: string(config.Roles.Default)},
		UpdatedAt: config.UpdatedAt, UpdatedBy: config.UpdatedBy,
	}
	if out.Roles.Default == "" {
		out.Roles.Default = noRole
	}
	if p := config.OIDC; p != nil {
		out.OIDC = &OpenIDProvider{Issuer: p.Issuer, ClientID: p.ClientID, ClientSecretSet: p.Confidential, Scopes: nonNil(p.Scopes)}
		out.Register.RedirectURI = d.callbackURL()
	}
	if p := config.SAML; p != nil {
		out.SAML = &SAMLProvider{EntityID: p.EntityID, Metadata: p.Metadata, MetadataURL: p.MetadataURL, EmailAttribute: p.EmailAttribute}
		if p.MetadataURL != "" {
			out.SAML.FetchedAt = &p.FetchedAt
		}
		service := d.service(companyID)
		out.Register.EntityID, out.Register.ACS = service.EntityID, service.ACS
	}
	return out
}

func nonNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

type putInput struct {
	web.Creation
	Body SignOnRequest
}

// putConfig stores the configuration and the sealed secret in one transaction.
func (d Deps) putConfig(ctx context.Context, in *putInput) (*configOutput, error) {
	if err := mayConfigure(ctx); err != nil {
		return nil, err
	}
	c := web.Tenant(ctx)
	if err := sso.CheckPlan(ctx, c); err != nil {
		return nil, err
	}
	was, version, err := sso.Load(ctx, c)
	if err != nil {
		return nil, err
	}
	if err := in.Check(revision(was, version)); err != nil {
		return nil, err
	}
	config, err := d.accept(ctx, in.Body)
	if err != nil {
		return nil, err
	}
	config.UpdatedAt, config.UpdatedBy = d.Now().UTC().Truncate(time.Millisecond), web.CallerOf(ctx).UserID
	ops, err := d.secretOps(ctx, c, in.Body, was, &config)
	if err != nil {
		return nil, err
	}
	ops = append(ops, c.Save(sso.Key, sso.Entity, version, config).Quietly())
	if err := c.Commit(ctx, ops...); err != nil {
		return nil, in.Overtaken(stale(err))
	}
	return &configOutput{ETag: web.ETag(revision(config, version+1)), Body: d.show(c.ID(), config)}, nil
}

func stale(err error) error {
	if errors.Is(err, store.ErrConflict) {
		return fault.Wrap(fault.Stale, "the configuration changed at the same time; read it again and retry with the new ETag", err)
	}
	return store.Fault(err, "")
}

// mayConfigure refuses a caller who lacks a founder's scopes. A provider can sign in as each user that it made, founders too.
func mayConfigure(ctx context.Context) error {
	caller := web.CallerOf(ctx)
	if slices.ContainsFunc(user.Founder.Scopes(), func(scope string) bool { return !caller.Has(scope) }) {
		return fault.New(fault.InsufficientScope, "the identity provider decides who signs in as whom; only a user with all scopes, a founder, configures it")
	}
	return nil
}

func (d Deps) deleteConfig(ctx context.Context, in *web.IfMatch) (*struct{}, error) {
	if err := mayConfigure(ctx); err != nil {
		return nil, err
	}
	c := web.Tenant(ctx)
	config, version, err := configured(ctx, c)
	if err != nil {
		return nil, err
	}
	if err := in.Check(revision(config, version)); err != nil {
		return nil, err
	}
	ops := []store.Op{c.Delete(sso.Key, sso.Entity, version).Quietly()}
	_, sealed, err := loadSecret(ctx, c)
	if err != nil {
		return nil, err
	}
	if sealed > 0 {
		ops = append(ops, c.Delete(sso.SecretKey, sso.SecretEntity, sealed).Quietly())
	}
	return nil, stale(c.Commit(ctx, ops...))
}
