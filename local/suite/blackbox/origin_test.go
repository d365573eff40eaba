package blackbox_test

import "net/http"

const page = "https://dashboard.example.com"

// origin makes the requests of a web page, preflights included. A page of any origin may call the API with a token, and read
// every answer.
func origin(j *journey) {
	j.login()
	ask := func(path, method string) request {
		return call(http.MethodOptions, path, nil).bare().with("Origin", page).
			with("Access-Control-Request-Method", method).with("Access-Control-Request-Headers", "authorization,content-type")
	}
	webhook := j.at("/integrations/webhook")
	j.do("may it log in", ask("/auth/login", http.MethodPost))
	j.do("may it read", ask(j.at("/integrations"), http.MethodGet))
	j.do("may it configure", ask(webhook, http.MethodPost))
	j.do("may it delete", ask(webhook, http.MethodDelete))
	j.do("may it store credentials", ask(webhook+"/credentials", http.MethodPut))
	j.do("may it read of another company", ask("/companies/01890000-0000-7000-8000-000000000000/integrations", http.MethodGet))
	j.do("may it do what nobody may", ask(j.at("/nowhere"), http.MethodGet))
	j.do("what may anybody do", call(http.MethodOptions, webhook, nil).bare())
	j.do("it reads", get(j.at("/integrations")).with("Origin", page))
	j.do("it is refused", get(j.at("/integrations")).bare().with("Origin", page))
	j.do("it looks where nothing is", get("/nothing").with("Origin", page))
	j.do("it logs in wrongly", post("/auth/login", object{"email": j.email, "password": "a wrong one"}).bare().with("Origin", page))
}

// readable fails the test unless a page of any origin may read the answer.
func (j *journey) readable(r request, a answer) {
	j.t.Helper()
	if a.header.Get("X-Request-Id") == "" { // an answer of the HTTP server or the gateway, not of the service
		return
	}
	if got := a.header.Get("Access-Control-Allow-Origin"); got != "*" {
		j.t.Errorf("%s %s: allowed origin = %q, want *", r.method, r.path, got)
	}
	if a.header.Get("Access-Control-Expose-Headers") == "" && a.header.Get("Access-Control-Allow-Methods") == "" {
		j.t.Errorf("%s %s: the answer exposes no headers and allows no methods: %v", r.method, r.path, a.header)
	}
}
