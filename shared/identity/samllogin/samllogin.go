// Package samllogin signs users in at a SAML 2.0 identity provider: the Web Browser SSO profile, begun here, with the
// HTTP-Redirect binding for the request and the HTTP-POST binding for the response.
//
// crewjam/saml verifies the signature, the issuer, the request, the recipient and the times. Package samllogin first refuses
// each document that could be read in two ways: see strict.
package samllogin

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/crewjam/saml"
	dsig "github.com/russellhaering/goxmldsig"

	"orgops/shared/identity/keysize"
)

// Service is this service as the provider of one company knows it.
type Service struct {
	EntityID string // also the address of the metadata
	ACS      string // the address that the provider posts responses to
	Now      time.Time
}

// The metadata, without the end of validity that crewjam/saml's type always writes.
type (
	entityDescriptor struct {
		XMLName  xml.Name          `xml:"urn:oasis:names:tc:SAML:2.0:metadata EntityDescriptor"`
		EntityID string            `xml:"entityID,attr"`
		Service  serviceDescriptor `xml:"SPSSODescriptor"`
	}
	serviceDescriptor struct {
		Protocols      string   `xml:"protocolSupportEnumeration,attr"`
		RequestsSigned bool     `xml:"AuthnRequestsSigned,attr"`
		WantsSigned    bool     `xml:"WantAssertionsSigned,attr"`
		ACS            endpoint `xml:"AssertionConsumerService"`
	}
	endpoint struct {
		Binding  string `xml:"Binding,attr"`
		Location string `xml:"Location,attr"`
		Index    int    `xml:"index,attr"`
		Default  bool   `xml:"isDefault,attr"`
	}
)

// Metadata returns the document that the administrator of the identity provider reads.
func (s Service) Metadata() ([]byte, error) {
	return xml.MarshalIndent(entityDescriptor{EntityID: s.EntityID, Service: serviceDescriptor{
		Protocols: protocolSpace, WantsSigned: true, ACS: endpoint{Binding: saml.HTTPPostBinding, Location: s.ACS, Index: 1, Default: true},
	}}, "", "  ")
}

func (s Service) provider(idp *saml.EntityDescriptor) (*saml.ServiceProvider, error) {
	entity, err := url.Parse(s.EntityID)
	if err != nil {
		return nil, err
	}
	acs, err := url.Parse(s.ACS)
	if err != nil {
		return nil, err
	}
	return &saml.ServiceProvider{
		EntityID: s.EntityID, MetadataURL: *entity, AcsURL: *acs, IDPMetadata: idp, AuthnNameIDFormat: saml.UnspecifiedNameIDFormat,
		Clock: dsig.NewFakeClockAt(s.Now), // the service's clock
	}, nil
}

// Provider is an identity provider, as its metadata describes it.
type Provider struct {
	entity *saml.EntityDescriptor
	signIn string
}

// Parse reads the metadata of one identity provider. Its errors say what is wrong with the document.
func Parse(metadata []byte, now time.Time) (Provider, error) {
	if err := plain(metadata, maxDescribed, true); err != nil {
		return Provider{}, err
	}
	entity := &saml.EntityDescriptor{}
	if err := xml.Unmarshal(metadata, entity); err != nil {
		return Provider{}, errors.New("is not the SAML 2.0 metadata of one identity provider: its root must be an EntityDescriptor")
	}
	if entity.EntityID == "" || len(entity.EntityID) > 1024 {
		return Provider{}, errors.New("the metadata has no entityID of at most 1,024 characters")
	}
	if !entity.ValidUntil.IsZero() && now.After(entity.ValidUntil) {
		return Provider{}, errors.New("the metadata has expired")
	}
	p := Provider{entity: entity, signIn: (&saml.ServiceProvider{IDPMetadata: entity}).GetSSOBindingLocation(saml.HTTPRedirectBinding)}
	if p.signIn == "" {
		return Provider{}, errors.New("the metadata has no SingleSignOnService with the HTTP-Redirect binding")
	}
	return p, p.checkKeys()
}

// checkKeys refuses metadata without a certificate that signs, or with a key that takes much time to verify with.
func (p Provider) checkKeys() error {
	signs := false
	for _, d := range p.entity.IDPSSODescriptors {
		for _, key := range d.KeyDescriptors {
			for _, certificate := range key.KeyInfo.X509Data.X509Certificates {
				signs = signs || key.Use == "" || key.Use == "signing"
				if isLong(certificate.Data) {
					return fmt.Errorf("the metadata has a certificate with an RSA key of more than %d bits", keysize.MaxRSA)
				}
			}
		}
	}
	if !signs {
		return errors.New("the metadata has no certificate for signing")
	}
	return nil
}

