package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"time"

	"orgops/shared/domain/company"
	"orgops/shared/domain/sso"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/ssotest"
)

const (
	ssoPath     = "/operations/sso"
	ssoVerifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
)

// enterprise gives the company the plan with single sign-on.
func (w *world) enterprise() {
	w.t.Helper()
	found, version, err := company.Get(w.t.Context(), w.tenant())
	errtest.Must(w.t, err)
	found.Plan = sso.Plan
	errtest.Must(w.t, w.tenant().Commit(w.t.Context(), w.tenant().Replace(company.Key, company.Entity, version, found).Quietly()))
}

func putSSO(config ssotest.Object) func(*world) ask {
	return func(w *world) ask {
		text, err := json.Marshal(config)
		errtest.Must(w.t, err)
		return ask{method: http.MethodPut, path: ssoPath, body: string(text)}
	}
}

// oidc configures an OpenID provider.
func (w *world) oidc() *ssotest.Provider {
	w.enterprise()
	p := ssotest.NewProvider(w.t)
	p.Claims = ssotest.Object{"iat": w.clock.Now().Unix(), "exp": w.clock.Now().Add(time.Hour).Unix()}
	w.call(putSSO(p.Config())(w))
	return p
}

// saml configures a SAML provider.
func (w *world) saml() *ssotest.IDP {
	w.enterprise()
	p := ssotest.NewIDP(w.t, w.clock.Now, func(path string) []byte {
		out := httptest.NewRecorder()
		w.server().ServeHTTP(out, httptest.NewRequest(http.MethodGet, path, nil))
		return out.Body.Bytes()
	})
	w.call(putSSO(p.Config())(w))
	return p
}

func (w *world) startSignIn() ask {
	query := url.Values{"code_challenge": {sso.Challenge(ssoVerifier)}, "code_challenge_method": {"S256"}}
	return ask{method: http.MethodGet, path: "//auth/sso/" + w.company + "/start?" + query.Encode(), status: http.StatusFound}
}

// led sends a request and returns where it leads, with the cookie.
func (w *world) led(a ask) (to *url.URL, cookie http.Header) {
	w.t.Helper()
	out := httptest.NewRecorder()
	r := httptest.NewRequest(a.method, a.path[1:], nil)
	r.Header = a.header
	w.server().ServeHTTP(out, r)
	to, err := url.Parse(out.Header().Get("Location"))
	errtest.Must(w.t, err)
	cookie = http.Header{}
	for _, c := range out.Result().Cookies() {
		cookie.Set("Cookie", c.Name+"="+c.Value)
	}
	return to, cookie
}

// finishOIDC returns the request with which a sign-in at p ends.
func (w *world) finishOIDC(p *ssotest.Provider) ask {
	to, cookie := w.led(w.startSignIn())
	return ask{method: http.MethodGet, path: "//auth/sso/callback?" + p.Authorize(to).RawQuery, header: cookie, status: http.StatusFound}
}

// finishSAML returns the request with which a sign-in at p ends.
func (w *world) finishSAML(p *ssotest.IDP) ask {
	to, header := w.led(w.startSignIn())
	form := p.Answer(to)
	header.Set("Content-Type", "application/x-www-form-urlencoded")
	return ask{
		method: http.MethodPost, path: "//auth/saml/" + w.company + "/acs", header: header, status: http.StatusFound,
		body: url.Values{"SAMLResponse": {form.Response}, "RelayState": {form.Relay}}.Encode(),
	}
}

func ssoRequests() map[string]func(*world) ask {
	return map[string]func(*world) ask{
		"get-sso":    after(func(w *world) { w.oidc() }, get(ssoPath)),
		"delete-sso": after(func(w *world) { w.oidc() }, func(*world) ask { return ask{method: http.MethodDelete, path: ssoPath} }),
		"put-sso": func(w *world) ask {
			w.enterprise()
			return putSSO(ssotest.NewProvider(w.t).Config())(w)
		},
		"start-sign-in": func(w *world) ask {
			w.oidc()
			return w.startSignIn()
		},
		"finish-oidc-sign-in": func(w *world) ask {
			p := w.oidc()
			w.led(w.finishOIDC(p))
			return w.finishOIDC(p)
		},
		"finish-oidc-sign-in, of a new user": func(w *world) ask { return w.finishOIDC(w.oidc()) },
		"finish-saml-sign-in": func(w *world) ask {
			p := w.saml()
			w.call(w.finishSAML(p))
			return w.finishSAML(p)
		},
		"issue-token": func(w *world) ask {
			end, _ := w.led(w.finishOIDC(w.oidc()))
			query, err := url.Parse(end.Fragment)
			errtest.Must(w.t, err)
			return ask{
				method: http.MethodPost, path: "//auth/token",
				body: `{"grant_type":"authorization_code","code":"` + query.Query().Get("code") + `","code_verifier":"` + ssoVerifier + `"}`,
			}
		},
	}
}
