package sso_test

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/beevik/etree"
	"github.com/crewjam/saml"
	"github.com/google/go-cmp/cmp"

	"orgops/shared/domain/audit"
	domain "orgops/shared/domain/sso"
	"orgops/shared/domain/suspension"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/ssotest"
	"orgops/shared/testkit/webtest"
)

// idpOf starts an identity provider that knows the service.
func idpOf(s *service) *ssotest.IDP {
	return ssotest.NewIDP(s.t, s.now, func(path string) []byte { return s.Do("GET", path, "", nil).Want(200).Body })
}

// TestSAML_Refreshed keeps what a founder stores while the metadata is read again.
func TestSAML_Refreshed(t *testing.T) {
	t.Parallel()
	s := setup(t)
	p := idpOf(s)
	var founder atomic.Pointer[func()]
	slow := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if change := founder.Swap(nil); change != nil {
			(*change)()
		}
		p.ServeMetadata(w, r)
	}))
	t.Cleanup(slow.Close)
	config := func(attribute string) object {
		return object{"protocol": "saml", "saml": object{"metadataUrl": slow.URL, "emailAttribute": attribute}}
	}
	s.configure(config("mail"), nil).Want(200)
	s.passed.Add(int64(2 * time.Hour))
	change := func() { s.configure(config("upn"), nil).Want(200) }
	founder.Store(&change)
	s.browser().start(nil)
	stored, _, err := domain.Load(t.Context(), store.For(s.Store, s.A.ID))
	errtest.Must(t, err)
	if got := stored.SAML.EmailAttribute; got != "upn" {
		t.Errorf("the address is read from %q, want upn, as the founder has stored", got)
	}
}

// TestSAML signs a user in twice at crewjam/saml's identity provider.
func TestSAML(t *testing.T) {
	t.Parallel()
	s := setup(t)
	p := idpOf(s)
	s.configure(p.Config(), nil).Want(200)
	b := s.browser()
	first := s.claims(codeOf(t, b.post(p.Answer(b.start(nil)))))
	made := s.user(first.Subject)
	if diff := cmp.Diff(user.User{
		ID: first.Subject, Email: "grace@acme.test", Name: "Grace Hopper", Role: user.Member, State: user.Active,
		Identity: store.IdentityKey(s.A.ID, p.MetadataURL.String(), "grace@acme.test"), CreatedAt: made.CreatedAt,
	}, made); diff != "" {
		t.Errorf("user (-want +got):\n%s", diff)
	}
	if got := s.claims(codeOf(t, b.post(p.Answer(b.start(nil))))).Subject; got != first.Subject {
		t.Errorf("the second sign-in is user %s, want %s", got, first.Subject)
	}
}

// TestSAML_Suspended neither ends nor begins a sign-in of a suspended company, and writes nothing into it: no user, no code, no mark
// of the assertion.
func TestSAML_Suspended(t *testing.T) {
	t.Parallel()
	s := setup(t)
	p := idpOf(s)
	s.configure(p.Config(), nil).Want(200)
	b := s.browser()
	code := codeOf(t, b.post(p.Answer(b.start(nil))))
	under := p.Answer(b.start(nil))
	c := store.For(s.Store, s.A.ID)
	_, err := suspension.Suspend(t.Context(), c, "unpaid", s.now())
	errtest.Must(t, err)
	before := keys(t, c)
	b.post(under)
	b.send("GET", "/auth/sso/"+s.A.ID+"/start?code_challenge_method=S256&code_challenge="+domain.Challenge(verifier), nil).WantProblem(403, "suspended")
	s.exchange(code, nil).WantProblem(403, "suspended")
	if diff := cmp.Diff(before, keys(t, c)); diff != "" {
		t.Errorf("items differ (-before +after):\n%s", diff)
	}
}

// keys lists a company's items with their versions, apart from audit records of refusals.
func keys(t *testing.T, c store.Company) map[string]int64 {
	t.Helper()
	all := map[string]int64{}
	for item, err := range c.Items(t.Context(), store.Query{}) {
		errtest.Must(t, err)
		if item.Entity != audit.Entity {
			all[item.Key] = item.Version
		}
	}
	return all
}

