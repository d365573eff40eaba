package process_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/local/command/admin"
	"orgops/local/process"
	"orgops/local/process/preflight"
	"orgops/shared/domain/company"
	"orgops/shared/run/config"
	"orgops/shared/testkit/awstest"
	"orgops/shared/testkit/errtest"
	"orgops/shared/webhook/standardwebhooks"
)

var (
	dynamo, sqs, moto = awstest.DynamoDB(), awstest.SQS(), awstest.Moto()
	prefixes          atomic.Int64
)

func TestMain(m *testing.M) { os.Exit(awstest.Run(m, dynamo, sqs, moto)) }

const (
	secret   = "whsec_bG9jYWwgcHJvY2VzcyBsb2NhbCBwcm9jZXNzIGxvY2E="
	pass     = "correct horse battery"
	patience = 20 * time.Second
)

// environment holds a process's variables.
type environment map[string]string

func (e environment) get(name string) string { return e[name] }

// with returns a copy with one variable set.
func (e environment) with(name, value string) environment {
	e = maps.Clone(e)
	e[name] = value
	return e
}

func (e environment) admin(t *testing.T, in string, args ...string) string {
	t.Helper()
	c, err := config.Read(e.get)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := admin.Run(t.Context(), admin.Env{Config: c, Getenv: e.get, In: strings.NewReader(in), Out: &out}, args); err != nil {
		t.Fatalf("admin %s: %v", strings.Join(args, " "), err)
	}
	return out.String()
}

// prepared runs `admin aws create` for resources that no other test uses, and returns their environment.
func prepared(t *testing.T, prefix string) environment {
	t.Helper()
	prefix = fmt.Sprint(prefix, "-", prefixes.Add(1))
	e := environment{"ORGOPS_BACKEND": "aws"}
	for _, pair := range awstest.Environment(t, dynamo, sqs, moto) {
		name, value, _ := strings.Cut(pair, "=")
		e[name] = value
	}
	made := e.admin(t, "", "aws", "create", "--prefix", prefix)
	if again := e.admin(t, "", "aws", "create", "--prefix", prefix); again != made {
		t.Errorf("a repeated create changed the resources (-first +second):\n%s", cmp.Diff(made, again))
	}
	for line := range strings.Lines(made) {
		if assignment, ok := strings.CutPrefix(strings.TrimSpace(line), "export "); ok {
			name, value, _ := strings.Cut(assignment, "=")
			e[name] = strings.Trim(value, "'")
		}
	}
	return e
}

// service runs a process.
type service struct {
	*process.Process
	base string
	stop func()
}

