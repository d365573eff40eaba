package web_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/testkit/growthtest"
	"orgops/shared/web"
)

// TestServer_Linear reads a request that is four times as long with about four times the work: its body, cursor, query, conditions and path.
func TestServer_Linear(t *testing.T) { //nolint:paralleltest // it measures the allocations of the process
	h := newHarness(t)
	type in struct {
		web.PageQuery
		web.IfMatch
		Body struct {
			Names []string          `json:"names,omitempty"`
			More  map[string]string `json:"more,omitempty"`
		}
	}
	web.Register(h.API(), huma.Operation{
		OperationID: "linear", Method: http.MethodPost, Path: "/companies/{companyId}/linear", Security: web.Needs("things:read"),
	}, func(ctx context.Context, in *in) (*struct{}, error) {
		_, err := in.After(ctx)
		return nil, err
	})
	token := "Bearer " + h.token(t, "a", "things:read")
	ask := func(query, match, body string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/companies/a/linear"+query, strings.NewReader(body))
		r.Header.Set("Authorization", token)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("If-Match", match)
		h.ServeHTTP(httptest.NewRecorder(), r)
	}
	for name, body := range map[string]func(n int) string{
		"names":     func(n int) string { return `{"names":[` + strings.Repeat(`"a",`, n) + `"b"]}` },
		"wrong":     func(n int) string { return `{"names":[` + strings.Repeat(`1,`, n) + `1]}` },
		"unknown":   func(n int) string { return `{` + strings.Repeat(`"x":1,`, n) + `"y":1}` },
		"levels":    func(n int) string { return strings.Repeat("[", n) },
		"one text":  func(n int) string { return `{"names":["` + strings.Repeat(`\u0041`, n) + `"]}` },
		"surrogate": func(n int) string { return `{"names":[` + strings.Repeat(`"\ud800",`, n) + `"b"]}` },
	} {
		growthtest.Linear(t, name, 2000, func(n int) { ask("", `"1"`, body(n)) })
	}
	growthtest.Linear(t, "a cursor", 500, func(n int) { ask("?cursor="+strings.Repeat("A", n), `"1"`, "{}") })
	growthtest.Linear(t, "a long cursor", 4000, func(n int) { ask("?cursor="+strings.Repeat("A", n), `"1"`, "{}") })
	growthtest.Linear(t, "parameters", 1000, func(n int) { ask("?"+strings.Repeat("limit=1&", n), `"1"`, "{}") })
	growthtest.Linear(t, "escapes", 1000, func(n int) { ask("?cursor="+strings.Repeat(url.QueryEscape("ü"), n), `"1"`, "{}") })
	growthtest.Linear(t, "tags", 1000, func(n int) { ask("", strings.Repeat(`"2", `, n)+`"1"`, "{}") })
	growthtest.Linear(t, "an open tag", 4000, func(n int) { ask("", `"`+strings.Repeat("x", n), "{}") })
}
