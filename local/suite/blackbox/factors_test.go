package blackbox_test

import (
	"encoding/base32"
	"net/http"
	"orgops/shared/identity/totp"
	"orgops/shared/testkit/errtest"
	"time"
)

// factors gives the founder a second factor, logs in with it, and has the company require one. A recovery code stands in for the app's code,
// because a golden file shows it by its form.
func factors(j *journey) {
	j.login()
	const all = "/auth/factors"
	j.do("no second factor", get(all))
	j.do("a kind that does not exist", post(all, object{"kind": "sms"}))
	var begun struct{ ID, Secret string }
	j.do("begin", post(all, object{"kind": "totp", "name": "Phone"})).json(&begun)
	confirm := all + "/" + begun.ID + "/confirm"
	j.do("a wrong first code", post(confirm, object{"code": "12345"}))
	key, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(begun.Secret)
	errtest.Must(j.t, err)
	var enrolled struct {
		RecoveryCodes []string
		Session       struct {
			Token string `json:"access_token"`
		}
	}
	j.peek(post(confirm, object{"code": totp.At(key, time.Now())})).json(&enrolled)
	if got := len(enrolled.RecoveryCodes); got != 10 {
		j.t.Fatalf("%d recovery codes, want 10", got)
	}
	j.do("the old session has not proved the factor", callDelete(all+"/"+begun.ID))
	var asked struct{ Challenge struct{ ID string } }
	j.do("the password alone", post("/auth/login", object{"email": j.email, "password": password}).bare()).json(&asked)
	answer := func(code string) request {
		return post("/auth/challenge", object{"challenge": asked.Challenge.ID, "code": code}).bare()
	}
	j.do("a wrong code", answer("12345"))
	var session struct {
		Token string `json:"access_token"`
	}
	j.do("a recovery code", answer(enrolled.RecoveryCodes[0])).json(&session)
	j.do("the challenge again", answer(enrolled.RecoveryCodes[1]))
	strong := func(r request) request { return r.bearing("founder with a factor", session.Token) }
	j.do("the second factors", strong(get(all)))

	const rule = "/operations/second-factor"
	j.do("a session without the factor requires it", call(http.MethodPut, j.at(rule), object{"required": true}))
	j.do("the company requires it", strong(call(http.MethodPut, j.at(rule), object{"required": true})))
	email := j.address("grace")
	j.mask.alias(email, "grace")
	var invited struct{ InvitationToken string }
	j.peek(strong(post(j.at("/operations/users"), object{"email": email, "role": "member"}))).json(&invited)
	var member struct {
		Token string `json:"access_token"`
	}
	j.do("a member without a factor", post("/auth/invitation", object{"token": invited.InvitationToken, "password": password}).bare()).json(&member)
	weak := func(r request) request { return r.bearing("member without a factor", member.Token) }
	j.do("the member reads nothing", weak(get(j.at("/mission-control/health"))))
	j.do("the member begins to enrol", weak(post(all, object{"kind": "totp"})))
	j.do("the company leaves it to its users", strong(call(http.MethodPut, j.at(rule), object{"required": false})))
	j.do("new recovery codes", strong(post("/auth/recovery-codes", nil)))
	j.do("remove the factor", strong(callDelete(all+"/"+begun.ID)))
	j.do("the password alone again", post("/auth/login", object{"email": j.email, "password": password}).bare())
}
