package web_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/testkit/errtest"
	"orgops/shared/web"
)

// TestServer_OpenBytes bounds what callers without a token have in flight. Beyond, a caller gets 503, and a caller with a
// token is served.
func TestServer_OpenBytes(t *testing.T) {
	t.Parallel()
	h := newHarnessWith(t, web.Options{OpenBytes: 1000})
	type raw struct {
		RawBody []byte `contentType:"application/json"`
	}
	read := func(context.Context, *raw) (*struct{}, error) { return nil, nil }
	web.Register(h.API(), web.Public(huma.Operation{OperationID: "open", Method: http.MethodPost, Path: "/open", SkipValidateBody: true}), read)
	web.Register(h.API(), huma.Operation{
		OperationID: "guarded", Method: http.MethodPost, Path: "/companies/{companyId}/guarded", Security: web.Needs("things:read"),
		SkipValidateBody: true,
	}, read)
	post := func(path string, body io.Reader) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, path, body)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+h.token(t, "a", "things:read"))
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	half := strings.Repeat(" ", 600) + "{}"

	arriving, sending := io.Pipe()
	first := make(chan int)
	go func() { first <- post("/open", arriving).Code }()
	_, err := io.WriteString(sending, half[:600])
	errtest.Must(t, err)
	_, err = io.WriteString(sending, "{}") // a write returns when the server has read it, so it has counted the bytes before
	errtest.Must(t, err)
	refused := post("/open", strings.NewReader(half))
	if refused.Code != http.StatusServiceUnavailable {
		t.Errorf("beyond the limit: status = %d, want 503: %s", refused.Code, refused.Body)
	}
	if got := refused.Header().Get("Retry-After"); got != "2" {
		t.Errorf("beyond the limit: Retry-After = %q, want 2", got)
	}
	if got := refused.Header().Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("beyond the limit: Content-Type = %q, want application/problem+json", got)
	}
	if w := post("/companies/a/guarded", strings.NewReader(half)); w.Code != http.StatusNoContent {
		t.Errorf("with a token: status = %d, want 204: %s", w.Code, w.Body)
	}
	sending.Close()
	if got := <-first; got != http.StatusNoContent {
		t.Errorf("the first: status = %d, want 204", got)
	}
	if w := post("/open", strings.NewReader(half)); w.Code != http.StatusNoContent {
		t.Errorf("after the first has been answered: status = %d, want 204: %s", w.Code, w.Body)
	}
}