// isLong reports whether a certificate has a key above the limit. What is no certificate verifies nothing.
func isLong(text string) bool {
	raw, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil {
		return false
	}
	certificate, err := x509.ParseCertificate(raw)
	return err == nil && keysize.Above(certificate.PublicKey)
}

// EntityID names the provider.
func (p Provider) EntityID() string { return p.entity.EntityID }

// SignInURL returns the address that users are sent to.
func (p Provider) SignInURL() string { return p.signIn }

// Begin returns the address at the provider that the browser goes to, and the id of the request, which the response must
// name. The provider gives relayState back.
func (s Service) Begin(p Provider, relayState string) (address, requestID string, err error) {
	sp, err := s.provider(p.entity)
	if err != nil {
		return "", "", err
	}
	request, err := sp.MakeAuthenticationRequest(p.signIn, saml.HTTPRedirectBinding, saml.HTTPPostBinding)
	if err != nil {
		return "", "", err
	}
	request.NameIDPolicy = nil // the provider's administrator decides how it names users
	to, err := request.Redirect(relayState, sp)
	if err != nil {
		return "", "", err
	}
	return to.String(), request.ID, nil
}

// User describes whom the provider authenticated.
type User struct {
	Subject     string
	AssertionID string
	Expires     time.Time // of the assertion
	NameIsEmail bool      // the subject is an e-mail address
	attributes  map[string][]string
}

// Finish returns the user whom a response names that answers the request. Each of its errors means that the sign-in failed.
func (s Service) Finish(p Provider, response []byte, requestID string) (User, error) {
	if err := strict(response); err != nil {
		return User{}, err
	}
	sp, err := s.provider(p.entity)
	if err != nil {
		return User{}, err
	}
	assertion, err := sp.ParseXMLResponse(response, []string{requestID}, sp.AcsURL)
	if err != nil {
		var invalid *saml.InvalidResponseError
		if errors.As(err, &invalid) {
			err = invalid.PrivateErr
		}
		return User{}, fmt.Errorf("verify the response: %w", err)
	}
	return userOf(assertion)
}

func userOf(a *saml.Assertion) (User, error) {
	name := a.Subject.NameID
	switch {
	case name == nil || name.Value == "" || len(name.Value) > 1024:
		return User{}, errors.New("the assertion names no subject")
	case name.Format == string(saml.TransientNameIDFormat):
		return User{}, errors.New("the NameID is transient; let the provider send a persistent one or an e-mail address")
	}
	u := User{
		Subject: name.Value, AssertionID: a.ID, Expires: a.Conditions.NotOnOrAfter,
		NameIsEmail: name.Format == string(saml.EmailAddressNameIDFormat), attributes: map[string][]string{},
	}
	for _, statement := range a.AttributeStatements {
		for _, attribute := range statement.Attributes {
			var values []string
			for _, v := range attribute.Values {
				values = append(values, v.Value)
			}
			u.attributes[attribute.Name] = append(u.attributes[attribute.Name], values...)
			if friendly := attribute.FriendlyName; friendly != "" && friendly != attribute.Name {
				u.attributes[friendly] = append(u.attributes[friendly], values...)
			}
		}
	}
	return u, nil
}

// Values returns the values of an attribute, by its Name or FriendlyName.
func (u User) Values(attribute string) []string { return u.attributes[attribute] }

// first returns the first value of the first of the attributes that has one.
func (u User) first(attributes ...string) string {
	for _, a := range attributes {
		if values := u.attributes[a]; len(values) > 0 && values[0] != "" {
			return values[0]
		}
	}
	return ""
}

// Email returns the user's e-mail address: the attribute, if it is named, otherwise the usual ones or the subject.
func (u User) Email(attribute string) string {
	if attribute != "" {
		return u.first(attribute)
	}
	if u.NameIsEmail {
		return u.Subject
	}
	return u.first("email", "mail", "urn:oid:0.9.2342.19200300.100.1.3", "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress")
}

// Name returns the user's name, or "".
func (u User) Name() string {
	return u.first("displayName", "urn:oid:2.16.840.1.113730.3.1.241", "cn", "urn:oid:2.5.4.3", "http://schemas.microsoft.com/identity/claims/displayname")
}
