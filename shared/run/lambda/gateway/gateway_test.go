package gateway_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"orgops/shared/run/lambda/gateway"
	"orgops/shared/testkit/errtest"
	"orgops/shared/web"
)

// answer passes an event to a handler and returns the answer.
func answer(ctx context.Context, t *testing.T, h http.HandlerFunc, e events.APIGatewayProxyRequest) events.APIGatewayProxyResponse {
	t.Helper()
	build := func(context.Context) (http.Handler, error) { return h, nil }
	resp, err := gateway.New(ctx, build, slog.New(slog.DiscardHandler), web.Origins{"*"}).Answer(ctx, e)
	errtest.Must(t, err)
	return resp
}

// ask passes an event to a gateway and returns the answer, which must have the status.
func ask(t *testing.T, g *gateway.Gateway, e events.APIGatewayProxyRequest, status int) events.APIGatewayProxyResponse {
	t.Helper()
	resp, err := g.Answer(t.Context(), e)
	errtest.Must(t, err)
	if resp.StatusCode != status {
		t.Fatalf("status = %d, want %d: %s", resp.StatusCode, status, resp.Body)
	}
	return resp
}

func event(method, path string) events.APIGatewayProxyRequest {
	return events.APIGatewayProxyRequest{
		HTTPMethod: method, Path: path,
		RequestContext: events.APIGatewayProxyRequestContext{DomainName: "api.example.com", RequestID: "a-request"},
	}
}

func TestGateway_Answer_Request(t *testing.T) {
	t.Parallel()
	e := event("POST", "/a%2Fb/c%20d")
	e.MultiValueHeaders = map[string][]string{"webhook-signature": {"v1,a v1,b", "v1,c"}, "Content-Type": {"text/plain"}}
	e.Headers = map[string]string{"webhook-signature": "v1,c"}
	e.MultiValueQueryStringParameters = map[string][]string{"tag": {"x y", "z&w"}}
	e.QueryStringParameters = map[string]string{"tag": "z&w"}
	e.Body, e.IsBase64Encoded = base64.StdEncoding.EncodeToString([]byte("\xff\x00body")), true
	e.RequestContext.Stage, e.RequestContext.Path = "live", "/live/a%2Fb/c%20d" // the stage is not part of the operation's path
	resp := answer(t.Context(), t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("read the body: %v", err)
		}
		type request struct {
			Body                string
			Length              int64
			Host, Path, RawPath string
			Tags, Signatures    []string
		}
		want := request{
			Body: "\xff\x00body", Length: 6, Host: "api.example.com", Path: "/a/b/c d", RawPath: "/a%2Fb/c%20d",
			Tags: []string{"x y", "z&w"}, Signatures: []string{"v1,a v1,b", "v1,c"},
		}
		got := request{
			string(body), r.ContentLength, r.Host, r.URL.Path, r.URL.RawPath, r.URL.Query()["tag"], r.Header.Values("Webhook-Signature"),
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("request differs (-want +got):\n%s", diff)
		}
		w.Header().Add("Link", "<a>; rel=next")
		w.Header().Add("Link", "<b>; rel=prev")
		w.WriteHeader(http.StatusCreated)
		w.WriteHeader(http.StatusTeapot) // the first status counts
		_, _ = io.WriteString(w, `{}`)
	}, e)
	want := events.APIGatewayProxyResponse{
		StatusCode: 201, Body: "{}", MultiValueHeaders: map[string][]string{"Link": {"<a>; rel=next", "<b>; rel=prev"}},
	}
	if diff := cmp.Diff(want, resp, cmpopts.IgnoreMapEntries(func(name string, _ []string) bool { return name != "Link" })); diff != "" {
		t.Errorf("answer differs (-want +got):\n%s", diff)
	}
}

func TestGateway_Answer_Status(t *testing.T) {
	t.Parallel()
	ok := func(http.ResponseWriter, *http.Request) {}
	tests := []struct {
		name   string
		event  events.APIGatewayProxyRequest
		do     http.HandlerFunc
		status int
		kind   string
		tells  string // part of the detail
	}{
		{"no answer written", event("GET", "/x"), ok, 200, "", ""},
		{"no path", event("GET", ""), ok, 200, "", ""},
		{"only method and path", events.APIGatewayProxyRequest{HTTPMethod: "GET", Path: "/x"}, ok, 200, "", ""},
		{"a broken escape", event("GET", "/companies/%zz/context"), ok, 400, "/problems/malformed", "hexadecimal"},
		{"half an escape", event("GET", "/companies/%2"), ok, 400, "/problems/malformed", "hexadecimal"},
		{"a control character", event("GET", "/companies/\x7f"), ok, 400, "/problems/malformed", "hexadecimal"},
		{"no method", event("BAD METHOD", "/x"), ok, 400, "/problems/malformed", "cannot be read"},
		{"invalid base64", events.APIGatewayProxyRequest{HTTPMethod: "POST", Path: "/x", Body: "%", IsBase64Encoded: true}, ok, 400, "/problems/malformed", "body"},
		{"a panic", event("GET", "/x"), func(http.ResponseWriter, *http.Request) { panic("boom") }, 500, "/problems/internal", ""},
		{"an abort", event("GET", "/x"), func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusOK)
			_, _ = io.WriteString(w, "half an ans")
			panic(http.ErrAbortHandler)
		}, 500, "/problems/internal", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			resp := answer(t.Context(), t, tt.do, tt.event)
			if resp.StatusCode != tt.status {
				t.Fatalf("status = %d, want %d: %s", resp.StatusCode, tt.status, resp.Body)
			}
			if tt.kind == "" {
				return
			}
			var p struct{ Type, Instance, Detail string }
			errtest.Must(t, json.Unmarshal([]byte(resp.Body), &p))
			if p.Type != tt.kind {
				t.Errorf("type = %q, want %q", p.Type, tt.kind)
			}
			if !strings.Contains(p.Detail, tt.tells) {
				t.Errorf("detail = %q, want one with %q", p.Detail, tt.tells)
			}
			if diff := cmp.Diff([]string{"application/problem+json"}, resp.MultiValueHeaders["Content-Type"]); diff != "" {
				t.Errorf("content type (-want +got):\n%s", diff)
			}
		})
	}
}

