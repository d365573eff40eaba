package samllogin_test

import (
	"encoding/base64"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"orgops/shared/identity/samllogin"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/ssotest"
)

const (
	metadataStart = `<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="https://idp.test">`
	idp           = `<IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">` +
		`<KeyDescriptor use="signing"><KeyInfo xmlns="http://www.w3.org/2000/09/xmldsig#"><X509Data><X509Certificate>%s</X509Certificate></X509Data></KeyInfo></KeyDescriptor>` +
		`<SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="https://idp.test/sso"/></IDPSSODescriptor>`
	responseStart = `<p:Response xmlns:p="urn:oasis:names:tc:SAML:2.0:protocol" xmlns:a="urn:oasis:names:tc:SAML:2.0:assertion" ID="r" InResponseTo="q" Version="2.0" Destination="https://orgops.test/acs"`
	assertion     = `<a:Assertion ID="x" Version="2.0"><Signature xmlns="http://www.w3.org/2000/09/xmldsig#"><SignedInfo>` +
		`<SignatureMethod Algorithm="http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"/><Reference URI="#x"><DigestMethod Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"/>` +
		`<DigestValue>AA==</DigestValue></Reference></SignedInfo><SignatureValue>AA==</SignatureValue></Signature><a:Subject><a:NameID>ada</a:NameID>` +
		`<a:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer"><a:SubjectConfirmationData/></a:SubjectConfirmation></a:Subject>` +
		`<a:Conditions NotOnOrAfter="2099-01-01T00:00:00Z"><a:AudienceRestriction/></a:Conditions>`
)

func service() samllogin.Service {
	return samllogin.Service{EntityID: "https://orgops.test/metadata", ACS: "https://orgops.test/acs", Now: time.Now()}
}

func provider(t testing.TB) samllogin.Provider {
	t.Helper()
	_, certificate := ssotest.NewCertificate(t)
	described := fmt.Sprintf(metadataStart+idp, base64.StdEncoding.EncodeToString(certificate.Raw))
	p, err := samllogin.Parse([]byte(described+"</EntityDescriptor>"), time.Now())
	errtest.Must(t, err)
	return p
}

// namespaced declares n namespaces on one element, each with a short name of its own.
func namespaced(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, ` xmlns:n%d="u"`, i)
	}
	return b.String()
}

// TestFinish_Bounds refuses a response beyond a bound before it builds a tree, and never panics.
func TestFinish_Bounds(t *testing.T) {
	t.Parallel()
	p := provider(t)
	values := func(n int) string { return strings.Repeat("<a:V/>", n) }
	for name, tt := range map[string]struct{ response, want string }{
		"within the bounds":    {responseStart + ">" + assertion + values(900) + "</a:Assertion></p:Response>", "verify the response"},
		"elements":             {responseStart + ">" + assertion + values(1000) + "</a:Assertion></p:Response>", "more than 1000 elements"},
		"attributes":           {responseStart + strings.Repeat(` k="v"`, 70) + "></p:Response>", "more than 64 attributes"},
		"namespaces":           {responseStart + ">" + "<b" + namespaced(40) + "><c" + namespaced(40) + "/></b></p:Response>", "more than 64 namespaces"},
		"namespaces apart":     {responseStart + ">" + strings.Repeat("<b"+namespaced(40)+"/>", 100) + "</p:Response>", "0 assertions"},
		"depth":                {responseStart + ">" + strings.Repeat("<b>", 70) + strings.Repeat("</b>", 70) + "</p:Response>", "nested more than 64"},
		"ends without a start": {"</b></b>" + responseStart + "></p:Response>", "the response "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := service().Finish(p, []byte(tt.response), "q"); !strings.Contains(fmt.Sprint(err), tt.want) {
				t.Errorf("error = %v, want one with %q", err, tt.want)
			}
		})
	}
}

// TestParse_Bounds refuses metadata beyond a bound.
func TestParse_Bounds(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ metadata, want string }{
		"elements":   {metadataStart + strings.Repeat("<b/>", 5000) + "</EntityDescriptor>", "more than 5000 elements"},
		"attributes": {metadataStart + "<b" + strings.Repeat(` k="v"`, 70) + "/></EntityDescriptor>", "more than 64 attributes"},
		"namespaces": {metadataStart + "<b" + namespaced(64) + "/></EntityDescriptor>", "more than 64 namespaces"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := samllogin.Parse([]byte(tt.metadata), time.Now()); !strings.Contains(fmt.Sprint(err), tt.want) {
				t.Errorf("error = %v, want one with %q", err, tt.want)
			}
		})
	}
}

