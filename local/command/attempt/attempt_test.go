package attempt_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"orgops/local/command/attempt"
	"orgops/shared/testkit/errtest"
)

const tickets = `{"kind":"tickets","title":"Tickets","description":"Tickets.","base":%q,"auth":{"type":"query","name":"key"},
	"configuration":{"team":{"title":"Team","description":"Team.","example":"x"}},
	"streams":[{"name":"tickets","request":{"path":"/{team}"},"records":"/data","paging":{"type":"cursor","pointer":"/next","parameter":"after"},
		"mapping":{"rules":[{"when":".item.id != null","action":"memory.upsert","with":{"externalId":".item.id","title":".item.t"}}]}}]}`

// try runs the command in a folder with a manifest.
func try(t *testing.T, folder, text string, args ...string) (string, error) {
	t.Helper()
	file := filepath.Join(folder, "tickets.json")
	errtest.Must(t, os.WriteFile(file, []byte(text), 0o600))
	var out strings.Builder
	getenv := func(name string) string { return map[string]string{"ORGOPS_CONNECTOR_TOKEN": "s3cr3t/+"}[name] }
	err := attempt.Run(t.Context(), append([]string{"test", file}, args...), getenv, &out)
	return out.String(), err
}

// TestRun records a server, and gives the same from the recording when the server is gone. Neither shows the token.
func TestRun(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := r.URL.Query().Get("key"); got != "s3cr3t/+" {
			w.WriteHeader(http.StatusUnauthorized)
		}
		w.Header().Set("X-Echo", r.URL.Query().Get("key"))
		if r.URL.Query().Get("after") == "" {
			fmt.Fprint(w, `{"data":[{"id":"1","t":"Fix it"}],"next":"1"}`)
			return
		}
		fmt.Fprint(w, `{"data":[{"t":"nameless"},{"id":"2","t":7}]}`)
	}))
	defer server.Close()
	folder := t.TempDir()
	text, file := fmt.Sprintf(tickets, server.URL), filepath.Join(folder, "tickets.jsonl")
	live, err := try(t, folder, text, "--config", `{"team":"a"}`, "--record", file)
	errtest.Must(t, err)
	server.Close()
	replayed, err := try(t, folder, text, "--config", `{"team":"a"}`, "--replay", file)
	errtest.Must(t, err)
	if replayed != live {
		t.Errorf("from the recording:\n%s\nwant\n%s", replayed, live)
	}
	for _, want := range []string{
		"GET " + server.URL + "/a?key=…", "answers 200 with", `memory.upsert {"externalId":"1"`, `warning: title of "2" must be a string, so it is left out`, "the list ends here",
	} {
		if !strings.Contains(live, want) {
			t.Errorf("output lacks %q:\n%s", want, live)
		}
	}
	recording, err := os.ReadFile(file)
	errtest.Must(t, err)
	if strings.Contains(string(recording)+live, "s3cr3t") {
		t.Errorf("the token is in the recording or the output:\n%s\n%s", recording, live)
	}
	one, err := try(t, folder, text, "--config", `{"team":"a"}`, "--replay", file, "--pages", "1")
	errtest.Must(t, err)
	if want := "more follows"; !strings.Contains(one, want) {
		t.Errorf("output of one page lacks %q:\n%s", want, one)
	}
}

// TestRun_refuses says what is wrong with the arguments, the manifest and the configuration.
func TestRun_refuses(t *testing.T) {
	t.Parallel()
	text := fmt.Sprintf(tickets, "https://api.example.com")
	for name, tt := range map[string]struct {
		text string
		args []string
		says string
	}{
		"an unknown field": {strings.Replace(text, `"kind"`, `"code":1,"kind"`, 1), nil, "/code: is not a known field"},
		"a rule":           {strings.Replace(text, `/{team}`, `/{tenant}`, 1), nil, "/streams/0/request/path: names {tenant}"},
		"an expression":    {strings.Replace(text, `".item.id != null"`, `"env"`, 1), nil, "/rules/0/when"},
		"no configuration": {text, nil, "/configuration"},
		"no pages":         {text, []string{"--pages", "0"}, "--pages"},
		"both":             {text, []string{"--record", "a", "--replay", "b"}, "not both"},
		"a private host":   {strings.Replace(text, "api.example.com", "10.0.0.1", 1), []string{"--config", `{"team":"a"}`}, "/configuration"},
	} {
		_, err := try(t, t.TempDir(), tt.text, tt.args...)
		if got := errtest.Message(err); !strings.Contains(got, tt.says) {
			t.Errorf("%s: error %q, want one with %q", name, got, tt.says)
		}
	}
}