// TestSAML_Cookie gives the cookie of a SAML sign-in to a form that another site posts, which Lax would keep back.
func TestSAML_Cookie(t *testing.T) {
	t.Parallel()
	s := setup(t)
	s.configure(idpOf(s).Config(), nil).Want(200)
	b := s.browser()
	b.start(nil)
	if len(b.cookies["__Host-orgops-saml"]) != 26 {
		t.Errorf("cookies = %v, want a secret of SAML's own", b.cookies)
	}
}

// TestSAML_Rotation reads the metadata again once it is an hour old, and so accepts the provider's new key.
func TestSAML_Rotation(t *testing.T) {
	t.Parallel()
	s := setup(t)
	p := idpOf(s)
	s.configure(p.Config(), nil).Want(200)
	p.Key, p.Certificate = ssotest.NewCertificate(t)
	b := s.browser()
	refusal(t, b.post(p.Answer(b.start(nil))), 401)
	s.passed.Add(int64(61 * time.Minute))
	codeOf(t, b.post(p.Answer(b.start(nil))))
	p.Server.Close()
	s.passed.Add(int64(61 * time.Minute))
	codeOf(t, b.post(p.Answer(b.start(nil))))
}

// samlAttack plays an attack and returns the last answer.
type samlAttack func(s *service, p *ssotest.IDP) *webtest.Response

