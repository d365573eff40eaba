package acceptance_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"

	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/ssotest"
)

// users invites a user, who accepts and changes the password.
func (c *canaries) users() {
	c.t.Helper()
	const email = "grace@example.com"
	var invited struct{ InvitationToken string }
	for range 2 { // the second answer was kept for the key
		c.show(201, "POST", c.at("/operations/users"), object{"email": email, "role": "member"}, "Idempotency-Key", "invite").json(&invited)
		c.keep("the invitation token", invited.InvitationToken)
	}
	first, second := c.plant("the invited password"), c.plant("the changed password")
	c.call(0, "POST", "/auth/invitation", object{"token": invited.InvitationToken, "password": "short"})
	c.call(0, "POST", "/auth/invitation", object{"token": invited.InvitationToken + "x", "password": first})
	token := c.token("the invited token", "/auth/invitation", object{"token": invited.InvitationToken, "password": first})
	c.call(0, "POST", "/auth/invitation", object{"token": invited.InvitationToken, "password": first})
	c.call(422, "POST", "/auth/password", object{"current": c.plant("another wrong password"), "new": second}, "Authorization", "Bearer "+token)
	c.call(422, "POST", "/auth/password", object{"current": first, "new": first}, "Authorization", "Bearer "+token)
	c.call(204, "POST", "/auth/password", object{"current": first, "new": second}, "Authorization", "Bearer "+token, "Idempotency-Key", "password")
	c.token("the token after the change", "/auth/login", object{"email": email, "password": second})
}

// token logs in at a public route, and notes the token.
func (c *canaries) token(name, path string, body any) string {
	c.t.Helper()
	var login struct {
		AccessToken string `json:"access_token"`
	}
	c.show(200, "POST", path, body).json(&login)
	return c.keep(name, login.AccessToken)
}

// signOn signs a user in through an OpenID provider, whose token endpoint first sends back what it is sent.
func (c *canaries) signOn() {
	c.t.Helper()
	p := ssotest.NewProvider(c.t)
	address, err := url.Parse(p.URL)
	errtest.Must(c.t, err)
	proxy := httputil.NewSingleHostReverseProxy(address)
	var exchanges atomic.Int64
	ways := []string{"400", "500", noStatus, badHeader}
	front := serve(c.t, func(w http.ResponseWriter, r *http.Request) {
		way := ""
		if n := int(exchanges.Add(1)) - 1; n < len(ways) {
			way = ways[n]
		}
		switch way {
		case "":
			proxy.ServeHTTP(w, r)
		case "400":
			echoOf(r).write(w, http.StatusBadRequest)
		case "500":
			echoOf(r).write(w, http.StatusInternalServerError)
		default:
			garble(w, r, way)
		}
	})
	p.Document = ssotest.Object{"token_endpoint": front + "/token"}
	secret := c.plant("the client secret")
	c.keep("the client's authentication", forms("orgops:" + url.QueryEscape(secret))["in base64 at 0"])
	c.call(200, "PUT", c.at("/operations/sso"), object{"protocol": "oidc", "oidc": object{"issuer": p.URL, "clientId": "orgops", "clientSecret": secret}}, "If-None-Match", "*")
	const verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
	const challenge = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
	for n := range len(ways) + 1 {
		begun := c.browse("/auth/sso/"+c.ID+"/start?code_challenge_method=S256&code_challenge="+challenge, "")
		cookies := (&http.Response{Header: begun}).Cookies()
		if len(cookies) != 1 {
			c.t.Fatalf("the sign-in has the cookies %v, want one", cookies)
		}
		at, err := url.Parse(begun.Get("Location"))
		errtest.Must(c.t, err)
		c.keep(fmt.Sprint("the cookie of sign-in ", n), cookies[0].Value)
		back := p.Authorize(at)
		c.keep(fmt.Sprint("the provider's code ", n), back.Query().Get("code"))
		ended := c.browse("/auth/sso/callback?"+back.RawQuery, cookies[0].Name+"="+cookies[0].Value)
		if n < len(ways) {
			c.addHeader("the refused sign-in "+ways[n], ended)
			continue
		}
		_, query, _ := strings.Cut(ended.Get("Location"), "?")
		values, err := url.ParseQuery(query)
		errtest.Must(c.t, err)
		code := c.keep("the one-time code", values.Get("code"))
		c.call(0, "POST", "/auth/token", object{"grant_type": "authorization_code", "code": code + "x", "code_verifier": verifier})
		c.token("the signed-in token", "/auth/token", object{"grant_type": "authorization_code", "code": code, "code_verifier": verifier})
		c.call(0, "POST", "/auth/token", object{"grant_type": "authorization_code", "code": code, "code_verifier": verifier})
	}
}

// browse returns the header of a redirect that a browser would follow.
func (c *canaries) browse(path, cookie string) http.Header {
	c.t.Helper()
	r, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, c.base+path, nil)
	errtest.Must(c.t, err)
	r.Header.Set("Accept", "text/html")
	if cookie != "" {
		r.Header.Set("Cookie", cookie)
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	errtest.Must(c.t, err)
	errtest.Must(c.t, resp.Body.Close())
	if resp.StatusCode != http.StatusFound {
		c.t.Fatalf("GET %s was answered %d, want 302", path, resp.StatusCode)
	}
	return resp.Header
}

// mistakes puts secrets where they are refused.
func (c *canaries) mistakes() {
	c.t.Helper()
	wrong := c.plant("a wrong password")
	quoted, err := json.Marshal(wrong)
	errtest.Must(c.t, err)
	c.call(401, "POST", "/auth/login", object{"email": c.Email, "password": wrong})
	c.call(400, "POST", "/auth/login", []byte(`{"email":"`+c.Email+`","password":`+string(quoted)))
	c.call(422, "POST", "/auth/login", object{"email": c.Email, "password": []string{wrong}})
	c.call(422, "POST", c.at("/integrations/webhook"), object{"url": "https://example.com/", "events": []string{"memory.*"}, "signingSecret": "whsec_" + c.plant("a malformed secret")})
	c.call(422, "PUT", c.at("/integrations/github/credentials"), object{"credentials": object{"1": c.plant("a credential of a bad name")}})
	c.call(422, "PUT", c.at("/integrations/github/credentials"), object{"credentials": object{"token": c.plant("a token with a space") + " "}})
	c.call(401, "GET", c.at("/integrations"), nil, "Authorization", "Bearer "+c.plant("a wrong token"))
}
