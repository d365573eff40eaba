package acceptance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"time"

	"orgops/local/suite/servicetest"
	"orgops/shared/testkit/errtest"
)

// service is the whole service with a client.
type service struct {
	client
	*servicetest.Service
}

// start serves until the test ends.
func start(t *testing.T) *service {
	t.Helper()
	s := servicetest.Start(t)
	return &service{client{t: t, base: s.URL}, s}
}

// tenant holds a company with its founder logged in.
type tenant struct {
	client
	ID, Email, Password, Token string
}

// tenant creates a company and logs its founder in.
func (s *service) tenant(name string) *tenant {
	s.t.Helper()
	f := s.Found(name)
	tn := &tenant{client: s.client, ID: f.CompanyID, Email: f.Email, Password: f.Password}
	tn.login()
	s.Log.KeepOut(tn.Token)
	return tn
}

// login gets a token from the public login route.
func (tn *tenant) login() {
	tn.t.Helper()
	var answer struct {
		AccessToken string `json:"access_token"`
	}
	tn.do("POST", "/auth/login", map[string]string{"email": tn.Email, "password": tn.Password}).want(200).json(&answer)
	tn.Token = answer.AccessToken
	tn.bearer = answer.AccessToken
}

// at returns a path of the company.
func (tn *tenant) at(path string) string { return "/companies/" + tn.ID + path }

// client sends requests to one server.
type client struct {
	t      *testing.T
	base   string
	bearer string
}

// answer holds a response with its body.
type answer struct {
	t       *testing.T
	request string
	status  int
	header  http.Header
	body    []byte
}

// send sends a request. It returns an error only if no complete answer came.
func (c client) send(method, path string, body any, header http.Header) (*answer, error) {
	var content io.Reader
	switch b := body.(type) {
	case nil:
	case []byte:
		content = bytes.NewReader(b)
	default:
		text, err := json.Marshal(b)
		errtest.Must(c.t, err)
		content = bytes.NewReader(text)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, content)
	errtest.Must(c.t, err)
	if content != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.bearer != "" {
		r.Header.Set("Authorization", "Bearer "+c.bearer)
	}
	for name, values := range header {
		r.Header[name] = values
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	content2, err := io.ReadAll(res.Body)
	return &answer{c.t, method + " " + path, res.StatusCode, res.Header, content2}, err
}

// do sends a request to a server that must answer; headers are pairs of name and value.
func (c client) do(method, path string, body any, headers ...string) *answer {
	c.t.Helper()
	header := http.Header{}
	for i := 0; i+1 < len(headers); i += 2 {
		header.Set(headers[i], headers[i+1])
	}
	a, err := c.send(method, path, body, header)
	errtest.Must(c.t, err)
	return a
}

// want ends the test if the status differs.
func (a *answer) want(status int) *answer {
	a.t.Helper()
	if a.status != status {
		a.t.Fatalf("%s was answered %d, want %d: %s", a.request, a.status, status, a.body)
	}
	return a
}

// json decodes the body.
func (a *answer) json(into any) *answer {
	a.t.Helper()
	if err := json.Unmarshal(a.body, into); err != nil {
		a.t.Fatalf("%s: %v: %s", a.request, err, a.body)
	}
	return a
}

// patience bounds the wait for a short operation, also on a busy machine.
const patience = 30 * time.Second

// eventually polls ok until it returns true, and ends the test after patience.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for !ok() {
		select {
		case <-deadline.C:
			t.Fatalf("not met within %v: %s", patience, what)
		case <-again.C:
		}
	}
}