func openAWS(t *testing.T, e environment) *process.Process {
	t.Helper()
	p, err := process.OpenAWS(t.Context(), e.get, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func serve(t *testing.T, e environment) *service {
	t.Helper()
	s := &service{Process: openAWS(t, e)}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.base = "http://" + l.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx, l) }()
	s.stop = func() {
		if cancel == nil {
			return
		}
		cancel()
		cancel = nil
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	t.Cleanup(s.stop)
	return s
}

// client calls the API for a company.
type client struct {
	handler        http.Handler
	company, token string
}

func (c *client) call(t *testing.T, want int, method, path, body string, header http.Header) []byte {
	t.Helper()
	r := httptest.NewRequest(method, strings.ReplaceAll(path, "{companyId}", c.company), strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	maps.Copy(r.Header, header)
	w := httptest.NewRecorder()
	c.handler.ServeHTTP(w, r)
	if w.Code != want {
		t.Fatalf("%s %s: status = %d, want %d: %s", method, path, w.Code, want, w.Body)
	}
	return w.Body.Bytes()
}

// found creates a company and logs its founder in.
func found(t *testing.T, e environment, h http.Handler, email string) *client {
	t.Helper()
	var made company.Provisioned
	text := e.admin(t, pass+"\n", "company", "create", "--name", "Acme", "--email", email, "--password-stdin")
	if err := json.Unmarshal([]byte(text), &made); err != nil {
		t.Fatal(err)
	}
	c := &client{handler: h, company: made.CompanyID}
	c.login(t, email)
	return c
}

// login gets a new token.
func (c *client) login(t *testing.T, email string) {
	t.Helper()
	c.token = ""
	var login struct {
		Token string `json:"access_token"`
	}
	if err := json.Unmarshal(c.call(t, 200, "POST", "/auth/login", `{"email":"`+email+`","password":"`+pass+`"}`, nil), &login); err != nil {
		t.Fatal(err)
	}
	c.token = login.Token
}

// inbound posts a signed arrival that creates a memory.
func (c *client) inbound(t *testing.T, name string) {
	t.Helper()
	body := `{"type":"memory.upsert","data":{"externalId":"` + name + `","kind":"ticket","title":"Printer on fire"}}`
	signer, err := standardwebhooks.NewSigner([]string{secret})
	if err != nil {
		t.Fatal(err)
	}
	c.call(t, 202, "POST", "/inbound/{companyId}/webhook", body, signer.Headers("msg_"+name, []byte(body), time.Now()))
}

// receive starts a receiver that verifies webhooks. It sends the external id of each created memory to the channel.
func receive(t *testing.T) (url string, told <-chan string) {
	t.Helper()
	got := make(chan string, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			_, err = standardwebhooks.Verify([]string{secret}, r.Header, body, time.Now())
		}
		if err != nil {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		var event struct {
			Type string
			Data struct{ ExternalID string }
		}
		if json.NewDecoder(bytes.NewReader(body)).Decode(&event) == nil && event.Type == "memory.created" && event.Data.ExternalID != "" {
			got <- event.Data.ExternalID
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, got
}

func await(t *testing.T, told <-chan string, want string) {
	t.Helper()
	select {
	case got := <-told:
		if got != want {
			t.Fatalf("received %q, want %q", got, want)
		}
	case <-time.After(patience):
		t.Fatalf("%q was not received", want)
	}
}

// TestOpenAWS runs the service on tables, a stream, queues, a KMS key and a secret, from an empty account to a delivery.
// After a pause it delivers what was committed meanwhile.
func TestOpenAWS(t *testing.T) {
	t.Parallel()
	e := prepared(t, "journey")
	url, told := receive(t)
	s := serve(t, e)
	c := found(t, e, s.Handler, "ada@example.com")
	c.call(t, 201, "POST", "/companies/{companyId}/integrations/webhook", `{"url":"`+url+`","events":["memory.*"],"signingSecret":"`+secret+`"}`, nil)
	c.call(t, 200, "POST", "/companies/{companyId}/integrations/webhook/certification", "", nil)
	begun := time.Now()
	c.inbound(t, "first")
	await(t, told, "first")
	t.Logf("from the request to the delivery: %v", time.Since(begun))
	s.stop()

	// A process that does not run consumes no feed.
	quiet := openAWS(t, e)
	c.handler = quiet.Handler
	c.inbound(t, "second") // the token and the sealed secret work in another process
	if err := quiet.Close(); err != nil {
		t.Fatal(err)
	}
	s = serve(t, e)
	c.handler = s.Handler
	await(t, told, "second")
	c.inbound(t, "third")
	await(t, told, "third") // and no event is delivered again
}

func TestOpenAWS_SecondProcess(t *testing.T) {
	t.Parallel()
	e := prepared(t, "second")
	serve(t, e)
	p, err := process.OpenAWS(t.Context(), e.get, slog.New(slog.DiscardHandler))
	if err == nil {
		p.Close()
	}
	if got, want := errtest.Message(err), "been served by process"; !strings.Contains(got, want) {
		t.Errorf("a second process on the table: error %q, want one with %q", got, want)
	}
}

// TestOpenAWS_Rotated accepts tokens signed with the rotated key and with the previous one.
func TestOpenAWS_Rotated(t *testing.T) {
	t.Parallel()
	e := prepared(t, "rotated")
	p := openAWS(t, e)
	c := found(t, e, p.Handler, "grace@example.com")
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if out, want := e.admin(t, "", "keys", "rotate"), "stay valid until they expire"; !strings.Contains(out, want) {
		t.Errorf("rotate printed %q, want a text with %q", out, want)
	}
	p = openAWS(t, e)
	defer p.Close()
	c.handler = p.Handler
	c.call(t, 200, "GET", "/companies/{companyId}/integrations", "", nil)
	c.login(t, "grace@example.com")
}

// TestOpenAWS_Revoked starts after a revocation: the former key's tokens are refused.
func TestOpenAWS_Revoked(t *testing.T) {
	t.Parallel()
	e := prepared(t, "revoked")
	p := openAWS(t, e)
	c := found(t, e, p.Handler, "grace@example.com")
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if out, want := e.admin(t, "", "keys", "rotate", "--revoke"), "within 5 minutes"; !strings.Contains(out, want) {
		t.Errorf("rotate --revoke printed %q, want a text with %q", out, want)
	}
	p = openAWS(t, e)
	defer p.Close()
	c.handler = p.Handler
	c.call(t, 401, "GET", "/companies/{companyId}/integrations", "", nil)
	c.login(t, "grace@example.com")
	c.call(t, 200, "GET", "/companies/{companyId}/integrations", "", nil)
}

// TestOpenAWS_Networks refuses endpoints on this machine unless the operator allows its network: the table may be shared.
func TestOpenAWS_Networks(t *testing.T) {
	t.Parallel()
	e := prepared(t, "networks")
	for i, tt := range []struct {
		networks string
		status   int
	}{{"", 422}, {"10.0.0.0/8", 422}, {e["ORGOPS_ALLOW_NETWORKS"], 201}} {
		p := openAWS(t, e.with("ORGOPS_ALLOW_NETWORKS", tt.networks))
		for _, host := range []string{"127.0.0.1", "localhost"} {
			c := found(t, e, p.Handler, fmt.Sprintf("%s-%d@example.com", host, i))
			c.call(t, tt.status, "POST", "/companies/{companyId}/integrations/webhook", `{"url":"http://`+host+`:1/","events":["memory.*"],"signingSecret":"`+secret+`"}`, nil)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestOpenAWS_Refused checks that a missing or unreachable service is reported in one line, in time, and without secrets.
func TestOpenAWS_Refused(t *testing.T) {
	t.Parallel()
	e := prepared(t, "refused").with("AWS_SECRET_ACCESS_KEY", "top-secret")
	silent, err := net.Listen("tcp", "127.0.0.1:0") // accepts connections and never answers
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() })
	stranger := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(stranger.Close)
	tests := []struct {
		name string
		e    environment
		want []string
	}{
		{"nothing is set", environment{"ORGOPS_BACKEND": "aws"}, []string{
			"AWS_REGION", "AWS_ACCESS_KEY_ID", "ORGOPS_TABLE", "ORGOPS_KEYS_TABLE", "ORGOPS_WRAPPING_KEY", "ORGOPS_TOKEN_KEYS", "ORGOPS_SIGNING_KEYS",
			"ORGOPS_RETRIES_QUEUE", "ORGOPS_RETRIES_DEAD_LETTERS", "ORGOPS_SYNCS_QUEUE", "ORGOPS_SYNCS_DEAD_LETTERS",
			"ORGOPS_NOTICES_QUEUE", "ORGOPS_NOTICES_DEAD_LETTERS",
		}},
		{"connection refused", e.with("AWS_ENDPOINT_URL_SQS", "http://user:top-secret@127.0.0.1:1"), []string{"SQS at http://127.0.0.1:1", "refused"}},
		{"no answer", e.with("AWS_ENDPOINT_URL_KMS", "http://"+silent.Addr().String()), []string{"KMS at http://" + silent.Addr().String(), "no answer"}},
		{"not AWS", e.with("AWS_ENDPOINT_URL_SECRETS_MANAGER", stranger.URL), []string{"SECRETS_MANAGER at " + stranger.URL, "not the service's"}},
		{"no table", e.with("ORGOPS_TABLE", "none"), []string{"DYNAMODB at http://127.0.0.1", "table none", "ResourceNotFoundException"}},
		{"a table without a stream", e.with("ORGOPS_TABLE", e["ORGOPS_KEYS_TABLE"]), []string{"no stream"}},
		{"no queue", e.with("ORGOPS_SYNCS_DEAD_LETTERS", e["ORGOPS_SYNCS_QUEUE"]+"-none"), []string{"SQS at", "QueueDoesNotExist"}},
		{"no secret", e.with("ORGOPS_TOKEN_KEYS", "none"), []string{"SECRETS_MANAGER at", "ResourceNotFoundException"}},
		{"no key", e.with("ORGOPS_WRAPPING_KEY", "alias/none"), []string{"KMS at", "NotFoundException"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			begun := time.Now()
			_, err := process.OpenAWS(t.Context(), tt.e.get, slog.New(slog.DiscardHandler))
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q, want one with %q", err, want)
				}
			}
			if strings.Contains(err.Error(), "top-secret") {
				t.Errorf("error %q, want one without a secret", err)
			}
			if tt.name != "nothing is set" && strings.Contains(err.Error(), "\n") {
				t.Errorf("error %q, want one line", err)
			}
			if took, most := time.Since(begun), preflight.Timeout+5*time.Second; took > most {
				t.Errorf("refused after %v, want %v at most", took, most)
			}
		})
	}
}
