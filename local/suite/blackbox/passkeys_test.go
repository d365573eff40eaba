package blackbox_test

import (
	"strings"

	"orgops/shared/base/fault"
	"orgops/shared/identity/passkey"
	"orgops/shared/testkit/passkeytest"
)

// passkeys gives the founder a passkey of the service's own address, and logs in with it. What a passkey signs differs each time, so the
// answers with a challenge are no steps.
func passkeys(j *journey) {
	j.login()
	const all = "/auth/factors"
	origin := strings.Replace(j.base(), "//127.0.0.1", "//localhost", 1) // browsers make passkeys for names alone
	key := passkeytest.New(j.t, origin)
	begin := func() (path string, options passkey.Creation) {
		var begun struct {
			ID        string
			PublicKey passkey.Creation
		}
		j.peek(post(all, object{"kind": "passkey", "name": "Laptop"})).json(&begun)
		return all + "/" + begun.ID, begun.PublicKey
	}
	path, options := begin()
	confirm := func(of *passkeytest.Passkey) request {
		return post(path+"/confirm", object{"credential": j.signed(of.Create(options))})
	}
	j.do("a passkey of another address", confirm(passkeytest.New(j.t, "https://evil.example")))
	path, options = begin() // the other one has used the first enrolment up
	var enrolled struct {
		Session struct {
			Token string `json:"access_token"`
		}
	}
	j.peek(confirm(key)).json(&enrolled)
	strong := func(r request) request { return r.bearing("founder with a passkey", enrolled.Session.Token) }
	j.do("the second factors", strong(get(all)))

	login := post("/auth/login", object{"email": j.email, "password": password}).bare()
	challenged := func() (id string, options fault.PasskeyRequest) {
		var asked struct {
			Challenge struct {
				ID        string
				PublicKey fault.PasskeyRequest
			}
		}
		j.peek(login).json(&asked)
		return asked.Challenge.ID, asked.Challenge.PublicKey
	}
	id, wanted := challenged()
	answer := func(of *passkeytest.Passkey) request {
		return post("/auth/challenge", object{"challenge": id, "credential": j.signed(of.Get(wanted))}).bare()
	}
	j.do("another passkey", answer(passkeytest.New(j.t, origin)))
	id, wanted = challenged()
	signed := answer(key)
	j.do("the passkey", signed)
	j.do("the same answer again", signed)
	id, wanted = challenged()
	j.do("an answer to a challenge that it was not made for", post("/auth/challenge", object{"challenge": id, "credential": signed.body.(object)["credential"]}).bare())
	j.do("remove the passkey", strong(callDelete(path)))
	j.do("the password alone again", login)
}

// signed gives what a passkey signs a name in the golden file, and returns it.
func (j *journey) signed(credential object) object {
	for name, value := range credential["response"].(object) {
		if text, ok := value.(string); ok {
			j.mask.alias(text, name)
		}
	}
	j.mask.alias(credential["rawId"].(string), "passkey")
	return credential
}
