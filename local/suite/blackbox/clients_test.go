package blackbox_test

import (
	"net/http"
	"net/url"
)

// clients lets a machine read with a secret, and an executive act by itself and for a founder. What ends a client's token does so within
// five seconds.
func clients(j *journey) {
	j.login()
	var users struct{ Items []struct{ ID string } }
	j.peek(get(j.at("/operations/users"))).json(&users)
	founder := users.Items[0].ID
	all := j.at("/operations/clients")
	type client struct{ ID, ClientID, ClientSecret string }
	create := func(name string, body object) (c client) {
		for k, v := range (object{"name": "Nightly report", "purpose": "Reads what was imported", "owner": founder}) {
			body[k] = v
		}
		j.do(name, post(all, body)).json(&c)
		return c
	}
	ask := func(fields object) request {
		form := url.Values{}
		for k, v := range fields {
			form.Set(k, v.(string))
		}
		return post("/auth/token", []byte(form.Encode())).with("Content-Type", "application/x-www-form-urlencoded").bare()
	}
	credentials := func(c client) request {
		return ask(object{"grant_type": "client_credentials", "client_id": c.ClientID, "client_secret": c.ClientSecret})
	}
	issued := func(name string, r request) string {
		var session struct {
			AccessToken string `json:"access_token"`
		}
		j.do(name, r).json(&session)
		return session.AccessToken
	}

	report := create("a client", object{"scopes": []string{"memory:read"}})
	token := issued("a token for its secret", credentials(report))
	read := get(j.at("/memory")).bearing("client", token)
	j.do("what it may read", read)
	j.do("what it may not read", get(j.at("/mission-control/health")).bearing("client", token))
	j.do("it makes a client", post(all, object{}).bearing("client", token))
	j.do("a secret of another form", ask(object{"grant_type": "client_credentials", "client_id": report.ClientID, "client_secret": "orgops_x"}))
	j.do("an unknown client", ask(object{"grant_type": "client_credentials", "client_id": "unknown", "client_secret": "orgops_x"}))
	j.do("a scope that it lacks", ask(object{
		"grant_type": "client_credentials", "client_id": report.ClientID, "client_secret": report.ClientSecret, "scope": "memory:write",
	}))
	j.do("a client that would configure", post(all, object{"name": "a", "purpose": "b", "owner": founder, "scopes": []string{"integrations:write"}}))

	executives := j.at("/executives")
	var chief struct{ ID string }
	j.do("an executive", post(executives, object{
		"name": "Chief of Staff", "role": "Keeps order", "owner": founder, "actions": []string{"timeline.note"}, "reads": []string{"memory:read"},
	})).json(&chief)
	j.peek(post(executives+"/"+chief.ID+"/certification", nil))
	acts := create("a client of the executive", object{"executive": chief.ID})
	own := issued("a token of the executive", credentials(acts))
	note := post(executives+"/"+chief.ID+"/actions", object{"action": "timeline.note", "input": object{"title": "All is quiet", "subject": "feed"}})
	j.do("the executive notes", note.with("Idempotency-Key", "own").bearing("executive", own))
	j.do("the executive configures itself", post(executives, object{"name": "Treasurer"}).bearing("executive", own))
	const kind = "urn:ietf:params:oauth:token-type:access_token"
	acting := issued("a token to act for the founder", ask(object{
		"grant_type": "urn:ietf:params:oauth:grant-type:token-exchange", "subject_token": j.token, "subject_token_type": kind,
		"actor_token": own, "actor_token_type": kind,
	}))
	j.do("the executive notes for the founder", note.with("Idempotency-Key", "acting").bearing("acting", acting))

	j.do("a new secret", post(all+"/"+report.ID+"/secret", nil))
	issued("the former secret goes on", credentials(report))
	j.do("disable the client", call(http.MethodPatch, all+"/"+report.ID, object{"disabled": true}))
	j.settle("its token has ended", read, func(a answer) bool { return a.status == http.StatusUnauthorized })
	j.do("it gets no other one", credentials(report))
	j.do("delete the client", callDelete(all+"/"+report.ID))
	j.do("the client is gone", get(all+"/"+report.ID))
	j.do("who did what", get(j.at("/operations/audit")))
}
