package ssotest

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/xml"
	"io/fs"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/beevik/etree"
	"github.com/crewjam/saml"
	dsig "github.com/russellhaering/goxmldsig"

	"orgops/shared/testkit/errtest"
)

// IDP is crewjam/saml's identity provider. A test changes its fields between sign-ins.
type IDP struct {
	*saml.IdentityProvider
	Server  *httptest.Server            // of the metadata
	Session saml.Session                // of the user who is logged in there
	Lie     func(*saml.Assertion)       // changes an assertion before it is signed
	Make    func(*saml.IdpAuthnRequest) // makes the response's assertion; nil: as usual

	t    testing.TB
	now  func() time.Time
	read func(path string) []byte
}

// NewIDP starts a provider whose clock is now. It reads the service's metadata with read.
func NewIDP(t testing.TB, now func() time.Time, read func(path string) []byte) *IDP {
	t.Helper()
	key, certificate := NewCertificate(t)
	p := &IDP{t: t, now: now, read: read, Session: saml.Session{
		ID: "session", CreateTime: now().UTC(), ExpireTime: now().UTC().Add(time.Hour), Index: "1",
		NameID: "grace@acme.test", NameIDFormat: string(saml.EmailAddressNameIDFormat), Groups: []string{"staff"}, UserCommonName: "Grace Hopper",
	}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metadata", func(w http.ResponseWriter, r *http.Request) { p.ServeMetadata(w, r) })
	p.Server = httptest.NewServer(mux)
	t.Cleanup(p.Server.Close)
	address, err := url.Parse(p.Server.URL)
	errtest.Must(t, err)
	p.IdentityProvider = &saml.IdentityProvider{
		Key: key, Certificate: certificate, MetadataURL: *address.JoinPath("metadata"), SSOURL: *address.JoinPath("sso"), ServiceProviderProvider: p,
		SignatureMethod: "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256", Clock: dsig.NewFakeClockAt(now()),
	}
	return p
}

// NewCertificate makes a key and its certificate.
func NewCertificate(t testing.TB) (*rsa.PrivateKey, *x509.Certificate) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	errtest.Must(t, err)
	return key, certify(t, key, key.Public())
}

// LongCertificate makes the certificate of an RSA key of a number of bits, of which no private key is known.
func LongCertificate(t testing.TB, bits int) *x509.Certificate {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	errtest.Must(t, err)
	n := new(big.Int).Lsh(big.NewInt(1), uint(bits))
	return certify(t, key, &rsa.PublicKey{N: n.Sub(n, big.NewInt(1)), E: 65537})
}

func certify(t testing.TB, key *rsa.PrivateKey, public any) *x509.Certificate {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "idp"}, NotBefore: time.Unix(0, 0), NotAfter: time.Now().AddDate(50, 0, 0),
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, public, key)
	errtest.Must(t, err)
	certificate, err := x509.ParseCertificate(raw)
	errtest.Must(t, err)
	return certificate
}

// GetServiceProvider reads this service's metadata, as the administrator of a provider does.
func (p *IDP) GetServiceProvider(_ *http.Request, entityID string) (*saml.EntityDescriptor, error) {
	address, err := url.Parse(entityID)
	errtest.Must(p.t, err)
	var entity saml.EntityDescriptor
	errtest.Must(p.t, xml.Unmarshal(p.read(address.Path), &entity))
	if entity.EntityID != entityID {
		return nil, fs.ErrNotExist
	}
	return &entity, nil
}

// Config returns a configuration with the provider, whose metadata is read at its address.
func (p *IDP) Config() Object {
	return Object{"protocol": "saml", "saml": Object{"metadataUrl": p.MetadataURL.String()}}
}

// Form holds what the provider's page posts.
type Form struct{ Response, Relay string }

// Answer answers the request that the browser brought.
func (p *IDP) Answer(request *url.URL) Form {
	p.t.Helper()
	p.Clock = dsig.NewFakeClockAt(p.now())
	req, err := saml.NewIdpAuthnRequest(p.IdentityProvider, httptest.NewRequest(http.MethodGet, request.String(), nil))
	errtest.Must(p.t, err)
	errtest.Must(p.t, req.Validate())
	errtest.Must(p.t, saml.DefaultAssertionMaker{}.MakeAssertion(req, &p.Session))
	if p.Lie != nil {
		p.Lie(req.Assertion)
	}
	if p.Make != nil {
		p.Make(req)
	}
	out, err := req.PostBinding()
	errtest.Must(p.t, err)
	return Form{out.SAMLResponse, out.RelayState}
}

// Edit returns the form with a changed response. The response's own signature is removed, so that the assertion's decides.
func (p *IDP) Edit(f Form, change func(response *etree.Element)) Form {
	p.t.Helper()
	raw, err := base64.StdEncoding.DecodeString(f.Response)
	errtest.Must(p.t, err)
	doc := etree.NewDocument()
	errtest.Must(p.t, doc.ReadFromBytes(raw))
	if signature := doc.Root().SelectElement("Signature"); signature != nil {
		doc.Root().RemoveChild(signature)
	}
	change(doc.Root())
	raw, err = doc.WriteToBytes()
	errtest.Must(p.t, err)
	return Form{base64.StdEncoding.EncodeToString(raw), f.Relay}
}
