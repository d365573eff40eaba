package web_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"orgops/shared/testkit/errtest"
	"orgops/shared/web"
)

func TestPage(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	a, b := h.token(t, "a", "things:read"), h.token(t, "b", "things:read")
	var page web.Page[thing]
	read := func(path, bearer string, status int) *httptest.ResponseRecorder {
		t.Helper()
		w := h.do("GET", path, bearer, "")
		if w.Code != status {
			t.Fatalf("%s: status = %d, want %d: %s", path, w.Code, status, w.Body)
		}
		page = web.Page[thing]{}
		errtest.Must(t, json.Unmarshal(w.Body.Bytes(), &page))
		return w
	}
	first := read("/companies/a/things?kind=x&limit=500", a, 200)
	if got := len(page.Items); got != 100 {
		t.Errorf("first page has %d items, want 100", got)
	}
	cursor := page.NextCursor
	if cursor == "" {
		t.Error("first page has no cursor")
	}
	link := regexp.MustCompile(`^<([^>]*limit=500[^>]*)>; rel="next"$`).FindStringSubmatch(first.Header().Get("Link"))
	if link == nil {
		t.Fatalf("Link = %q, want one to the next page with limit=500", first.Header().Get("Link"))
	}
	last := read(link[1], a, 200)
	if page.NextCursor != "" {
		t.Errorf("cursor of the last page = %q, want none", page.NextCursor)
	}
	if got := last.Header().Get("Link"); got != "" {
		t.Errorf("Link of the last page = %q, want none", got)
	}
	if got, want := last.Body.String(), `"items":[]`; !strings.Contains(got, want) {
		t.Errorf("last page = %s, want one with %s", got, want)
	}
	flipped := "A" + cursor[1:]
	if flipped == cursor {
		flipped = "B" + cursor[1:]
	}
	for name, tt := range map[string]struct{ path, bearer string }{
		"another filter":  {"/companies/a/things?kind=y&cursor=" + cursor, a},
		"another company": {"/companies/b/things?kind=x&cursor=" + cursor, b},
		"changed":         {"/companies/a/things?kind=x&cursor=" + flipped, a},
		"made up":         {"/companies/a/things?kind=x&cursor=KEY", a},
	} {
		t.Run(name, func(t *testing.T) {
			w := h.do("GET", tt.path, tt.bearer, "")
			if w.Code != 422 {
				t.Errorf("status = %d, want 422", w.Code)
			}
			if got, want := w.Body.String(), `"#/query/cursor"`; !strings.Contains(got, want) {
				t.Errorf("body = %s, want one with %s", got, want)
			}
		})
	}
	read("/companies/a/things", a, 200)
	if got := len(page.Items); got != 50 {
		t.Errorf("page without a limit has %d items, want 50", got)
	}
}

func TestETag(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	own := h.token(t, "a", "things:read")
	tests := []struct {
		name, header string
		status       int
	}{
		{"none", "", 200},
		{"current", `"7"`, 304},
		{"weak", `W/"7"`, 304},
		{"among others", `"5" , W/"6","7"`, 304},
		{"any", "*", 304},
		{"other", `"6"`, 200},
		{"unquoted", "7", 200},
		{"unterminated", `"7`, 200},
		{"only a prefix matches", `"77"`, 200},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := h.do("GET", "/companies/a/thing/1", own, "", "If-None-Match", tt.header)
			got := [...]any{w.Code, w.Header().Get("ETag"), w.Header().Get("Cache-Control")}
			if want := [...]any{tt.status, `"7"`, "private, no-cache"}; got != want {
				t.Errorf("status, ETag and Cache-Control = %v, want %v", got, want)
			}
			if tt.status == http.StatusNotModified && w.Body.Len() > 0 {
				t.Errorf("body of a 304 = %s, want none", w.Body)
			}
		})
	}
}

func TestServer_Headers(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	own := h.token(t, "a", "things:read")
	w := h.do("GET", "/companies/a/things", own, "", "X-Request-Id", "from-outside")
	for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Content-Type": "application/json"} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
	if got := w.Header().Get("X-Request-Id"); len(got) != 36 {
		t.Errorf("X-Request-Id = %q, want a UUID", got)
	}
	w = h.do("DELETE", "/companies/a/things", own, "")
	if got, want := w.Header().Get("Allow"), "GET, HEAD, POST, PUT, OPTIONS"; got != want {
		t.Errorf("Allow = %q, want %q", got, want)
	}
	if got := h.do("GET", "/fail/unavailable", "", "").Header().Get("Retry-After"); got != "2" {
		t.Errorf("Retry-After = %q, want 2", got)
	}
	w = h.do("HEAD", "/companies/a/things", own, "")
	if w.Code != 200 {
		t.Errorf("status of HEAD = %d, want 200", w.Code)
	}
	if w.Body.Len() > 0 {
		t.Errorf("body of HEAD = %s, want none", w.Body)
	}
	r := httptest.NewRequest("GET", "/x", nil)
	r.URL.Path, r.URL.RawPath = "/companies/%zz/things", "/companies/%zz/things"
	bad := httptest.NewRecorder()
	h.ServeHTTP(bad, r)
	if bad.Code != 400 {
		t.Errorf("status for a broken escape = %d, want 400", bad.Code)
	}
}

// checkLog checks that the harness's log has each of the texts.
func (h *harness) checkLog(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(h.log.String(), text) {
			t.Errorf("the log lacks %s:\n%s", text, h.log)
		}
	}
}

