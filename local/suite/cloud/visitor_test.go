package cloud

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"orgops/shared/testkit/errtest"
)

// The founder of the company.
const founderEmail, founderPassword = "ada@example.com", "correct horse battery staple"

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

func (v *visitor) login() {
	v.t.Helper()
	v.token = ""
	var session struct {
		AccessToken string `json:"access_token"`
	}
	errtest.Must(v.t, json.Unmarshal(v.ask(http.MethodPost, "/auth/login", `{"email":"`+founderEmail+`","password":"`+founderPassword+`"}`, http.StatusOK), &session))
	v.token = session.AccessToken
}

func (v visitor) connect(provider, body string) {
	v.t.Helper()
	v.ask(http.MethodPost, "/companies/"+v.company+"/integrations/"+provider, body, http.StatusCreated)
}

func (v visitor) certify(provider string) {
	v.t.Helper()
	v.ask(http.MethodPost, "/companies/"+v.company+"/integrations/"+provider+"/certification", "", http.StatusOK)
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
