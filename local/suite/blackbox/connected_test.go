package blackbox_test

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/githubtest"
)

// connected starts the program with an operator's GitHub App, connects a repository in a browser, and syncs it with the app's tokens.
func connected(t *testing.T, program string) {
	t.Parallel()
	at := githubtest.New(t, time.Now)
	app := at.Register(t)
	at.Put("issues", githubtest.Issue(1, "Ship it", time.Now()))
	file := filepath.Join(t.TempDir(), "applications.json")
	text, err := json.Marshal(map[string]any{"github": app.Application()})
	errtest.Must(t, err)
	errtest.Must(t, os.WriteFile(file, text, 0o600))
	tg := startProgram(t, program, "ORGOPS_APPLICATIONS_FILE="+file)
	const email, password = "ada@connected.example", "correct horse battery staple"
	company, err := tg.createCompany(t.Context(), "Connected", email, password)
	errtest.Must(t, err)

	b := &founder{t: t, base: tg.url, company: company}
	b.send("POST", tg.url+"/auth/login", object{"email": email, "password": password}, &b.session)
	b.call("POST", "/integrations/github", object{"repository": githubtest.Repository, "baseUrl": at.URL}, nil)
	var begun struct{ URL string }
	b.call("POST", "/integrations/github/connect", nil, &begun)
	led, err := url.Parse(begun.URL)
	errtest.Must(t, err)
	end := b.send("GET", tg.url+"/auth/connect/callback?"+app.Install(led, true).Encode(), nil, nil)
	if got := end.Get("Location"); !strings.HasSuffix(got, "/console/index.html#/connected?provider=github") {
		t.Fatalf("it ended at %q, want the console to be told of the provider", got)
	}
	b.call("POST", "/integrations/github/certification", nil, nil)
	var run struct{ ID, State string }
	b.call("POST", "/memory/sync/github", object{}, &run)
	errtest.Must(t, poll(t.Context(), tg.every, func() (bool, error) {
		b.call("GET", "/memory/syncs/"+run.ID, nil, &run)
		return run.State == "succeeded", nil
	}))
	if got := app.Made(); got != 1 {
		t.Errorf("%d tokens of the installation made, want 1", got)
	}
	if log := tg.log(); strings.Contains(log, "ghs_") {
		t.Error("the log holds a token of the installation")
	}
}

// founder sends the requests of a person's browser.
type founder struct {
	t             *testing.T
	base, company string
	cookie        string
	session       struct {
		AccessToken string `json:"access_token"`
	}
}

func (f *founder) call(method, path string, body, into any) {
	f.t.Helper()
	f.send(method, f.base+"/companies/"+f.company+path, body, into)
}

// send sends a request with the cookie, keeps that of the answer, decodes the answer into into, unless that is nil, and returns its headers.
func (f *founder) send(method, address string, body, into any) http.Header {
	f.t.Helper()
	sent := []byte{}
	if body != nil {
		var err error
		sent, err = json.Marshal(body)
		errtest.Must(f.t, err)
	}
	r, err := http.NewRequestWithContext(f.t.Context(), method, address, bytes.NewReader(sent))
	errtest.Must(f.t, err)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if method == http.MethodPost {
		r.Header.Set("Idempotency-Key", rand.Text())
	}
	if f.session.AccessToken != "" {
		r.Header.Set("Authorization", "Bearer "+f.session.AccessToken)
	}
	if f.cookie != "" {
		r.Header.Set("Cookie", f.cookie)
	}
	resp, err := http.DefaultTransport.RoundTrip(r) // follows nothing
	errtest.Must(f.t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	errtest.Must(f.t, err)
	if resp.StatusCode >= http.StatusBadRequest {
		f.t.Fatalf("%s %s: status %d: %s", method, address, resp.StatusCode, text)
	}
	if set, _, ok := strings.Cut(resp.Header.Get("Set-Cookie"), ";"); ok {
		f.cookie = set
	}
	if into != nil {
		errtest.Must(f.t, json.Unmarshal(text, into))
	}
	return resp.Header
}
