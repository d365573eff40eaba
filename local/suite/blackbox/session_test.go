package blackbox_test

import (
	"net/http"
	"strings"
)

// session logs in, with right and wrong credentials. A refusal does not tell whether the address or the password is wrong.
func session(j *journey) {
	login := func(email, password string) request {
		return post("/auth/login", object{"email": email, "password": password})
	}
	j.do("log in", login(j.email, password))
	j.do("the address in capitals", login(strings.ToUpper(j.email), password))
	j.do("a wrong password", login(j.email, "not the password"))
	stranger := j.address("stranger")
	j.mask.alias(stranger, "stranger")
	j.do("an unknown address", login(stranger, password))
	j.do("no password", post("/auth/login", object{"email": j.email}))
	j.do("an unknown field", post("/auth/login", object{"email": j.email, "password": password, "otp": "1"}))
	j.do("a number for a password", post("/auth/login", object{"email": j.email, "password": 1}))
	j.do("no JSON", post("/auth/login", []byte(`email=ada`)))
	j.do("an empty body", post("/auth/login", []byte{}))
	j.do("a form", post("/auth/login", []byte(`email=ada`)).with("Content-Type", "application/x-www-form-urlencoded"))
	j.do("a body that is too large", login(strings.Repeat("a", 17<<10), password))
	j.do("GET of the login", get("/auth/login"))
	j.do("who may ask for what", get(j.at("/integrations")).bearing("founder", j.loginAs(j.email)))
	j.do("the keys", get("/.well-known/jwks.json"))
	j.do("alive", get("/healthz"))
	j.do("alive, without a body", call(http.MethodHead, "/healthz", nil))

	tried := j.address("tried")
	j.mask.alias(tried, "tried")
	j.settle("too many tries", login(tried, "guess"), func(a answer) bool { return a.status == http.StatusTooManyRequests })
	j.do("another address is not held up", login(j.email, password))
}
