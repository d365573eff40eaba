package apiclient_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"orgops/local/command/apiclient"
	"orgops/shared/testkit/errtest"
)

// TestClient_Do_Expired renews a token that expired, once.
func TestClient_Do_Expired(t *testing.T) {
	t.Parallel()
	logins, valid := 0, "token-2"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/auth/login" {
			logins++
			fmt.Fprintf(w, `{"access_token":"token-%d","company_id":"c"}`, logins)
			return
		}
		if r.Header.Get("Authorization") != "Bearer "+valid {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"detail":"the token has expired"}`)
			return
		}
		fmt.Fprintf(w, `{"path":%q}`, r.URL.Path)
	}))
	defer server.Close()
	c, err := apiclient.Login(t.Context(), apiclient.Account{Base: server.URL + "/", Email: "a@example.com", Password: "p"})
	errtest.Must(t, err)
	var out struct{ Path string }
	errtest.Must(t, c.Do(t.Context(), "GET", "/memory", nil, &out))
	if got, want := out.Path, "/companies/c/memory"; got != want {
		t.Errorf("path = %q, want %q", got, want)
	}
	if logins != 2 {
		t.Errorf("%d logins, want 2", logins)
	}
	valid = "none"
	err = c.Do(t.Context(), "GET", "/memory", nil, &out)
	if got, want := errtest.Message(err), "GET /companies/c/memory was answered 401: the token has expired"; got != want {
		t.Errorf("error = %q, want %q", got, want)
	}
	if logins != 3 {
		t.Errorf("%d logins after a refusal of a new token, want 3", logins)
	}
}

func TestTemporary(t *testing.T) {
	t.Parallel()
	var status int
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]any{"detail": "no", "errors": []map[string]string{{"pointer": "/email", "detail": "is odd"}}})
	}))
	for _, tt := range []struct {
		status    int
		temporary bool
	}{{429, true}, {500, true}, {503, true}, {400, false}, {401, false}, {302, false}} {
		status = tt.status
		_, err := apiclient.Login(t.Context(), apiclient.Account{Base: server.URL})
		wait, temporary := apiclient.Temporary(err)
		if temporary != tt.temporary {
			t.Errorf("%d is temporary: %t, want %t", tt.status, temporary, tt.temporary)
		}
		if wait != 7*time.Second {
			t.Errorf("%d: wait %v, want 7s", tt.status, wait)
		}
		if got, want := errtest.Message(err), "no; /email is odd"; !strings.HasSuffix(got, want) {
			t.Errorf("%d: error %q, want it to end in %q", tt.status, got, want)
		}
	}
	server.Close()
	_, err := apiclient.Login(t.Context(), apiclient.Account{Base: server.URL})
	if _, temporary := apiclient.Temporary(err); !temporary {
		t.Errorf("%v is not temporary, want a refused connection to be", err)
	}
	if _, temporary := apiclient.Temporary(nil); temporary {
		t.Error("no error is temporary, want it not to be")
	}
}

// TestLoginFlags_Account reads the password from where it may come, and never from an argument.
func TestLoginFlags_Account(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, env, in string
		args          []string
		prompt        func(string) (string, error)
		want, wantErr string
	}{
		{name: "the environment", env: "from env", want: "from env"},
		{name: "standard input", env: "from env", in: "from stdin\r\nmore", args: []string{"--password-stdin"}, want: "from stdin"},
		{name: "empty input", args: []string{"--password-stdin"}, wantErr: "--password-stdin: standard input holds no password; write it on the first line"},
		{name: "a prompt", prompt: func(q string) (string, error) { return "after " + q, nil }, want: "after Password of a@example.com: "},
		{name: "nowhere", wantErr: "the password is missing: set ORGOPS_PASSWORD, or use --password-stdin; there is no terminal to ask at"},
		{name: "an argument", args: []string{"--password", "x"}, wantErr: "flag provided but not defined: -password"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := flag.NewFlagSet("test", flag.ContinueOnError)
			f.SetOutput(io.Discard)
			login := apiclient.Flags(f, apiclient.Terminal{
				Getenv: func(name string) string { return map[string]string{"ORGOPS_PASSWORD": tt.env}[name] },
				In:     strings.NewReader(tt.in), Prompt: tt.prompt,
			})
			err := f.Parse(append(tt.args, "--email", "a@example.com"))
			account := apiclient.Account{}
			if err == nil {
				account, err = login.Account()
			}
			if got := errtest.Message(err); got != tt.wantErr {
				t.Errorf("error = %q, want %q", got, tt.wantErr)
			}
			if account.Password != tt.want {
				t.Errorf("password = %q, want %q", account.Password, tt.want)
			}
		})
	}
}
