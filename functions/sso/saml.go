package sso

import (
	"context"
	"encoding/base64"
	"errors"
	"mime"
	"net/url"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/domain/company"
	"orgops/shared/domain/sso"
	"orgops/shared/identity/samllogin"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// maxResponse limits the form with a SAML response, in bytes.
const maxResponse = 256 << 10

// The media types of SAML's documents and forms.
const (
	metadataType = "application/samlmetadata+xml"
	formType     = "application/x-www-form-urlencoded"
)

// metadataFresh is how old metadata that was read at an address may be when a sign-in begins.
const metadataFresh = time.Hour

func (d Deps) service(companyID string) samllogin.Service {
	base := d.Base + "/auth/saml/" + companyID
	return samllogin.Service{EntityID: base + "/metadata", ACS: base + "/acs", Now: d.Now()}
}

type metadataOutput struct {
	ContentType  string `header:"Content-Type"`
	CacheControl string `header:"Cache-Control"`
	Body         []byte
}

// metadataExample shows the form of the metadata in the document.
const metadataExample = `<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="https://api.example.com/auth/saml/0198c5f2-0000-7000-8000-000000000001/metadata">…</EntityDescriptor>`

func (d Deps) getMetadata(ctx context.Context, in *struct {
	Company string `path:"companyId" maxLength:"64" doc:"The company"`
}) (*metadataOutput, error) {
	if !id.Valid(in.Company) {
		return nil, errNone()
	}
	text, err := d.at(ctx).service(in.Company).Metadata()
	return &metadataOutput{ContentType: metadataType, CacheControl: "public, max-age=300", Body: text}, err
}

// refreshed returns the provider with metadata that is fresh, if it can be read. A provider that does not answer, or is now
// another entity, leaves the stored metadata as it is.
func (d Deps) refreshed(ctx context.Context, c store.Company, p *sso.SAMLProvider) *sso.SAMLProvider {
	if p.MetadataURL == "" || d.Now().Sub(p.FetchedAt) < metadataFresh {
		return p
	}
	fresh, err := d.acceptSAML(ctx, SAMLProviderRequest{MetadataURL: p.MetadataURL, EmailAttribute: p.EmailAttribute})
	if err == nil && fresh.EntityID != p.EntityID {
		err = errors.New("the metadata names another entity")
	}
	if err == nil {
		err = storeMetadata(ctx, c, fresh)
	}
	if err != nil {
		d.Logger.WarnContext(ctx, "metadata of an identity provider not refreshed", "company", c.ID(), "error", err)
		return p
	}
	return fresh
}

// storeMetadata replaces the metadata of the configuration, which still has to be that of the same entity.
func storeMetadata(ctx context.Context, c store.Company, fresh *sso.SAMLProvider) error {
	config, version, err := sso.Load(ctx, c)
	if err != nil {
		return err
	}
	if config.SAML == nil || config.SAML.MetadataURL != fresh.MetadataURL || config.SAML.EntityID != fresh.EntityID {
		return errors.New("the configuration changed")
	}
	config.SAML.Metadata, config.SAML.FetchedAt = fresh.Metadata, fresh.FetchedAt // a founder may have changed the rest meanwhile
	return c.Commit(ctx, c.Replace(sso.Key, sso.Entity, version, config).Quietly())
}

type acsInput struct {
	Company     string `path:"companyId" maxLength:"64" doc:"The company"`
	ContentType string `header:"Content-Type" hidden:"true"`
	RawBody     []byte `contentType:"application/x-www-form-urlencoded"`
}

// responseForm documents the form of the HTTP-POST binding.
func responseForm() web.Body {
	one := 1
	field := func(description string) *huma.Schema {
		return &huma.Schema{Type: huma.TypeString, Description: description, MinLength: &one}
	}
	return web.Body{Media: formType, Schema: &huma.Schema{
		Type: huma.TypeObject, Required: []string{"SAMLResponse", "RelayState"},
		Properties: map[string]*huma.Schema{
			"SAMLResponse": field("The provider's response, base64"), "RelayState": field("As this service sent it to the provider"),
		},
	}}
}

// finishSAML takes the provider's response. It takes the sign-in first, so that each response counts once.
func (d Deps) finishSAML(ctx context.Context, in *acsInput) (*redirectOutput, error) {
	d = d.at(ctx)
	if err := d.answers.Take(ctx); err != nil {
		return nil, err
	}
	response, relay, err := parseForm(in.ContentType, in.RawBody)
	if err != nil {
		return d.turnBack(ctx, signIn{}, err)
	}
	s, err := d.resume(ctx, d.company(in.Company), sso.SAML, relay, web.SentCookie(ctx, cookieSAML))
	if err != nil {
		return d.turnBack(ctx, s, err)
	}
	out, err := d.concludeSAML(ctx, in, s, response)
	if err != nil {
		return d.turnBack(ctx, s, err)
	}
	return out, nil
}

// concludeSAML verifies the provider's response and admits the user.
func (d Deps) concludeSAML(ctx context.Context, in *acsInput, s signIn, response []byte) (*redirectOutput, error) {
	provider, err := samllogin.Parse([]byte(s.config.SAML.Metadata), d.Now())
	if err != nil {
		return nil, d.refused(ctx, in.Company, err)
	}
	found, err := d.service(in.Company).Finish(provider, response, s.try.RequestID)
	if err != nil {
		return nil, d.refused(ctx, in.Company, err)
	}
	seen := sso.SeenAssertion(s.company, s.try.Issuer, found.AssertionID, found.Expires.Add(time.Hour))
	return d.admit(ctx, s, company.Identity{
		Key:   store.IdentityKey(in.Company, s.try.Issuer, found.Subject),
		Email: found.Email(s.config.SAML.EmailAttribute), Name: found.Name(), Role: s.config.Roles.Of(values(s.config, found.Values)),
	}, seen)
}

// parseForm returns the response and the relay state of a form (SAML bindings §3.5.4).
func parseForm(contentType string, body []byte) (response []byte, relay string, err error) {
	if media, _, err := mime.ParseMediaType(contentType); err != nil || media != formType {
		return nil, "", fault.New(fault.UnsupportedMediaType, "send the response as the HTTP-POST binding does, as application/x-www-form-urlencoded")
	}
	form, err := url.ParseQuery(string(body))
	if err != nil || len(form["SAMLResponse"]) != 1 || len(form["RelayState"]) != 1 {
		return nil, "", fault.New(fault.Malformed, "the form needs one SAMLResponse and the RelayState of the request")
	}
	response, err = base64.StdEncoding.DecodeString(form.Get("SAMLResponse"))
	if err != nil {
		return nil, "", fault.New(fault.Unauthenticated, "SAMLResponse is not base64")
	}
	return response, form.Get("RelayState"), nil
}
