package blackbox_test

import "net/http"

// users follows a user from the invitation to the removal. What ends the user's tokens does so within five seconds. The audit
// records tell all of it.
func users(j *journey) {
	j.login()
	email := j.address("grace")
	j.mask.alias(email, "grace")
	all := j.at("/operations/users")
	var invited struct{ ID, InvitationToken string }
	j.do("invite a member", post(all, object{"email": email, "name": "Grace Hopper", "role": "member"})).json(&invited)
	one := all + "/" + invited.ID
	j.do("the same address again, as a founder's", post(all, object{"email": j.email, "role": "member"}))
	j.do("a role that does not exist", post(all, object{"email": email, "role": "owner"}))
	j.do("the users", get(all))
	accept := func(password string) request {
		return post("/auth/invitation", object{"token": invited.InvitationToken, "password": password}).bare()
	}
	j.do("a common password", accept("qwertyuiop"))
	j.do("accept the invitation", accept(password))
	j.do("accept it again", accept(password))

	held := j.loginAs(email)
	as := func(r request) request { return r.bearing("member", held) }
	j.do("a member invites", as(post(all, object{"email": email, "role": "member"})))
	refused := func(a answer) bool { return a.status == http.StatusUnauthorized }
	read := as(get(j.at("/mission-control/health")))
	j.do("a new password needs the current one", as(post("/auth/password", object{"current": "not this one", "new": "nine quiet otters read maps"})))
	j.do("sign out everywhere", as(post("/auth/sign-out", nil)))
	j.settle("the token has ended", read, refused)

	held = j.loginAs(email)
	etag := j.do("the user", get(one)).header.Get("Etag")
	j.mask.alias(etag, "etag")
	j.do("make the user an operator", call(http.MethodPatch, one, object{"role": "operator"}).with("If-Match", etag))
	j.settle("the role's token has ended", as(get(j.at("/mission-control/health"))), refused)
	j.do("the user has changed", callDelete(one).with("If-Match", etag))
	j.do("disable the user", call(http.MethodPatch, one, object{"disabled": true}))
	j.do("the user cannot log in", post("/auth/login", object{"email": email, "password": password}).bare())
	j.do("remove the user", callDelete(one))
	j.do("the user is gone", get(one))
	j.do("who did what", get(j.at("/operations/audit")))
	j.do("what was denied", get(j.at("/operations/audit?outcome=denied")))
}
