package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"

	"orgops/functions/operations"
	"orgops/shared/domain/sso"
	"orgops/shared/testkit/errtest"
)

// thirdParty describes a third party that asks for access.
type thirdParty map[string]any

// thirdParty serves a third party's document, and returns its authorization request with the founder's decision.
func (w *world) thirdParty() thirdParty {
	const redirect = "http://127.0.0.1/callback"
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(rw).Encode(map[string]any{"client_id": "http://" + r.Host + r.URL.Path, "client_name": "Agent", "redirect_uris": []string{redirect}})
	}))
	w.t.Cleanup(server.Close)
	return thirdParty{
		"response_type": "code", "client_id": server.URL + "/client.json", "redirect_uri": redirect, "code_challenge": sso.Challenge(ssoVerifier),
		"code_challenge_method": "S256", "scope": "memory:read",
	}
}

// query returns a request with the parameters in its query.
func (p thirdParty) query(path string) ask {
	q := url.Values{}
	for name, v := range p {
		q.Set(name, v.(string))
	}
	return ask{method: http.MethodGet, path: path + "?" + q.Encode()}
}

func (p thirdParty) consent() ask {
	body, _ := json.Marshal(p.with("allow", true, "scopes", []string{"memory:read"})) // a map of texts and lists
	return ask{method: http.MethodPost, path: "//auth/consent", body: string(body)}
}

func (p thirdParty) with(pairs ...any) thirdParty {
	all := thirdParty{}
	for name, v := range p {
		all[name] = v
	}
	for n := 0; n+1 < len(pairs); n += 2 {
		all[pairs[n].(string)] = pairs[n+1]
	}
	return all
}

// code has the founder consent, and returns the request that exchanges the code.
func (w *world) code() ask {
	p := w.thirdParty()
	var out struct {
		RedirectTo string `json:"redirectTo"`
	}
	w.do(w.server(), p.consent(), &out)
	at, err := url.Parse(out.RedirectTo)
	errtest.Must(w.t, err)
	return tokenFor("grant_type", "authorization_code", "code", at.Query().Get("code"), "code_verifier", ssoVerifier,
		"client_id", p["client_id"].(string), "redirect_uri", p["redirect_uri"].(string))
}

// granted returns the first refresh token of a third party, and its client_id.
func (w *world) granted() (refresh, clientID string) {
	var got struct {
		Refresh string `json:"refresh_token"`
	}
	a := w.code()
	w.do(w.server(), a, &got)
	var form map[string]string
	errtest.Must(w.t, json.Unmarshal([]byte(a.body), &form))
	return got.Refresh, form["client_id"]
}

func grantRequests() map[string]func(*world) ask {
	one := func(method string) func(*world) ask {
		return func(w *world) ask {
			w.granted()
			var list operations.ThirdPartyGrantList
			w.do(w.server(), ask{method: http.MethodGet, path: "/operations/grants"}, &list)
			return ask{method: method, path: "/operations/grants/" + list.Items[0].ID}
		}
	}
	return map[string]func(*world) ask{
		"authorize": func(w *world) ask {
			a := w.thirdParty().query("//auth/authorize")
			a.status = http.StatusFound
			return a
		},
		"get-consent": func(w *world) ask { return w.thirdParty().query("//auth/consent") },
		"consent":     func(w *world) ask { return w.thirdParty().consent() },
		"get-mcp-resource": func(w *world) ask {
			return ask{method: http.MethodGet, path: "//.well-known/oauth-protected-resource/companies/" + w.company + "/mcp"}
		},
		"list-grants": after(func(w *world) { w.granted() }, get("/operations/grants")),
		"get-grant":   one(http.MethodGet), "end-grant": one(http.MethodDelete),
	}
}