// allocated returns the bytes that a call allocates. Tests that use it do not run in parallel.
func allocated(call func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	call()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestFinish_Linear reads twice as long a response with at most about twice the work, in each direction in which one may grow.
//
//nolint:paralleltest // it measures the allocations of the process
func TestFinish_Linear(t *testing.T) {
	p := provider(t)
	for name, response := range map[string]func(n int) string{
		"elements": func(n int) string {
			return responseStart + ">" + assertion + strings.Repeat("<a:V/>", 4*n) + "</a:Assertion></p:Response>"
		},
		"namespaces": func(n int) string {
			return responseStart + namespaced(n/4) + ">" + assertion + "</a:Assertion></p:Response>"
		},
		"a text": func(n int) string {
			return responseStart + ">" + assertion + strings.Repeat("x", 400*n) + "</a:Assertion></p:Response>"
		},
		"refused": func(n int) string {
			return responseStart + namespaced(100*n) + ">" + assertion + "</a:Assertion></p:Response>"
		},
	} {
		work := func(n int) uint64 {
			text := []byte(response(n))
			return allocated(func() { _, _ = service().Finish(p, text, "q") })
		}
		work(100)
		if once, twice := work(100), work(200); twice > 3*once {
			t.Errorf("%s: %d bytes, and %d for twice as many", name, once, twice)
		}
	}
}

// FuzzFinish never accepts a response without the provider's key, and never panics.
func FuzzFinish(f *testing.F) {
	p := provider(f)
	f.Add([]byte(responseStart + ">" + assertion + "</a:Assertion></p:Response>"))
	f.Add([]byte(responseStart + namespaced(20) + "><b" + namespaced(20) + "/></p:Response>"))
	f.Add([]byte("</b><a/>"))
	f.Fuzz(func(t *testing.T, response []byte) {
		if _, err := service().Finish(p, response, "q"); err == nil {
			t.Errorf("accepted: %q", response)
		}
	})
}

// FuzzParse never panics, and returns no provider without an address.
func FuzzParse(f *testing.F) {
	f.Add([]byte(fmt.Sprintf(metadataStart+idp+"</EntityDescriptor>", "AA==")))
	f.Add([]byte(metadataStart))
	f.Fuzz(func(t *testing.T, metadata []byte) {
		p, err := samllogin.Parse(metadata, time.Now())
		if err == nil && p.SignInURL() == "" {
			t.Errorf("a provider without an address: %q", metadata)
		}
	})
}

// TestParse_LongKey refuses metadata with a key so long that each response would take much time, among others too.
func TestParse_LongKey(t *testing.T) {
	t.Parallel()
	_, usual := ssotest.NewCertificate(t)
	for bits, want := range map[int]string{8192: "<nil>", 16384: "the metadata has a certificate with an RSA key of more than 8192 bits"} {
		long := ssotest.LongCertificate(t, bits)
		var keys strings.Builder
		for _, certificate := range [][]byte{usual.Raw, long.Raw} {
			text := base64.StdEncoding.EncodeToString(certificate)
			fmt.Fprintf(&keys, `<KeyDescriptor><KeyInfo xmlns="http://www.w3.org/2000/09/xmldsig#"><X509Data><X509Certificate>%s&#10; %s</X509Certificate></X509Data></KeyInfo></KeyDescriptor>`, text[:64], text[64:])
		}
		described := metadataStart + strings.Replace(idp, `<KeyDescriptor use="signing"><KeyInfo xmlns="http://www.w3.org/2000/09/xmldsig#"><X509Data><X509Certificate>%s</X509Certificate></X509Data></KeyInfo></KeyDescriptor>`, keys.String(), 1) + "</EntityDescriptor>"
		if _, err := samllogin.Parse([]byte(described), time.Now()); fmt.Sprint(err) != want {
			t.Errorf("a key of %d bits: error = %v, want %s", bits, err, want)
		}
	}
}
