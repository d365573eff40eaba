package sso

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"orgops/shared/base/fault"
	"orgops/shared/domain/sso"
	"orgops/shared/domain/user"
	"orgops/shared/identity/samllogin"
	"orgops/shared/webhook/outbound"
)

// SignOnRequest holds the configuration to store.
type SignOnRequest struct {
	Protocol     sso.Protocol           `json:"protocol" enum:"oidc,saml" doc:"how the provider proves who a user is" example:"oidc"`
	OIDC         *OpenIDProviderRequest `json:"oidc,omitempty" doc:"the OpenID provider; only with the protocol oidc"`
	SAML         *SAMLProviderRequest   `json:"saml,omitempty" doc:"the SAML identity provider; only with the protocol saml"`
	Roles        RoleMapping            `json:"roles,omitempty" doc:"which role a user gets; without it, every user is a member"`
	Redirects    []string               `json:"redirects,omitempty" maxItems:"10" doc:"addresses where a sign-in may end, in addition to the console, compared exactly" example:"[\"https://dashboard.example.com/signed-in\"]"`
	LinkExisting bool                   `json:"linkExisting,omitempty" doc:"true: a user who has the same e-mail address and a password, and is no founder, is taken over at the first sign-in"`
}

// OpenIDProviderRequest holds an OpenID provider and this service's registration with it.
type OpenIDProviderRequest struct {
	Issuer       string   `json:"issuer" maxLength:"2048" doc:"the provider's issuer identifier, below which its discovery document is" example:"https://login.example.com"`
	ClientID     string   `json:"clientId" minLength:"1" maxLength:"256" doc:"the id of this service at the provider" example:"orgops"`
	ClientSecret string   `json:"clientSecret,omitempty" maxLength:"1024" format:"password" doc:"the secret of this service at the provider; write-only. Without it, a stored secret of the same issuer and client stays" example:"correct-horse-battery-staple"`
	Scopes       []string `json:"scopes,omitempty" maxItems:"20" doc:"scopes to ask for in addition to openid, email and profile" example:"[\"groups\"]"`
}

// SAMLProviderRequest holds a SAML identity provider.
type SAMLProviderRequest struct {
	Metadata       string `json:"metadata,omitempty" maxLength:"131072" doc:"the provider's metadata, XML; either this or metadataUrl"`
	MetadataURL    string `json:"metadataUrl,omitempty" maxLength:"2048" doc:"where the metadata is read, now and again when it is an hour old" example:"https://idp.example.com/metadata"`
	EmailAttribute string `json:"emailAttribute,omitempty" maxLength:"256" doc:"the attribute with the e-mail address; without it, the NameID if it is an address, or a usual attribute" example:"mail"`
}

// noRole stands for no default role in the API.
const noRole = "none"

// accept checks a request, and asks the provider whether it is there.
func (d Deps) accept(ctx context.Context, in SignOnRequest) (sso.Config, error) {
	if err := fault.Refuse(d.problems(in)); err != nil {
		return sso.Config{}, err
	}
	config := sso.Config{
		Protocol: in.Protocol, Redirects: in.Redirects, LinkExisting: in.LinkExisting,
		Roles: sso.Roles{Claim: in.Roles.Claim, Map: in.Roles.Map, Default: user.Role(in.Roles.Default)},
	}
	switch in.Roles.Default {
	case "":
		config.Roles.Default = user.Member
	case noRole:
		config.Roles.Default = ""
	}
	if in.Protocol == sso.OIDC {
		config.OIDC = &sso.OIDCProvider{Issuer: in.OIDC.Issuer, ClientID: in.OIDC.ClientID, Scopes: in.OIDC.Scopes}
		if err := d.relying.Discover(ctx, in.OIDC.Issuer); err != nil {
			return config, fault.RefuseAt("/oidc/issuer", "the discovery document cannot be used: "+outbound.Explain(err))
		}
		return config, nil
	}
	var err error
	config.SAML, err = d.acceptSAML(ctx, *in.SAML)
	return config, err
}

// problems lists what is wrong with a request before any provider is asked.
func (d Deps) problems(in SignOnRequest) []fault.FieldError {
	var out []fault.FieldError
	refuse := func(pointer, detail string) { out = append(out, fault.FieldError{Pointer: pointer, Detail: detail}) }
	if (in.OIDC != nil) != (in.Protocol == sso.OIDC) {
		refuse("/oidc", "must be there with the protocol oidc, and only with it")
	}
	if (in.SAML != nil) != (in.Protocol == sso.SAML) {
		refuse("/saml", "must be there with the protocol saml, and only with it")
	}
	if in.Protocol == sso.OIDC && in.OIDC != nil {
		out = append(out, d.Client.CheckBase("/oidc/issuer", in.OIDC.Issuer)...)
		if slices.ContainsFunc(in.OIDC.Scopes, func(s string) bool { return s == "" || len(s) > 128 || strings.ContainsAny(s, " \"\\") }) {
			refuse("/oidc/scopes", "a scope has 1 to 128 characters, without spaces, quotes and backslashes")
		}
	}
	if in.Protocol == sso.SAML && in.SAML != nil && (in.SAML.Metadata == "") == (in.SAML.MetadataURL == "") {
		refuse("/saml", "needs either metadata or metadataUrl")
	}
	if in.SAML != nil && in.SAML.MetadataURL != "" {
		out = append(out, d.Client.CheckURL("/saml/metadataUrl", in.SAML.MetadataURL)...)
	}
	if len(in.Roles.Map) > 0 && in.Roles.Claim == "" {
		refuse("/roles/claim", "must name the claim or attribute whose values map lists")
	}
	for n, redirect := range in.Redirects {
		out = append(out, d.Client.CheckURL(fmt.Sprintf("/redirects/%d", n), redirect)...)
	}
	return out
}

// acceptSAML parses the provider's metadata, which it reads at the given address if there is one.
func (d Deps) acceptSAML(ctx context.Context, in SAMLProviderRequest) (*sso.SAMLProvider, error) {
	out := &sso.SAMLProvider{Metadata: in.Metadata, MetadataURL: in.MetadataURL, EmailAttribute: in.EmailAttribute}
	pointer := "/saml/metadata"
	if in.MetadataURL != "" {
		pointer = "/saml/metadataUrl"
		text, err := d.fetchMetadata(ctx, in.MetadataURL)
		if err != nil {
			return nil, fault.RefuseAt(pointer, "the metadata cannot be read: "+outbound.Explain(err))
		}
		out.Metadata, out.FetchedAt = text, d.Now().UTC()
	}
	provider, err := samllogin.Parse([]byte(out.Metadata), d.Now())
	if err != nil {
		return nil, fault.RefuseAt(pointer, err.Error())
	}
	if problems := d.Client.CheckURL(pointer, provider.SignInURL()); len(problems) > 0 {
		return nil, fault.RefuseAt(pointer, "the address of the SingleSignOnService: "+problems[0].Detail)
	}
	out.EntityID = provider.EntityID()
	return out, nil
}

// fetchMetadata reads a provider's metadata.
func (d Deps) fetchMetadata(ctx context.Context, url string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	resp, err := d.egress.Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("the answer is %d", resp.StatusCode)
	}
	text, err := outbound.ReadBody(resp, sso.MaxMetadata)
	return string(text), err
}