// TestSAML_Attacks plays each attack on a sign-in by SAML. Before each, the same provider signs a user in, without a signature
// of the response, so that the attack alone explains the refusal.
func TestSAML_Attacks(t *testing.T) {
	t.Parallel()
	attacks := []struct {
		name   string
		status int
		detail string // in the answer
		play   samlAttack
	}{
		{"wrong audience", 401, "AudienceRestriction", told(func(a *saml.Assertion) {
			a.Conditions.AudienceRestrictions[0].Audience.Value = "https://another.example.com"
		})},
		{"no audience", 401, "no audience", told(func(a *saml.Assertion) { a.Conditions.AudienceRestrictions = nil })},
		{"no conditions", 401, "no audience", told(func(a *saml.Assertion) { a.Conditions = nil })},
		{"no end", 401, "no end", told(func(a *saml.Assertion) { a.Conditions.NotOnOrAfter = time.Time{} })},
		{"expired", 401, "expired", told(func(a *saml.Assertion) { a.Conditions.NotOnOrAfter = time.Now().Add(-10 * time.Minute) })},
		{"of the future", 401, "not yet valid", told(func(a *saml.Assertion) { a.Conditions.NotBefore = time.Now().Add(10 * time.Minute) })},
		{"issued long ago", 401, "expired", told(func(a *saml.Assertion) { a.IssueInstant = time.Now().Add(-time.Hour) })},
		{"confirmation expired", 401, "expired", told(confirmed(func(d *saml.SubjectConfirmationData) { d.NotOnOrAfter = time.Now().Add(-time.Hour) }))},
		{"another recipient", 401, "Recipient", told(confirmed(func(d *saml.SubjectConfirmationData) { d.Recipient = "https://another.example.com/acs" }))},
		{"another request", 401, "request", told(confirmed(func(d *saml.SubjectConfirmationData) { d.InResponseTo = "id-another" }))},
		{"no confirmation", 401, "confirmation", told(func(a *saml.Assertion) { a.Subject.SubjectConfirmations = nil })},
		{"confirmation of another method", 401, "bearer", told(func(a *saml.Assertion) {
			a.Subject.SubjectConfirmations[0].Method = "urn:oasis:names:tc:SAML:2.0:cm:sender-vouches"
		})},
		{"another issuer", 401, "issuer", told(func(a *saml.Assertion) { a.Issuer.Value = "https://another.example.com" })},
		{"no subject", 401, "no subject", told(func(a *saml.Assertion) { a.Subject = nil })},
		{"transient name", 401, "transient", told(func(a *saml.Assertion) { a.Subject.NameID.Format = string(saml.TransientNameIDFormat) })},
		{"e-mail of a founder", 403, "password", told(func(a *saml.Assertion) { a.Subject.NameID.Value = "ada@acme.test" })},

		{"key of a stranger", 401, "signature", func(s *service, p *ssotest.IDP) *webtest.Response {
			p.Key, p.Certificate = ssotest.NewCertificate(s.t)
			return told(nil)(s, p)
		}},
		{"SHA-1", 401, "algorithm", func(s *service, p *ssotest.IDP) *webtest.Response {
			p.SignatureMethod = "http://www.w3.org/2000/09/xmldsig#rsa-sha1"
			return told(nil)(s, p)
		}},
		{"signed response, unsigned assertion", 401, "0 signatures", func(s *service, p *ssotest.IDP) *webtest.Response {
			p.Make = func(req *saml.IdpAuthnRequest) { req.AssertionEl = req.Assertion.Element() }
			b := s.browser()
			return b.post(p.Answer(b.start(nil)))
		}},
		{"unsigned assertion", 401, "0 signatures", edited(func(r *etree.Element) { assertionOf(r).RemoveChild(assertionOf(r).SelectElement("Signature")) })},
		{"changed name", 401, "verify", edited(func(r *etree.Element) { nameOf(assertionOf(r)).SetText("ada@acme.test") })},
		{"comment in the name", 401, "comment", edited(func(r *etree.Element) {
			name := nameOf(assertionOf(r))
			name.SetText("grace@")
			name.CreateComment("")
			name.CreateText("acme.test")
		})},
		{"entity of a document type", 401, "document type", raw(func(text string) string { return `<!DOCTYPE r [<!ENTITY e "ada">]>` + text })},
		{"more than 1,000 elements", 401, "1000 elements", edited(func(r *etree.Element) {
			for range 1001 {
				assertionOf(r).CreateElement("saml:Advice")
			}
		})},
		{"elements that hide the signature's", 401, "verify", edited(func(r *etree.Element) {
			for range 700 {
				assertionOf(r).CreateElement("saml:Advice")
			}
		})},
		{"processing instruction", 401, "processing instruction", raw(func(text string) string { return text + "<?php x ?>" })},
		{"no XML", 401, "XML", raw(func(string) string { return "<" })},
		{"no response", 401, "no SAML response", raw(func(string) string { return "<a/>" })},
		{"nested 10,000 deep", 401, "deep", raw(func(string) string { return strings.Repeat("<a>", 10000) + strings.Repeat("</a>", 10000) })},
		{"two assertions with one id", 401, "", edited(func(r *etree.Element) { r.AddChild(assertionOf(r).Copy()) })},
		{"failed status", 401, "", edited(func(r *etree.Element) {
			r.FindElement("./Status/StatusCode").CreateAttr("Value", saml.StatusAuthnFailed)
		})},
		{"response to another destination", 401, "Destination", edited(func(r *etree.Element) { r.CreateAttr("Destination", "https://another.example.com/acs") })},
		{"response to another request", 401, "InResponseTo", edited(func(r *etree.Element) { r.CreateAttr("InResponseTo", "id-another") })},

		{"signature wrapping 1: signed response in the signature", 401, "", wrapped(func(r, signed, evil *etree.Element) {
			whole := r.Copy()
			r.RemoveChild(signed)
			r.AddChild(evil)
			moveSignature(signed, r).AddChild(whole)
		})},
		{"signature wrapping 2: signed response before the signature", 401, "", wrapped(func(r, signed, evil *etree.Element) {
			whole := r.Copy()
			r.RemoveChild(signed)
			r.InsertChildAt(0, whole)
			moveSignature(signed, r)
			r.AddChild(evil)
		})},
		{"signature wrapping 3: forged assertion first", 401, "", wrapped(func(r, signed, evil *etree.Element) { r.InsertChildAt(signed.Index(), evil) })},
		{"signature wrapping 3b: forged assertion last", 401, "", wrapped(func(r, _, evil *etree.Element) { r.AddChild(evil) })},
		{"signature wrapping 4: signed assertion in the forged one", 401, "", wrapped(func(r, signed, evil *etree.Element) {
			r.RemoveChild(signed)
			evil.AddChild(signed)
			r.AddChild(evil)
		})},
		{"signature wrapping 5: signature in the forged assertion", 401, "", wrapped(func(r, signed, evil *etree.Element) {
			moveSignature(signed, evil)
			r.InsertChildAt(signed.Index(), evil)
		})},
		{"signature wrapping 6: signed assertion in the forged one's signature", 401, "", wrapped(func(r, signed, evil *etree.Element) {
			r.RemoveChild(signed)
			moveSignature(signed, evil).AddChild(signed)
			r.AddChild(evil)
		})},
		{"signature wrapping 7: forged assertion in an extension", 401, "", wrapped(func(r, signed, evil *etree.Element) {
			extensions := etree.NewElement("samlp:Extensions")
			extensions.AddChild(evil)
			r.InsertChildAt(signed.Index(), extensions)
		})},
		{"signature wrapping 8: signed assertion in an object", 401, "", wrapped(func(r, signed, evil *etree.Element) {
			r.RemoveChild(signed)
			object := etree.NewElement("ds:Object")
			signature := moveSignature(signed, evil)
			object.AddChild(signed)
			signature.AddChild(object)
			r.AddChild(evil)
		})},
		{"signature wrapping 9: forged assertion of the signed one's id", 401, "", wrapped(func(r, signed, evil *etree.Element) {
			evil.CreateAttr("ID", signed.SelectAttrValue("ID", ""))
			moveSignature(signed, evil)
			r.InsertChildAt(signed.Index(), evil)
		})},
		{"signature wrapping 10: assertion of another namespace", 401, "", wrapped(func(r, signed, evil *etree.Element) {
			evil.Space = ""
			evil.CreateAttr("xmlns", "urn:another")
			r.InsertChildAt(signed.Index(), evil)
		})},

		{"response played again", 401, "was used", responseAgain},
		{"response in another sign-in", 401, "InResponseTo", responseElsewhere},
		{"response without a request", 401, "unknown", responseUnasked},
		{"form in another browser", 401, "another browser", formElsewhere},
		{"response after its time", 401, "expired", responseLate},
		{"provider replaced during the sign-in", 401, "changed", idpReplaced},
		{"relay state of OpenID Connect", 401, "changed", relayOfOIDC},
	}
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			s := setup(t)
			p := idpOf(s)
			s.configure(p.Config(), nil).Want(200)
			b := s.browser()
			codeOf(t, b.post(p.Edit(p.Answer(b.start(nil)), func(*etree.Element) {})))
			problem := refusal(t, a.play(s, p), a.status)
			if !strings.Contains(problem, a.detail) {
				t.Errorf("detail = %q, want one with %q", problem, a.detail)
			}
		})
	}
	t.Logf("%d attacks", len(attacks))
}

