package cloud

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"orgops/local/command/admin"
	"orgops/local/suite/servicetest"
	"orgops/shared/run/config"
	"orgops/shared/testkit/errtest"
)

// rehearsal bounds the deployments and restores on a busy machine.
const rehearsal = 15 * time.Minute

// TestRestore rehearses the restore of infra/README.md: the tables of a deployed stack are restored as others, the stack is
// pointed at them, and a user finds the data there. A change after the restore reaches the context, so the readers follow the
// new stream.
func TestRestore(t *testing.T) {
	t.Parallel()
	servicetest.Full(t, "what make tools installs")
	ctx, stop := context.WithTimeout(t.Context(), rehearsal)
	defer stop()
	s, err := Start(ctx, Options{Log: t.Output()})
	errtest.Must(t, err)
	t.Cleanup(func() { _ = s.Close() }) // its folder is under the test's own temporary files
	const email, password = "ada@example.com", "correct horse battery staple"
	made, err := s.CreateCompany(ctx, "Acme", email, password)
	errtest.Must(t, err)
	u := visitor{t: t, url: s.URL, company: made.CompanyID}
	u.login(email, password)
	u.connect("feed", `{"url":"https://example.com/feed.xml"}`)
	u.shows("feed")

	main := s.restored(ctx, t, "main", "orgops-restored")
	keys := s.restored(ctx, t, "keys", "orgops-restored-keys")
	errtest.Must(t, s.Redeploy(ctx, main, keys))
	for _, table := range []string{"ORGOPS_TABLE=orgops-restored ", "ORGOPS_KEYS_TABLE=orgops-restored-keys "} {
		if got := s.Outputs["AdminVariables"] + " "; !strings.Contains(got, table) {
			t.Errorf("the stack's variables are %s, want %s", got, table)
		}
	}
	u.url = s.URL
	u.login(email, password)
	u.shows("feed")
	u.connect("webhook", `{"url":"https://example.com/hook","events":["*"]}`)
	u.shows("webhook")
	refusals, err := s.Refusals()
	errtest.Must(t, err)
	for _, r := range refusals { // the former mappings read the former stream for a moment, without the right
		if strings.Contains(r.Resource, "orgops-restored") {
			t.Errorf("refused on a restored table: %v, want no refusal there", r)
		}
	}
}

// restored runs the operator's command with the stack's variables, and returns the context value that it prints.
func (s *Stack) restored(ctx context.Context, t *testing.T, table, to string) string {
	t.Helper()
	variables := map[string]string{}
	for _, pair := range append(s.Environment(), strings.Fields(strings.TrimPrefix(s.Outputs["AdminVariables"], "export "))...) {
		name, value, _ := strings.Cut(pair, "=")
		variables[name] = value
	}
	get := func(name string) string { return variables[name] }
	c, err := config.Read(get)
	errtest.Must(t, err)
	var out bytes.Buffer
	errtest.Must(t, admin.Run(ctx, admin.Env{Config: c, Getenv: get, Out: &out, Err: t.Output()}, []string{"table", "restore", "--table", table, "--to", to}))
	var line struct {
		Deploy string `json:"deploy"`
	}
	errtest.Must(t, json.Unmarshal(out.Bytes(), &line))
	return strings.TrimPrefix(line.Deploy, "-c ")
}

// visitor uses the API as a founder of a company.
type visitor struct {
	t                   *testing.T
	url, company, token string
}

// ask sends a request until it gets this status: the emulator's functions may still start.
func (v visitor) ask(method, path, body string, want int) []byte {
	v.t.Helper()
	var text []byte
	eventually(v.t, func() (int, bool) {
		request, err := http.NewRequestWithContext(v.t.Context(), method, v.url+path, strings.NewReader(body))
		errtest.Must(v.t, err)
		request.Header.Set("Content-Type", "application/json")
		if v.token != "" {
			request.Header.Set("Authorization", "Bearer "+v.token)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return 0, false
		}
		defer response.Body.Close()
		var b bytes.Buffer
		_, _ = b.ReadFrom(response.Body)
		if text = b.Bytes(); response.StatusCode != want {
			v.t.Logf("%s %s: %s %s", method, path, response.Status, text)
		}
		return response.StatusCode, response.StatusCode == want
	})
	return text
}

func (v *visitor) login(email, password string) {
	v.t.Helper()
	v.token = ""
	var session struct {
		AccessToken string `json:"access_token"`
	}
	errtest.Must(v.t, json.Unmarshal(v.ask(http.MethodPost, "/auth/login", `{"email":"`+email+`","password":"`+password+`"}`, http.StatusOK), &session))
	v.token = session.AccessToken
}

func (v visitor) connect(provider, body string) {
	v.t.Helper()
	v.ask(http.MethodPost, "/companies/"+v.company+"/integrations/"+provider, body, http.StatusCreated)
}

// shows waits until the company's context, which follows the stream, has an integration.
func (v visitor) shows(provider string) {
	v.t.Helper()
	eventually(v.t, func() (int, bool) {
		text := v.ask(http.MethodGet, "/companies/"+v.company+"/intelligence/context", "", http.StatusOK)
		var is struct {
			Integrations map[string]json.RawMessage `json:"integrations"`
		}
		errtest.Must(v.t, json.Unmarshal(text, &is))
		_, ok := is.Integrations[provider]
		return 0, ok
	})
}
