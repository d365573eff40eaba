package web_test

import (
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/google/go-cmp/cmp"

	"orgops/shared/testkit/errtest"
	"orgops/shared/web"
)

// bodies gives each holder so many bytes: the company of a token, or the source of a request without one.
type bodies struct {
	most int
	mu   sync.Mutex
	held map[string]int
}

type share struct {
	*bodies
	holder string
	taken  int
}

func (b *bodies) Open(company, source string) web.Share { return &share{b, company + "/" + source, 0} }

func (s *share) Grow(n int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[s.holder]+n > s.most { // what is refused is not held
		return false
	}
	s.taken += n
	s.held[s.holder] += n
	return true
}

func (s *share) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held[s.holder] -= s.taken
}

// TestServer_Bodies counts a body for the company of its token, or else for its source, until the request is answered. Beyond a
// share, a caller gets 503, and a caller with another share is served.
func TestServer_Bodies(t *testing.T) {
	t.Parallel()
	counted := &bodies{most: 1000, held: map[string]int{}}
	h := newHarnessWith(t, web.Options{Bodies: counted})
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
	for holder, n := range counted.held {
		if n != 0 {
			t.Errorf("%s holds %d bytes in the end, want none", holder, n)
		}
	}
	if diff := cmp.Diff([]string{"/192.0.2.1", "a/192.0.2.1"}, slices.Sorted(maps.Keys(counted.held))); diff != "" {
		t.Errorf("holders (-want +got):\n%s", diff)
	}
}

// TestReserve counts a large answer until it has been sent, and refuses another one beyond the share of the caller's company.
func TestReserve(t *testing.T) {
	t.Parallel()
	counted := &bodies{most: 1000, held: map[string]int{}}
	h := newHarnessWith(t, web.Options{Bodies: counted})
	reserved, read := make(chan struct{}), make(chan struct{})
	web.Register(h.API(), huma.Operation{
		OperationID: "large", Method: http.MethodGet, Path: "/companies/{companyId}/large", Security: web.Needs("things:read"),
	}, func(ctx context.Context, _ *struct{}) (*struct{}, error) {
		if err := web.Reserve(ctx, 700); err != nil {
			return nil, err
		}
		reserved <- struct{}{}
		<-read
		return nil, nil
	})
	get := func(company string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, "/companies/"+company+"/large", nil)
		r.Header.Set("Authorization", "Bearer "+h.token(t, company, "things:read"))
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	codes := make(chan int)
	for _, company := range []string{"a", "b"} {
		go func() { codes <- get(company).Code }()
		<-reserved
	}
	refused := get("a")
	if refused.Code != http.StatusServiceUnavailable {
		t.Errorf("a second answer of a company: status = %d, want 503: %s", refused.Code, refused.Body)
	}
	if got := refused.Header().Get("Retry-After"); got != "2" {
		t.Errorf("Retry-After = %q, want 2", got)
	}
	close(read)
	for range 2 {
		if got := <-codes; got != http.StatusNoContent {
			t.Errorf("status = %d, want 204", got)
		}
	}
	for holder, n := range counted.held {
		if n != 0 {
			t.Errorf("%s holds %d bytes in the end, want none", holder, n)
		}
	}
}

// TestServer_LargeAnswers counts the answer of any GET beyond 64 KiB while a slow client reads it. A company has its share; beyond it
// its next large answer is refused as a whole, while small ones and other companies are served.
func TestServer_LargeAnswers(t *testing.T) {
	t.Parallel()
	counted := &bodies{most: 150 << 10, held: map[string]int{}}
	h := newHarnessWith(t, web.Options{Bodies: counted})
	type text struct {
		Text string `json:"text"`
	}
	type tagged struct {
		ETag string `header:"ETag"`
		Body text
	}
	for name, size := range map[string]int{"large": 100 << 10, "small": 1 << 10} {
		web.Register(h.API(), huma.Operation{
			OperationID: name, Method: http.MethodGet, Path: "/companies/{companyId}/" + name, Security: web.Needs("things:read"),
		}, func(context.Context, *struct{}) (*tagged, error) {
			return &tagged{`"1"`, text{Text: strings.Repeat("x", size)}}, nil
		})
	}
	get := func(w http.ResponseWriter, company, name string) {
		r := httptest.NewRequest(http.MethodGet, "/companies/"+company+"/"+name, nil)
		r.Header.Set("Authorization", "Bearer "+h.token(t, company, "things:read"))
		h.ServeHTTP(w, r)
	}
	slow := &slowReader{httptest.NewRecorder(), make(chan struct{}), make(chan struct{})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		get(slow, "a", "large")
	}()
	<-slow.begun
	for _, tt := range []struct {
		company, name string
		want          int
	}{{"a", "large", 503}, {"a", "small", 200}, {"b", "large", 200}} {
		w := httptest.NewRecorder()
		get(w, tt.company, tt.name)
		if w.Code != tt.want {
			t.Errorf("%s of %s: status = %d, want %d", tt.name, tt.company, w.Code, tt.want)
		}
		if w.Code != 503 {
			continue
		}
		got := [3]string{w.Header().Get("Content-Type"), w.Header().Get("Retry-After"), w.Header().Get("ETag")}
		if want := [3]string{"application/problem+json", "2", ""}; got != want {
			t.Errorf("header = %q, want %q", got, want)
		}
		if strings.Contains(w.Body.String(), "xxxx") {
			t.Error("the refusal has a part of the answer")
		}
	}
	close(slow.read)
	<-done
	if got := slow.Body.Len(); got < 100<<10 {
		t.Errorf("the slow client got %d bytes, want the whole answer", got)
	}
	for holder, n := range counted.held {
		if n != 0 {
			t.Errorf("%s holds %d bytes in the end, want none", holder, n)
		}
	}
}

// slowReader is a client that reads its answer only when the test lets it.
type slowReader struct {
	*httptest.ResponseRecorder
	begun, read chan struct{}
}

func (w *slowReader) Write(b []byte) (int, error) {
	close(w.begun)
	<-w.read
	w.begun = make(chan struct{})
	return w.ResponseRecorder.Write(b)
}