func assertionOf(response *etree.Element) *etree.Element { return response.SelectElement("Assertion") }

func nameOf(assertion *etree.Element) *etree.Element {
	return assertion.FindElement("./Subject/NameID")
}

// told signs in with an assertion that the provider was made to sign.
func told(lie func(*saml.Assertion)) samlAttack {
	return func(s *service, p *ssotest.IDP) *webtest.Response {
		p.Lie = lie
		b := s.browser()
		return b.post(p.Answer(b.start(nil)))
	}
}

func confirmed(change func(*saml.SubjectConfirmationData)) func(*saml.Assertion) {
	return func(a *saml.Assertion) { change(a.Subject.SubjectConfirmations[0].SubjectConfirmationData) }
}

// edited signs in with a response that was changed after it was signed.
func edited(change func(*etree.Element)) samlAttack {
	return func(s *service, p *ssotest.IDP) *webtest.Response {
		b := s.browser()
		return b.post(p.Edit(p.Answer(b.start(nil)), change))
	}
}

func raw(change func(string) string) samlAttack {
	return func(s *service, p *ssotest.IDP) *webtest.Response {
		b := s.browser()
		f := p.Answer(b.start(nil))
		text, err := base64.StdEncoding.DecodeString(f.Response)
		if err != nil {
			s.t.Fatal(err)
		}
		f.Response = base64.StdEncoding.EncodeToString([]byte(change(string(text))))
		return b.post(f)
	}
}

// wrapped signs in with a forged assertion, for a signature that covers the true one.
func wrapped(wrap func(response, signed, evil *etree.Element)) samlAttack {
	return edited(func(r *etree.Element) {
		signed := assertionOf(r)
		evil := signed.Copy()
		evil.RemoveChild(evil.SelectElement("Signature"))
		evil.CreateAttr("ID", "_evil")
		nameOf(evil).SetText("eve@acme.test")
		wrap(r, signed, evil)
	})
}

// moveSignature moves the signature of an assertion into another element, and returns it.
func moveSignature(from, to *etree.Element) *etree.Element {
	signature := from.SelectElement("Signature")
	from.RemoveChild(signature)
	to.AddChild(signature)
	return signature
}