func TestServer_Log(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	own := h.token(t, "a", "things:read")
	h.do("POST", "/companies/a/things?", own, `{"name":"body-secret"}`, "X-Api-Key", "header-secret")
	h.do("GET", "/companies/a/things?kind=query-secret", own, "")
	h.do("GET", "/companies/a/thing/path-secret", own, "")
	h.do("GET", "/path-secret", own, "")
	if lines := strings.Count(h.log.String(), "\n"); lines != 4 {
		t.Errorf("%d lines, want 4:\n%s", lines, h.log)
	}
	for _, secret := range []string{"secret", own} {
		if strings.Contains(h.log.String(), secret) {
			t.Errorf("the log contains %s:\n%s", secret, h.log)
		}
	}
	h.checkLog(t, "level=DEBUG", "route=/companies/{companyId}/thing/{tid} status=200", "company=a")
	h.log.Reset()
	h.do("GET", "/fail/plain", "", "")
	h.checkLog(t, "level=ERROR", "secret connection string")
	h.log.Reset()
	w := h.do("GET", "/fail/panic", "", "")
	h.checkLog(t, "secret in a panic", w.Header().Get("X-Request-Id"), "web_test.go")
}

// A real connection stays usable after a panic, an error, and an unread body.
func TestServer_Connection(t *testing.T) {
	t.Parallel()
	h := newHarness(t)
	server := httptest.NewServer(h)
	defer server.Close()
	own := h.token(t, "a", "things:read")
	for _, path := range []string{"/fail/panic", "/fail/plain", "/companies/b/things", "/companies/a/things"} {
		r, err := http.NewRequest("POST", server.URL+path, strings.NewReader(`{"name":"x"}`))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(path, "/fail") {
			r.Method = "GET"
		}
		r.Header.Set("Authorization", "Bearer "+own)
		r.Header.Set("Content-Type", "application/json")
		resp, err := server.Client().Do(r)
		if err != nil {
			t.Fatal(path, err)
		}
		resp.Body.Close()
	}
}

func TestServer_Document(t *testing.T) {
	t.Parallel()
	doc, err := newHarness(t).Document().MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	type securityScheme struct{ Type, Scheme, BearerFormat string }
	type response struct {
		Ref     string `json:"$ref"`
		Content map[string]struct{ Example map[string]any }
		Headers map[string]any
	}
	var got struct {
		OpenAPI    string
		Components struct {
			SecuritySchemes map[string]securityScheme
			Schemas         map[string]struct {
				Properties           map[string]map[string]any
				AdditionalProperties any
			}
			Responses map[string]response
		}
		Paths map[string]map[string]struct {
			Open      bool `json:"x-open-detail"`
			Security  []map[string][]string
			Responses map[string]response
		}
	}
	if err := json.Unmarshal(doc, &got); err != nil {
		t.Fatal(err)
	}
	if got.OpenAPI != "3.1.0" {
		t.Errorf("version of OpenAPI = %s, want 3.1.0", got.OpenAPI)
	}
	if scheme, want := got.Components.SecuritySchemes["bearer"], (securityScheme{"http", "bearer", "JWT"}); scheme != want {
		t.Errorf("security scheme = %+v, want %+v", scheme, want)
	}
	for path, item := range got.Paths {
		for method, op := range item {
			if !op.Open {
				t.Errorf("%s %s is not marked", method, path)
			}
			for _, status := range []string{"400", "429", "500", "503", "default"} {
				if _, documented := op.Responses[status]; !documented {
					t.Errorf("%s %s: %s is not documented", method, path, status)
				}
			}
			for status, response := range op.Responses {
				if response.Ref != "" {
					response = got.Components.Responses[strings.TrimPrefix(response.Ref, "#/components/responses/")]
				}
				if response.Headers["X-Request-Id"] == nil {
					t.Errorf("%s %s: %s has no request id", method, path, status)
				}
				if status < "400" {
					continue
				}
				problem, is := response.Content["application/problem+json"]
				if !is {
					t.Errorf("%s %s: %s is no problem", method, path, status)
				}
				if code, _ := problem.Example["status"].(float64); problem.Example != nil && status != "default" && strconv.Itoa(int(code)) != status {
					t.Errorf("%s %s: the example of %s has the status %v", method, path, status, code)
				}
			}
		}
	}
	write := got.Paths["/companies/{companyId}/things"]["post"]
	if got := write.Security[0]["bearer"][0]; got != "things:read" {
		t.Errorf("scope = %s, want things:read", got)
	}
	for _, status := range []string{"200", "400", "401", "403", "413", "415", "422", "429", "500", "503"} {
		if _, documented := write.Responses[status]; !documented {
			t.Errorf("%s is not documented", status)
		}
	}
	if more := got.Components.Schemas["Problem"].AdditionalProperties; more != true {
		t.Errorf("an answer's object takes more members: %v, want true", more)
	}
	for name, schema := range got.Components.Schemas {
		for field, property := range schema.Properties {
			if property["x-open-detail"] != true {
				t.Errorf("%s.%s is not marked", name, field)
			}
		}
	}
}

func BenchmarkServer_Get(b *testing.B) {
	h := newHarness(b)
	own := h.token(b, "a", "things:read")
	r := httptest.NewRequest("GET", "/companies/a/thing/1", nil)
	r.Header.Set("Authorization", "Bearer "+own)
	b.ReportAllocs()
	for b.Loop() {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != 200 {
			b.Fatal(w.Code)
		}
	}
}