// TestGateway_Answer_NotReady answers 503 until the handler can be built.
func TestGateway_Answer_NotReady(t *testing.T) {
	t.Parallel()
	var there atomic.Bool // the build at the start runs concurrently with the requests
	g := gateway.New(t.Context(), func(context.Context) (http.Handler, error) {
		if !there.Load() {
			return nil, errors.New("there is no secret")
		}
		return http.NotFoundHandler(), nil
	}, slog.New(slog.DiscardHandler), nil)
	resp := ask(t, g, event("GET", "/x"), http.StatusServiceUnavailable)
	if resp.MultiValueHeaders["Retry-After"] == nil {
		t.Errorf("headers = %v, want a Retry-After", resp.MultiValueHeaders)
	}
	there.Store(true)
	ask(t, g, event("GET", "/x"), http.StatusNotFound)
}

// TestGateway_Answer_RequestID uses the gateway's id in the answer and the log, but no id that a client made up.
func TestGateway_Answer_RequestID(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	server := web.New(web.Options{Title: "test", Logger: slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	build := func(context.Context) (http.Handler, error) { return server, nil }
	g := gateway.New(t.Context(), build, slog.New(slog.DiscardHandler), nil)
	for given, taken := range map[string]bool{
		"5b0c7a52-2f5e-4c53-9f0e-1d6a3b7c8e90": true, "": false, "{5b0c7a52-2f5e-4c53-9f0e-1d6a3b7c8e90}": false,
		"5b0c7a522f5e4c539f0e1d6a3b7c8e90": false, "any text of thirty-six characters :)": false,
	} {
		e := event("GET", "/nowhere")
		e.RequestContext.RequestID = given
		resp := ask(t, g, e, http.StatusNotFound)
		id := resp.MultiValueHeaders["X-Request-Id"][0]
		if (id == given) != taken {
			t.Errorf("gateway's id %q: the answer's id is %q, want the same: %t", given, id, taken)
		}
		if want := "urn:uuid:" + id; !strings.Contains(resp.Body, want) {
			t.Errorf("gateway's id %q: body = %s, want one with %s", given, resp.Body, want)
		}
		if want := `"request":"` + id + `"`; !strings.Contains(log.String(), want) {
			t.Errorf("gateway's id %q: log = %s, want one with %s", given, log.String(), want)
		}
	}
}

// TestGateway_Answer_Deadline checks that a handler's context ends before the function's timeout.
func TestGateway_Answer_Deadline(t *testing.T) {
	t.Parallel()
	end := time.Now().Add(time.Hour)
	ctx, cancel := context.WithDeadline(t.Context(), end)
	defer cancel()
	answer(ctx, t, func(_ http.ResponseWriter, r *http.Request) {
		d, ok := r.Context().Deadline()
		if !ok {
			t.Error("the handler's context has no deadline")
		}
		if !d.Before(end) {
			t.Errorf("deadline = %v, want one before %v", d, end)
		}
	}, event("GET", "/x"))
}

// FuzzAnswer answers every event.
func FuzzAnswer(f *testing.F) {
	f.Add("GET", "/a", "", false)
	f.Add("", "%", "%", true)
	f.Add("PUT", "//a?b#c", "e30=", true)
	f.Add("G T", "\x00", "\xff", false)
	f.Fuzz(func(t *testing.T, method, path, body string, encoded bool) {
		e := event(method, path)
		e.Body, e.IsBase64Encoded = body, encoded
		resp := answer(t.Context(), t, func(http.ResponseWriter, *http.Request) {}, e)
		if resp.StatusCode != 200 && resp.StatusCode != 400 {
			t.Errorf("status = %d, want 200 or 400", resp.StatusCode)
		}
	})
}

// TestGateway_Answer_Source takes the client's address from API Gateway alone, and from no header.
func TestGateway_Answer_Source(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"198.51.100.7", "2001:db8::1"} {
		e := event("GET", "/")
		e.RequestContext.Identity.SourceIP = address
		e.MultiValueHeaders = map[string][]string{"X-Forwarded-For": {"203.0.113.1, 203.0.113.2"}, "Forwarded": {"for=203.0.113.3"}}
		var got string
		answer(t.Context(), t, func(_ http.ResponseWriter, r *http.Request) { got = r.RemoteAddr }, e)
		if got != address {
			t.Errorf("address = %s, want %s", got, address)
		}
	}
}