func responseAgain(s *service, p *ssotest.IDP) *webtest.Response {
	b := s.browser()
	f := p.Answer(b.start(nil))
	codeOf(s.t, b.post(f))
	return b.post(f)
}

// responseElsewhere posts a used response into a new sign-in of the same browser.
func responseElsewhere(s *service, p *ssotest.IDP) *webtest.Response {
	b := s.browser()
	f := p.Answer(b.start(nil))
	codeOf(s.t, b.post(f))
	f.Relay = p.Answer(b.start(nil)).Relay
	return b.post(f)
}

func responseUnasked(s *service, p *ssotest.IDP) *webtest.Response {
	b := s.browser()
	f := p.Answer(b.start(nil))
	f.Relay = strings.Repeat("A", 26)
	return b.post(f)
}

func formElsewhere(s *service, p *ssotest.IDP) *webtest.Response {
	eve, victim := s.browser(), s.browser()
	victim.start(nil)
	return victim.post(p.Answer(eve.start(nil)))
}

func responseLate(s *service, p *ssotest.IDP) *webtest.Response {
	b := s.browser()
	f := p.Answer(b.start(nil))
	s.passed.Add(int64(11 * time.Minute))
	return b.post(f)
}

func idpReplaced(s *service, p *ssotest.IDP) *webtest.Response {
	b := s.browser()
	f := p.Answer(b.start(nil))
	s.configure(idpOf(s).Config(), nil).Want(200)
	return b.post(f)
}

func relayOfOIDC(s *service, p *ssotest.IDP) *webtest.Response {
	b := s.browser()
	f := p.Answer(b.start(nil))
	s.configure(ssotest.NewProvider(s.t).Config(), nil).Want(200)
	_, f.Relay, _ = strings.Cut(b.start(nil).Query().Get("state"), ".")
	b.cookies["__Host-orgops-saml"] = b.cookies["__Host-orgops-sso"]
	return b.post(f)
}

// TestSAML_Form refuses a body that is no such form.
func TestSAML_Form(t *testing.T) {
	t.Parallel()
	s := setup(t)
	path := "/auth/saml/" + s.A.ID + "/acs"
	const media = "application/x-www-form-urlencoded"
	for _, body := range []string{"", "SAMLResponse=AA", "RelayState=AA", "SAMLResponse=AA&SAMLResponse=AA&RelayState=A", "SAMLResponse=%zz&RelayState=A"} {
		if got := s.Do("POST", path, "", body, "Content-Type", media).Status; got != 400 {
			t.Errorf("form %q: status = %d, want 400", body, got)
		}
	}
	s.Do("POST", path, "", "SAMLResponse=!&RelayState=A", "Content-Type", media).WantProblem(401, "unauthenticated")
	s.Do("POST", path, "", "{}").WantProblem(415, "unsupported-media-type")
	s.Do("POST", path, "", "SAMLResponse="+strings.Repeat("A", 300<<10), "Content-Type", media).WantProblem(413, "too-large")
	s.Do("POST", "/auth/saml/not%20an%20id/acs", "", url.Values{"SAMLResponse": {"AA=="}, "RelayState": {"A"}}.Encode(), "Content-Type", media).WantProblem(401, "unauthenticated")
}

// post posts a form to the assertion consumer service of company A.
func (b *browser) post(f ssotest.Form) *webtest.Response {
	b.t.Helper()
	body := url.Values{"SAMLResponse": {f.Response}, "RelayState": {f.Relay}}.Encode()
	return b.send("POST", "/auth/saml/"+b.A.ID+"/acs", body, "Content-Type", "application/x-www-form-urlencoded")
}

// TestSAML_Metadata shows a document without an end of validity, which a provider would take for expired.
func TestSAML_Metadata(t *testing.T) {
	t.Parallel()
	s := setup(t)
	got := string(s.Do("GET", "/auth/saml/"+s.A.ID+"/metadata", "", nil).Want(200).Body)
	for _, want := range []string{`entityID="` + base + "/auth/saml/" + s.A.ID + `/metadata"`, `WantAssertionsSigned="true"`, `Location="` + base + "/auth/saml/" + s.A.ID + `/acs"`} {
		if !strings.Contains(got, want) {
			t.Errorf("metadata = %s, want it with %s", got, want)
		}
	}
	if strings.Contains(got, "validUntil") {
		t.Errorf("metadata = %s, want none with validUntil", got)
	}
}
