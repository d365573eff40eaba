package gateway_test

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/run/lambda/gateway"
	"orgops/shared/web"
)

// TestGateway_Answer_BasePath checks that an operation, and the links in its answer, work at the API's own address and below every
// base path of a custom domain. The paths of each case follow
// https://docs.aws.amazon.com/apigateway/latest/developerguide/rest-api-mappings.html
func TestGateway_Answer_BasePath(t *testing.T) {
	t.Parallel()
	const resource = "/listing/{kind}/items"
	server := web.New(web.Options{Title: "test"})
	huma.Register(server.API(), web.Public(huma.Operation{OperationID: "list", Method: "GET", Path: resource}),
		func(ctx context.Context, in *struct {
			Kind string `path:"kind"`
			web.PageQuery
		}) (*web.PageOutput[string], error) {
			return web.NewPage(ctx, []string{in.Kind}, "next"), nil
		})
	g := gateway.New(t.Context(), func(context.Context) (http.Handler, error) { return server, nil }, slog.New(slog.DiscardHandler), nil)
	for _, tt := range []struct{ name, path, written, link string }{
		{"the API's own address", "/listing/a/items", "/live/listing/a/items", "/live/listing/a/items"},
		{"a domain mapped to the stage", "/listing/a/items", "/listing/a/items", "/listing/a/items"},
		{"a domain mapped to the API", "/live/listing/a/items", "/live/listing/a/items", "/live/listing/a/items"},
		{"a base path mapped to the stage", "/v1/listing/a/items", "/v1/listing/a/items", "/v1/listing/a/items"},
		{"a base path of two levels", "/org/v1/listing/a/items", "/org/v1/listing/a/items", "/org/v1/listing/a/items"},
		{"a base path mapped to the API", "/v1/live/listing/a/items", "/v1/live/listing/a/items", "/v1/live/listing/a/items"},
		{"a base path that is named like a resource", "/listing/listing/a/items", "/listing/listing/a/items", "/listing/listing/a/items"},
		{"a kind that is named like one", "/listing/listing/items", "/live/listing/listing/items", "/live/listing/listing/items"},
		{"an encoded kind", "/v1/listing/a%20b/items", "/v1/listing/a%20b/items", "/v1/listing/a%20b/items"},
		{"no context", "/listing/a/items", "", "/listing/a/items"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := event("GET", tt.path)
			e.Resource, e.RequestContext.Path = resource, tt.written
			resp := ask(t, g, e, http.StatusOK)
			if link, want := resp.MultiValueHeaders["Link"][0], "<"+tt.link+"?cursor="; !strings.HasPrefix(link, want) {
				t.Errorf("link = %s, want it to begin with %s", link, want)
			}
		})
	}
}

// TestGateway_Answer_Origins checks that a page can also read an answer that was made without a handler.
func TestGateway_Answer_Origins(t *testing.T) {
	t.Parallel()
	broken := event("GET", "/%zz")
	broken.Headers = map[string]string{"origin": "https://a.example"}
	for _, tt := range []struct {
		origins web.Origins
		want    string
	}{{web.Origins{"*"}, "*"}, {web.Origins{"https://b.example", "https://a.example"}, "https://a.example"}, {web.Origins{"https://b.example"}, ""}, {nil, ""}} {
		g := gateway.New(t.Context(), func(context.Context) (http.Handler, error) { return http.NotFoundHandler(), nil }, slog.New(slog.DiscardHandler), tt.origins)
		resp := ask(t, g, broken, http.StatusBadRequest)
		if got := http.Header(resp.MultiValueHeaders).Get("Access-Control-Allow-Origin"); got != tt.want {
			t.Errorf("%v: allowed origin = %q, want %q", tt.origins, got, tt.want)
		}
	}
}

// FuzzAnswer_BasePath finds the path after any base path.
func FuzzAnswer_BasePath(f *testing.F) {
	f.Add("/v1", "x")
	f.Add("/a/b", "a")
	f.Add("//", "b/")
	f.Fuzz(func(t *testing.T, base, name string) {
		if base != "" && base[0] != '/' || strings.ContainsAny(base+name, "%?#") || strings.Contains(name, "/") || name == "" {
			return
		}
		e := events.APIGatewayProxyRequest{HTTPMethod: "GET", Path: base + "/things/" + name, Resource: "/things/{name}"}
		resp := answer(t.Context(), t, func(_ http.ResponseWriter, r *http.Request) {
			if got := r.URL.Path; got != "/things/"+name {
				t.Errorf("%q + /things/%q reached the handler as %q, want %q", base, name, got, "/things/"+name)
			}
		}, e)
		if resp.StatusCode != 200 && resp.StatusCode != 400 {
			t.Errorf("status = %d, want 200 or 400", resp.StatusCode)
		}
	})
}
