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

	"orgops/shared/run/lambda/gateway"
	"orgops/shared/web"
)

// answer passes an event to a handler and returns the answer.
func answer(ctx context.Context, t *testing.T, h http.HandlerFunc, e events.APIGatewayProxyRequest) events.APIGatewayProxyResponse {
	t.Helper()
	build := func(context.Context) (http.Handler, error) { return h, nil }
	resp, err := gateway.New(ctx, build, slog.New(slog.DiscardHandler), web.Origins{"*"}).Answer(ctx, e)
	if err != nil {
		t.Fatalf("the function failed: %v", err)
	}
	return resp
}

func event(method, path string) events.APIGatewayProxyRequest {
	return events.APIGatewayProxyRequest{
		HTTPMethod: method, Path: path,
		RequestContext: events.APIGatewayProxyRequestContext{DomainName: "api.example.com", RequestID: "a-request"},
	}
}

func TestAnswer_Request(t *testing.T) {
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
		if err != nil || string(body) != "\xff\x00body" || r.ContentLength != 6 {
			t.Errorf("body %q of %d: %v", body, r.ContentLength, err)
		}
		if r.URL.RawPath != "/a%2Fb/c%20d" || r.URL.Path != "/a/b/c d" || r.Host != "api.example.com" {
			t.Errorf("%s: path %q, raw %q", r.Host, r.URL.Path, r.URL.RawPath)
		}
		if diff := cmp.Diff([]string{"x y", "z&w"}, r.URL.Query()["tag"]); diff != "" {
			t.Error(diff)
		}
		if diff := cmp.Diff([]string{"v1,a v1,b", "v1,c"}, r.Header.Values("Webhook-Signature")); diff != "" {
			t.Error(diff)
		}
		w.Header().Add("Link", "<a>; rel=next")
		w.Header().Add("Link", "<b>; rel=prev")
		w.WriteHeader(http.StatusCreated)
		w.WriteHeader(http.StatusTeapot) // the first status counts
		_, _ = io.WriteString(w, `{}`)
	}, e)
	if resp.StatusCode != 201 || resp.Body != "{}" || resp.IsBase64Encoded || len(resp.MultiValueHeaders["Link"]) != 2 {
		t.Errorf("%+v", resp)
	}
}

func TestAnswer_Status(t *testing.T) {
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
				t.Fatalf("%d %s, want %d", resp.StatusCode, resp.Body, tt.status)
			}
			if tt.kind == "" {
				return
			}
			var p struct{ Type, Instance, Detail string }
			if err := json.Unmarshal([]byte(resp.Body), &p); err != nil || p.Type != tt.kind || !strings.Contains(p.Detail, tt.tells) {
				t.Errorf("%s: %v", resp.Body, err)
			}
			if got := resp.MultiValueHeaders["Content-Type"]; len(got) != 1 || got[0] != "application/problem+json" {
				t.Errorf("content type %q", got)
			}
		})
	}
}

// TestAnswer_NotReady answers 503 until the handler can be built.
func TestAnswer_NotReady(t *testing.T) {
	t.Parallel()
	var there atomic.Bool // the build at the start runs concurrently with the requests
	g := gateway.New(t.Context(), func(context.Context) (http.Handler, error) {
		if !there.Load() {
			return nil, errors.New("there is no secret")
		}
		return http.NotFoundHandler(), nil
	}, slog.New(slog.DiscardHandler), nil)
	resp, err := g.Answer(t.Context(), event("GET", "/x"))
	if err != nil || resp.StatusCode != 503 || resp.MultiValueHeaders["Retry-After"] == nil {
		t.Errorf("%+v, %v", resp, err)
	}
	there.Store(true)
	if resp, err = g.Answer(t.Context(), event("GET", "/x")); err != nil || resp.StatusCode != 404 {
		t.Errorf("%+v, %v", resp, err)
	}
}

// TestAnswer_RequestID uses the gateway's id in the answer and the log, but no id that a client made up.
func TestAnswer_RequestID(t *testing.T) {
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
		resp, err := g.Answer(t.Context(), e)
		if err != nil || resp.StatusCode != 404 {
			t.Fatalf("%+v, %v", resp, err)
		}
		id := resp.MultiValueHeaders["X-Request-Id"][0]
		if (id == given) != taken || !strings.Contains(resp.Body, "urn:uuid:"+id) || !strings.Contains(log.String(), `"request":"`+id+`"`) {
			t.Errorf("%q: %q, %s", given, id, resp.Body)
		}
	}
}

// TestAnswer_Deadline checks that a handler's context ends before the function's timeout.
func TestAnswer_Deadline(t *testing.T) {
	t.Parallel()
	end := time.Now().Add(time.Hour)
	ctx, cancel := context.WithDeadline(t.Context(), end)
	defer cancel()
	answer(ctx, t, func(_ http.ResponseWriter, r *http.Request) {
		if d, ok := r.Context().Deadline(); !ok || !d.Before(end) {
			t.Errorf("deadline %v, %t", d, ok)
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
			t.Errorf("%d", resp.StatusCode)
		}
	})
}
