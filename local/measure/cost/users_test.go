package main

import (
	"fmt"
	"net/http"

	"orgops/shared/domain/company"
	"orgops/shared/domain/user"
	"orgops/shared/identity/password"
	"orgops/shared/testkit/errtest"
)

func userRequests() map[string]func(*world) ask {
	return map[string]func(*world) ask{
		"sign-out": func(w *world) ask { return w.as(post("//auth/sign-out", "")(w)) },
		"change-password": func(w *world) ask {
			return w.as(post("//auth/password", `{"current":"`+pass+`","new":"nine quiet otters read maps"}`)(w))
		},
		"invite-user": func(w *world) ask {
			return post("/operations/users", `{"email":"`+w.newUser().Email+`","role":"member"}`)(w)
		},
		"invite-user, with an Idempotency-Key": func(w *world) ask {
			a := post("/operations/users", `{"email":"`+w.newUser().Email+`","role":"member"}`)(w)
			a.header = http.Header{"Idempotency-Key": {"invite"}}
			return a
		},
		"update-user": func(w *world) ask {
			return ask{method: http.MethodPatch, path: "/operations/users/" + w.addUser().ID, body: `{"role":"operator"}`}
		},
		"remove-user": func(w *world) ask {
			return ask{method: http.MethodDelete, path: "/operations/users/" + w.addUser().ID}
		},
		"remove-user, denied": func(w *world) ask { // as a member, whom the scope denies
			return w.as(ask{method: http.MethodDelete, path: "/operations/users/" + w.founder, status: http.StatusForbidden})
		},
		"ask-reset": func(w *world) ask {
			return ask{method: http.MethodPost, path: "//auth/reset", body: `{"email":"` + w.addUser().Email + `"}`}
		},
		"reset-password": func(w *world) ask {
			u := w.addUser()
			w.do(w.server(), ask{method: http.MethodPost, path: "//auth/reset", body: `{"email":"` + u.Email + `"}`}, nil)
			code, err := company.NewResetCode(w.t.Context(), w.table(mainTable), u.Email, w.clock.Now())
			errtest.Must(w.t, err)
			return post("//auth/reset/"+code.Code, `{"password":"nine quiet otters read maps"}`)(w)
		},
		"accept-invitation": func(w *world) ask {
			invited, err := company.NewInvitation(w.company, "", w.newUser(), w.clock.Now())
			errtest.Must(w.t, err)
			errtest.Must(w.t, company.Invite(w.t.Context(), w.table(mainTable), w.tenant(), invited))
			return post("//auth/invitation", `{"token":"`+invited.Token+`","password":"`+pass+`"}`)(w)
		},
	}
}

func (w *world) newUser() company.NewUser {
	w.people++
	return company.NewUser{Email: fmt.Sprintf("mia%d@example.com", w.people), Name: "Mia Moss", Role: user.Member, Password: pass}
}

// addUser adds a member to the company.
func (w *world) addUser() user.User {
	w.t.Helper()
	u, _, err := company.AddUser(w.t.Context(), w.table(mainTable), password.New(), w.company, w.newUser(), w.clock.Now())
	errtest.Must(w.t, err)
	return u
}

// as sends a request as another user, because the request ends the tokens of its user.
func (w *world) as(a ask) ask {
	w.t.Helper()
	u := w.addUser()
	var session struct {
		Token string `json:"access_token"`
	}
	w.do(w.server(), ask{method: http.MethodPost, path: "//auth/login", body: `{"email":"` + u.Email + `","password":"` + pass + `"}`}, &session)
	w.know(u.ID)
	a.header = http.Header{"Authorization": {"Bearer " + session.Token}}
	return a
}
