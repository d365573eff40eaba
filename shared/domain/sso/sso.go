// Package sso stores how the users of a company sign in through the company's identity provider: the configuration, the
// sign-ins under way, and the codes that a sign-in ends with.
package sso

import (
	"context"
	"errors"
	"slices"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/domain/company"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
)

// Plan names the only plan with single sign-on.
const Plan = "enterprise"

// Entity and Key name the entity and the key of a company's configuration.
const (
	Entity = "sso"
	Key    = "SSO"
)

// SecretEntity names the entity of the sealed client secret. It is an item of its own, so that an export leaves it out.
const (
	SecretEntity = "sso-secret"
	SecretKey    = "SSOSECRET"
)

// Label is the label under which the vault seals the client secret.
const Label = "sso/clientSecret"

// Protocol names how a provider proves who a user is.
type Protocol string

// The protocols.
const (
	OIDC Protocol = "oidc"
	SAML Protocol = "saml"
)

// Limits of a configuration.
const (
	MaxMetadata  = 128 << 10 // bytes of a provider's SAML metadata
	MaxRoles     = 50        // entries of the role mapping
	MaxRedirects = 10
)

// Config says how the users of a company sign in, as stored.
type Config struct {
	Protocol     Protocol      `json:"protocol"`
	OIDC         *OIDCProvider `json:"oidc,omitempty"`
	SAML         *SAMLProvider `json:"saml,omitempty"`
	Roles        Roles         `json:"roles"`
	Redirects    []string      `json:"redirects,omitempty"`
	LinkExisting bool          `json:"linkExisting,omitempty"`
	UpdatedAt    time.Time     `json:"updatedAt"`
	UpdatedBy    string        `json:"updatedBy"`
}

// Issuer names the provider in the identities of its users.
func (c Config) Issuer() string {
	switch {
	case c.OIDC != nil:
		return c.OIDC.Issuer
	case c.SAML != nil:
		return c.SAML.EntityID
	}
	return ""
}

// OIDCProvider describes an OpenID provider and this service's registration with it.
type OIDCProvider struct {
	Issuer       string   `json:"issuer"`
	ClientID     string   `json:"clientId"`
	Scopes       []string `json:"scopes,omitempty"` // in addition to openid, email and profile
	Confidential bool     `json:"confidential,omitempty"`
}

// SAMLProvider describes a SAML identity provider.
type SAMLProvider struct {
	EntityID       string    `json:"entityId"`
	Metadata       string    `json:"metadata"`
	MetadataURL    string    `json:"metadataUrl,omitempty"`
	FetchedAt      time.Time `json:"fetchedAt"`
	EmailAttribute string    `json:"emailAttribute,omitempty"`
}

// Roles says which role a user gets.
type Roles struct {
	Claim   string     `json:"claim,omitempty"` // the claim, or the SAML attribute, whose values Map lists
	Map     []RoleRule `json:"map,omitempty"`
	Default user.Role  `json:"default,omitempty"` // of a user to whom no rule applies; "": such a user is refused
}

// RoleRule gives a role to the users with a value.
type RoleRule struct {
	Value string    `json:"value" minLength:"1" maxLength:"256" doc:"a value of the claim or attribute, compared exactly" example:"platform-admins"`
	Role  user.Role `json:"role" enum:"founder,member,operator" doc:"the role of a user with this value" example:"operator"`
}

// Of returns the role of a user with values: that of the first rule that applies. It is "" if the user gets none.
func (r Roles) Of(values []string) user.Role {
	for _, rule := range r.Map {
		if slices.Contains(values, rule.Value) {
			return rule.Role
		}
	}
	return r.Default
}

// Load returns the company's configuration and its version; the version is 0 if the company has no configuration.
func Load(ctx context.Context, c store.Company) (Config, int64, error) {
	var out Config
	item, err := c.Get(ctx, Key, &out)
	if errors.Is(err, store.ErrNotFound) {
		return Config{}, 0, nil
	}
	return out, item.Version, store.Fault(err, "")
}

// CheckPlan returns fault.PlanRequired unless the company's plan has single sign-on.
func CheckPlan(ctx context.Context, c store.Company) error {
	found, _, err := company.Get(ctx, c)
	if err != nil {
		return err
	}
	if found.Plan != Plan {
		return fault.Newf(fault.PlanRequired, "single sign-on needs the plan %s; the company has the plan %s", Plan, found.Plan)
	}
	return nil
}
