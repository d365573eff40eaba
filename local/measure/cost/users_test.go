package main

import (
	"encoding/base32"
	"fmt"
	"net/http"
	"strings"
	"time"

	"orgops/shared/domain/company"
	"orgops/shared/domain/user"
	"orgops/shared/identity/password"
	"orgops/shared/identity/token"
	"orgops/shared/identity/totp"
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
		"login, with a second factor": func(w *world) ask {
			u, _ := w.armed()
			return ask{method: http.MethodPost, path: "//auth/login", body: `{"email":"` + u.Email + `","password":"` + pass + `"}`, status: http.StatusUnauthorized}
		},
		"answer-challenge": func(w *world) ask {
			u, key := w.armed()
			var asked struct{ Challenge struct{ ID string } }
			w.do(w.server(), ask{method: http.MethodPost, path: "//auth/login", body: `{"email":"` + u.Email + `","password":"` + pass + `"}`, status: http.StatusUnauthorized}, &asked)
			return post("//auth/challenge", `{"challenge":"`+asked.Challenge.ID+`","code":"`+totp.At(key, w.clock.Now().Add(30*time.Second))+`"}`)(w)
		},
		"begin-factor": func(w *world) ask { return w.as(post("//auth/factors", `{"kind":"totp","name":"Phone"}`)(w)) },
		"confirm-factor": func(w *world) ask {
			a := w.as(post("//auth/factors", `{"kind":"totp"}`)(w))
			var begun struct{ ID, Secret string }
			w.do(w.server(), a, &begun)
			key, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(begun.Secret)
			errtest.Must(w.t, err)
			confirm := post("//auth/factors/"+begun.ID+"/confirm", `{"code":"`+totp.At(key, w.clock.Now())+`"}`)(w)
			confirm.header = a.header
			return confirm
		},
		"remove-factor":        func(w *world) ask { return w.proven(http.MethodDelete, "//auth/factors/") },
		"renew-recovery-codes": func(w *world) ask { return w.proven(http.MethodPost, "//auth/recovery-codes") },
		"put-second-factor": func(w *world) ask {
			const path = "/operations/second-factor"
			strong := http.Header{"Authorization": {"Bearer " + w.strong(w.founder, user.Founder)}}
			w.do(w.server(), ask{method: http.MethodPut, path: path, body: `{"required":true}`, header: strong}, nil)
			return ask{method: http.MethodPut, path: path, body: `{"required":false}`, header: strong} // so that the later steps log in
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
		"ask-unsubscribe": func(w *world) ask { return ask{method: http.MethodGet, path: "/" + w.stops()} },
		"unsubscribe": func(w *world) ask {
			form := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}}
			return ask{method: http.MethodPost, path: "/" + w.stops(), body: "List-Unsubscribe=One-Click", header: form}
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

// armed adds a member with a second factor, and returns the factor's key.
func (w *world) armed() (user.User, []byte) {
	w.t.Helper()
	u := w.addUser()
	all, err := company.Accounts(w.t.Context(), w.table(mainTable), u.Email)
	errtest.Must(w.t, err)
	v := w.fresh().Vault
	f, key, err := all[0].Enrol(w.t.Context(), v, "Phone", w.clock.Now())
	errtest.Must(w.t, err)
	_, _, _, err = all[0].Confirm(f.ID, company.ByCode(w.t.Context(), v, totp.At(key, w.clock.Now()), w.clock.Now()), w.clock.Now())
	errtest.Must(w.t, err)
	errtest.Must(w.t, w.table(mainTable).Commit(w.t.Context(), all[0].Writes()...))
	return u, key
}

// proven sends a request about the factors of a member who has logged in with one. A path that ends with a slash leads to the factor.
func (w *world) proven(method, path string) ask {
	w.t.Helper()
	u, _ := w.armed()
	all, err := company.Accounts(w.t.Context(), w.table(mainTable), u.Email)
	errtest.Must(w.t, err)
	if strings.HasSuffix(path, "/") {
		path += all[0].Factors[0].ID
	}
	w.know(u.ID)
	return ask{method: method, path: path, header: http.Header{"Authorization": {"Bearer " + w.strong(u.ID, user.Member)}}}
}

// strong returns a token of a user who has logged in with a second factor.
func (w *world) strong(userID string, role user.Role) string {
	w.t.Helper()
	text, err := token.NewSigner(w.tokens(), w.keys).Issue(token.Claims{
		Subject: userID, Company: w.company, Plan: "free", Role: string(role), Scopes: role.Scopes(), AuthTime: w.clock.Now(), Methods: []string{"mfa", "otp", "pwd"},
	})
	errtest.Must(w.t, err)
	return text
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
