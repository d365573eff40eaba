package main

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"orgops/functions/operations"
	"orgops/shared/base/id"
	"orgops/shared/domain/executive"
	"orgops/shared/testkit/errtest"
)

// client makes a client of the founder, with more members of the request.
func (w *world) client(more string) (c operations.IssuedClient) {
	w.t.Helper()
	body := fmt.Sprintf(`{"name":"Report","purpose":"Reads","owner":%q,%s}`, w.founder, more)
	w.do(w.server(), ask{method: http.MethodPost, path: "/operations/clients", body: body}, &c)
	return c
}

const readsMemory = `"scopes":["memory:read"]`

// tokenFor asks for a token with the parameters of a grant.
func tokenFor(parameters ...string) ask {
	form := map[string]string{}
	for n := 0; n+1 < len(parameters); n += 2 {
		form[parameters[n]] = parameters[n+1]
	}
	body, _ := json.Marshal(form) // a map of texts
	return ask{method: http.MethodPost, path: "//auth/token", body: string(body)}
}

func (c clientSecret) ask() ask {
	return tokenFor("grant_type", "client_credentials", "client_id", c.ClientID, "client_secret", c.ClientSecret)
}

type clientSecret operations.IssuedClient

// executiveClient returns a client that acts as an executive.
func (w *world) executiveClient() clientSecret {
	w.executive("Chief")
	return clientSecret(w.client(fmt.Sprintf(`"executive":%q`, executive.IDOf("Chief"))))
}

// signed returns a request for a token with an assertion.
func (w *world) asserted() ask {
	public, private, err := ed25519.GenerateKey(nil)
	errtest.Must(w.t, err)
	b64 := base64.RawURLEncoding.EncodeToString
	c := w.client(fmt.Sprintf(`%s,"keys":{"keys":[{"kty":"OKP","crv":"Ed25519","x":%q}]}`, readsMemory, b64(public)))
	claims, err := json.Marshal(map[string]any{
		"iss": c.ClientID, "sub": c.ClientID, "aud": "https://orgops.test", "jti": id.New(), "exp": w.clock.Now().Add(time.Minute).Unix(),
	})
	errtest.Must(w.t, err)
	text := b64([]byte(`{"alg":"EdDSA"}`)) + "." + b64(claims)
	return tokenFor("grant_type", "client_credentials", "client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
		"client_assertion", text+"."+b64(ed25519.Sign(private, []byte(text))))
}

// delegated returns a request for a token with which an executive acts for the founder.
func (w *world) delegated() ask {
	var actor struct {
		Token string `json:"access_token"`
	}
	w.do(w.server(), w.executiveClient().ask(), &actor)
	const kind = "urn:ietf:params:oauth:token-type:access_token"
	return tokenFor("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange",
		"subject_token", w.token, "subject_token_type", kind, "actor_token", actor.Token, "actor_token_type", kind)
}

func clientRequests() map[string]func(*world) ask {
	one := func(method, rest, body string) func(*world) ask {
		return func(w *world) ask {
			return ask{method: method, path: "/operations/clients/" + url.PathEscape(w.client(readsMemory).ID) + rest, body: body}
		}
	}
	return map[string]func(*world) ask{
		"list-clients": after(func(w *world) { w.client(readsMemory) }, get("/operations/clients")),
		"create-client": func(w *world) ask {
			return ask{method: http.MethodPost, path: "/operations/clients", body: fmt.Sprintf(`{"name":"Report","purpose":"Reads","owner":%q,%s}`, w.founder, readsMemory)}
		},
		"get-client": one(http.MethodGet, "", ""), "delete-client": one(http.MethodDelete, "", ""),
		"update-client":        one(http.MethodPatch, "", `{"disabled":true}`),
		"rotate-client-keys":   one(http.MethodPost, "/keys", `{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}`),
		"rotate-client-secret": one(http.MethodPost, "/secret", ""),

		"issue-token, to a client": func(w *world) ask { return clientSecret(w.client(readsMemory)).ask() },
		"issue-token, to a client again within a minute": func(w *world) ask {
			c := clientSecret(w.client(readsMemory))
			w.call(c.ask())
			return c.ask()
		},
		"issue-token, for an assertion": (*world).asserted,
		"revoke-token": func(w *world) ask {
			return ask{method: http.MethodPost, path: "//auth/revoke", body: fmt.Sprintf(`{"token":%q}`, w.login())}
		},
		"issue-token, to an executive":   func(w *world) ask { return w.executiveClient().ask() },
		"issue-token, to act for a user": (*world).delegated,
	}
}
