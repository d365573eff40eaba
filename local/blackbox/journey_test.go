package blackbox_test

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// journey is one company's way through the service, recorded. It ends at the first step that is not as expected.
type journey struct {
	t        *testing.T
	target   *target
	world    *world
	client   *http.Client
	mask     *mask
	expected []step // nil while the golden record is written
	steps    []step

	company, email, token string
	receivers             []*receiver
}

const password = "correct horse battery staple"

// newJourney makes the journey's company; its founder is not logged in.
func newJourney(t *testing.T, name string, tg *target, w *world, expected []step) *journey {
	t.Helper()
	j := &journey{t: t, target: tg, world: w, client: newClient(), mask: newMask(tg.url), expected: expected}
	t.Cleanup(j.client.CloseIdleConnections)
	j.mask.call(tg.url, "api")
	j.mask.call(w.url, "receivers")
	j.company, j.email = j.found(name)
	for _, write := range []func(string) string{strings.ToLower, strings.ToUpper} {
		j.mask.call(write(j.company), write("company"))
		j.mask.call(write(j.email), write("email"))
	}
	return j
}

// found makes a company, and returns its id and its founder's address.
func (j *journey) found(name string) (id, email string) {
	j.t.Helper()
	email = j.address(name)
	id, err := j.target.createCompany(j.t.Context(), "Company of "+name, email, password)
	must(j.t, err)
	return id, email
}

// address is an e-mail address that nobody has.
func (j *journey) address(name string) string {
	return strings.ToLower(name + "-" + rand.Text() + "@example.com")
}

// at is a path of the company.
func (j *journey) at(path string) string { return "/companies/" + j.company + path }

// login takes the founder's token, unrecorded.
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

// own fills in the founder's token where a request names none.
func (j *journey) own(r request) request {
	if r.as == "" && j.token != "" {
		r.as, r.token = "founder", j.token
	}
	if r.as == nobody {
		r.as = ""
	}
	return r
}

const nobody = "nobody"

// bare sends no token.
func (r request) bare() request { return r.bearing(nobody, "") }

// bearing sends a token under a name for the record.
func (r request) bearing(name, token string) request {
	r.as, r.token = name, token
	return r
}

// peek sends a request and records nothing.
func (j *journey) peek(r request) answer {
	j.t.Helper()
	a, err := send(j.t.Context(), j.client, j.target.url, j.own(r))
	if err != nil {
		j.t.Fatalf("%s %s: %v", r.method, r.path, err)
	}
	j.readable(r, a)
	return a
}

// do sends a request and records the answer.
func (j *journey) do(name string, r request) answer {
	j.t.Helper()
	a := j.peek(r)
	j.record(j.stepOf(j.mask, name, r, a))
	return a
}

func (j *journey) stepOf(m *mask, name string, r request, a answer) step {
	return step{Name: name, Sent: m.sent(j.own(r)), Answered: m.answered(r, a)}
}

// settle repeats a request until what it asks about has come about, and records the last answer alone. That is when ok
// says so, and the answer is the expected one.
func (j *journey) settle(name string, r request, ok func(answer) bool) answer {
	j.t.Helper()
	var a answer
	var seen *mask
	err := poll(j.t.Context(), j.target.every, func() (bool, error) {
		a, seen = j.peek(r), j.mask.copy()
		return ok(a) && j.isExpected(j.stepOf(seen, name, r, a)), nil
	})
	if err != nil && j.expected == nil {
		j.t.Fatalf("%s: %v: %s", name, err, a)
	}
	j.mask = seen
	j.record(j.stepOf(seen, name, r, a))
	return a
}

// await is settle without a record.
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

// calm waits until the company's context holds all that has happened, and records the context.
func (j *journey) calm(name string) {
	j.t.Helper()
	const looks = 60 // without a change, while the golden record is written: nobody knows yet what to wait for
	version, same := int64(-1), 0
	j.settle(name, get(j.at("/intelligence/context")), func(a answer) bool {
		if j.expected != nil {
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

// isExpected compares a step with the one that is due.
func (j *journey) isExpected(s step) bool {
	if j.expected == nil {
		return true
	}
	due := len(j.steps)
	return due < len(j.expected) && reflect.DeepEqual(plain(j.expected[due]), plain(s))
}

// record takes a step into the record, and ends the journey where another was due.
func (j *journey) record(s step) {
	j.t.Helper()
	if !j.isExpected(s) {
		if len(j.steps) >= len(j.expected) {
			j.t.Fatalf("step %d is not in the golden record (-update writes it):\n%s", len(j.steps)+1, show(s))
		}
		due := j.expected[len(j.steps)]
		j.t.Fatalf("step %d, %q, is not as in the golden record (-want +got):\n%s\nwanted:\n%s\ngot:\n%s",
			len(j.steps)+1, s.Name, cmp.Diff(plain(due), plain(s)), show(due), show(s))
	}
	j.steps = append(j.steps, s)
}

// end finds that the journey went as far as it should, and that nothing came that was not asked for.
func (j *journey) end() {
	for _, r := range j.receivers {
		for _, d := range r.take(false) {
			j.t.Errorf("nobody waited for this delivery: %s", d.body)
		}
	}
	if rest := len(j.expected) - len(j.steps); rest > 0 {
		j.t.Errorf("the golden record has %d more steps, the next is %q", rest, j.expected[len(j.steps)].Name)
	}
}

// decode is a JSON text as T.
func decode[T any](content []byte) T {
	var v T
	_ = json.Unmarshal(content, &v) // the record shows what it was instead
	return v
}
