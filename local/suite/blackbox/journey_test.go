package blackbox_test

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"orgops/shared/testkit/errtest"
	"strings"
	"testing"
)

// journey is one company's way through the service, step by step.
type journey struct {
	t      *testing.T
	name   string
	target *target
	world  *world
	client *http.Client
	mask   *mask
	golden []step // every step that is expected; nil with -update
	steps  []step // the steps so far

	company, email, token string
	receivers             []*receiver
}

const password = "correct horse battery staple"

// newJourney creates the company of a journey. Its founder is not logged in.
func newJourney(t *testing.T, name string, tg *target, w *world, golden []step) *journey {
	t.Helper()
	j := &journey{t: t, name: name, target: tg, world: w, client: tg.client(), mask: newMask(tg.url), golden: golden}
	t.Cleanup(j.client.CloseIdleConnections)
	j.mask.alias(tg.url, "api")
	j.mask.alias(w.url, "receivers")
	j.company, j.email = j.found(name)
	for _, write := range []func(string) string{strings.ToLower, strings.ToUpper} {
		j.mask.alias(write(j.company), write("company"))
		j.mask.alias(write(j.email), write("email"))
	}
	return j
}

// found creates a company, and returns its id and the e-mail address of its founder.
func (j *journey) found(name string) (id, email string) {
	j.t.Helper()
	email = j.address(name)
	id, err := j.target.createCompany(j.t.Context(), "Company of "+name, email, password)
	errtest.Must(j.t, err)
	return id, email
}

// address returns an e-mail address that is not in use.
func (j *journey) address(name string) string {
	return strings.ToLower(name + "-" + rand.Text() + "@example.com")
}

// at returns a path of the company.
func (j *journey) at(path string) string { return "/companies/" + j.company + path }

// login gets a token for the founder. It is not a step.
func (j *journey) login() {
	j.t.Helper()
	j.token = j.loginAs(j.email)
}

func (j *journey) loginAs(email string) string {
	j.t.Helper()
	var session struct {
		AccessToken string `json:"access_token"`
	}
	a := j.peek(post("/auth/login", object{"email": email, "password": password})).json(&session)
	if session.AccessToken == "" {
		j.t.Fatalf("login: %s", a)
	}
	return session.AccessToken
}

type object = map[string]any

// own gives a request that names no token the founder's.
func (j *journey) own(r request) request {
	if r.as == "" && j.token != "" {
		r.as, r.token = "founder", j.token
	}
	if r.as == anonymous {
		r.as = ""
	}
	return r
}

const anonymous = "anonymous"

// bare returns the request without a token.
func (r request) bare() request { return r.bearing(anonymous, "") }

// bearing returns the request with a token, which the golden file shows by name.
func (r request) bearing(name, token string) request {
	r.as, r.token = name, token
	return r
}

// peek sends a request that is not a step.
func (j *journey) peek(r request) answer {
	j.t.Helper()
	a, err := send(j.t.Context(), j.client, j.target.url, j.own(r))
	if err != nil {
		j.t.Fatalf("%s %s: %v", r.method, r.path, err)
	}
	j.readable(r, a)
	return a
}

// do sends a request and checks the answer.
func (j *journey) do(name string, r request) answer {
	j.t.Helper()
	a := j.peek(r)
	j.check(j.stepOf(name, r, a))
	return a
}

func (j *journey) stepOf(name string, r request, a answer) step {
	return step{Name: name, Sent: j.mask.sent(j.own(r)), Answered: j.mask.answered(r, a)}
}

// settle repeats a request until ok holds and the answer equals the golden one, and checks the last answer.
func (j *journey) settle(name string, r request, ok func(answer) bool) answer {
	j.t.Helper()
	var a answer
	var s step
	before := j.mask
	err := poll(j.t.Context(), j.target.every, func() (bool, error) {
		j.mask = before.copy() // an answer that is not the last one names no ids
		a = j.peek(r)
		s = j.stepOf(name, r, a)
		return ok(a) && j.matches(s), nil
	})
	if err != nil && j.matches(s) {
		j.t.Fatalf("%s: %v: %s", name, err, a)
	}
	j.check(s)
	return a
}

// await repeats a request until ok holds. It is not a step.
func (j *journey) await(what string, r request, ok func(answer) bool) answer {
	j.t.Helper()
	var a answer
	err := poll(j.t.Context(), j.target.every, func() (bool, error) {
		a = j.peek(r)
		return ok(a), nil
	})
	if err != nil {
		j.t.Fatalf("%s: %v: %s", what, err, a)
	}
	return a
}

// calm waits until the company's context holds all that has happened, and checks the context. With -update, which cannot
// know what to wait for, it waits until the context has stayed the same for a number of looks.
func (j *journey) calm(name string) {
	j.t.Helper()
	const looks = 60
	version, same := int64(-1), 0
	j.settle(name, get(j.at("/intelligence/context")), func(a answer) bool {
		if !*update {
			return true
		}
		var is struct{ ContextVersion int64 }
		a.json(&is)
		if same++; is.ContextVersion != version {
			version, same = is.ContextVersion, 0
		}
		return same >= looks
	})
}

// decode returns a JSON text as T; the zero value if it does not decode.
func decode[T any](content []byte) T {
	var v T
	_ = json.Unmarshal(content, &v) // the step shows what it was instead
	return v
}
