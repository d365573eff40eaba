package integrations_test

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"orgops/shared/provider/connector"
	"orgops/shared/testkit/errtest"
)

// jargon finds what a person who configures a provider cannot read: regular expressions, and the errors of Go's packages.
var jargon = regexp.MustCompile(`\^\S*[$+*]|\[A-Z|pattern|net/http|http2:|x509|tls: |json: |json\.|EOF|gzip: |flate: |chunked encoding|malformed [A-Z]|readLoop|net: |parse \\"|illegal base64|parsing time|strconv|invalid character|dial tcp|unmarshal`)

// TestWords_Schemas refuses values in words.
func TestWords_Schemas(t *testing.T) {
	t.Parallel()
	s := setup(t)
	list, _ := sourceOf("http", "https://example.com/items")
	endpoint := map[string]any{"url": "https://example.com/hook", "events": []string{"memory.*"}}
	long := strings.Repeat("A", 32)
	for name, body := range map[string]struct {
		provider string
		config   any
	}{
		"an unpadded secret":   {"webhook", with(endpoint, "signingSecret", "whsec_"+long+"AA")},
		"a wrong prefix":       {"webhook", with(endpoint, "signingSecret", "whsek_"+long)},
		"a short secret":       {"webhook", with(endpoint, "signingSecret", "whsec_AAAA")},
		"a secret of text":     {"webhook", with(endpoint, "signingSecret", "whsec_ not base64 at all, but long enough for it")},
		"a header's name":      {"webhook", with(endpoint, "headers", map[string]string{"X Team": "a"})},
		"a header's value":     {"webhook", with(endpoint, "headers", map[string]string{"X-Team": "ü"})},
		"an event":             {"webhook", with(endpoint, "events", []string{"nothing.*"})},
		"a number as text":     {"webhook", with(endpoint, "rateLimit", "5")},
		"a repository":         {"github", map[string]any{"repository": "octo"}},
		"a schedule":           {"feed", map[string]any{"url": "https://example.com/feed", "schedule": "1s"}},
		"a team":               {"linear", map[string]any{"team": "eng"}},
		"a pointer":            {"http", with(list, "idPath", "id")},
		"a header of a source": {"http", with(list, "header", "X Key")},
		"a parameter":          {"http", with(list, "parameter", "a b")},
	} {
		answer := s.do("POST", "/"+body.provider, body.config)
		p := answer.WantProblem(422, "invalid")
		for _, problem := range p.Errors {
			if found := jargon.FindString(problem.Detail); found != "" {
				t.Errorf("%s: the detail %q has %q, want words", name, problem.Detail, found)
			}
		}
	}
	s.configured("http", list, 201)
	for _, body := range []string{
		`{"credentials":{"token":"\n"}}`, `{"credentials":{"username":"a:b"}}`, `{"credentials":{"token":5}}`, `{"credentials":{"token":"t"},"expiresAt":"tomorrow"}`,
		`{"credentials":`, `{"credentials":{"token":"t"}} x`,
	} {
		answer := s.do("PUT", "/http/credentials", body)
		if answer.Status < 400 {
			t.Errorf("%s: status %d, want a refusal", body, answer.Status)
		}
		if found := jargon.Find(answer.Body); found != nil {
			t.Errorf("%s: the answer %s has %q, want words", body, answer.Body, found)
		}
	}
}

// TestWords_Patterns says of every pattern of a connector in words what it allows.
func TestWords_Patterns(t *testing.T) {
	t.Parallel()
	for _, kind := range registry().Kinds() {
		c, _ := registry().Lookup(kind)
		schemas := []json.RawMessage{c.Schema()}
		if a, ok := c.(connector.Authenticated); ok {
			schemas = append(schemas, a.CredentialSchema())
		}
		for _, schema := range schemas {
			var v any
			errtest.Must(t, json.Unmarshal(schema, &v))
			undescribed(t, kind, v)
		}
	}
}

// undescribed reports every pattern in a schema without a description.
func undescribed(t *testing.T, at string, v any) {
	t.Helper()
	switch v := v.(type) {
	case map[string]any:
		if pattern, is := v["pattern"].(string); is && v["x-pattern-description"] == nil {
			t.Errorf("%s: the pattern %s has no x-pattern-description", at, pattern)
		}
		for name, below := range v {
			undescribed(t, at+"/"+name, below)
		}
	case []any:
		for _, below := range v {
			undescribed(t, at, below)
		}
	}
}

// TestWords_Test explains why a test reached no endpoint.
func TestWords_Test(t *testing.T) {
	t.Parallel()
	s := setup(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	errtest.Must(t, err)
	address := "127.0.0.1:" + strings.Split(silent.Addr().String(), ":")[1]
	errtest.Must(t, silent.Close())
	large := receiveAny(t, func(w http.ResponseWriter) { w.Header().Set("Big", strings.Repeat("x", 64<<10)) })
	unmodified := receiveAny(t, func(w http.ResponseWriter) { w.WriteHeader(http.StatusNotModified) })
	for url, want := range map[string]string{
		"http://" + address: "connection refused",
		"https" + strings.TrimPrefix(unmodified, "http"): "the server answers without TLS; check the scheme and the port of the url",
		large:                          "the answer's header is larger than 32 KiB",
		unmodified:                     "answered 304 Not Modified",
		"https://orgops-none.invalid/": "orgops-none.invalid does not resolve",
	} {
		s.configured("webhook", map[string]any{"url": url, "events": []string{"memory.*"}}, status(s, "webhook"))
		var got attempt
		s.do("POST", "/webhook/test", nil).Want(200).JSON(&got)
		if !strings.HasPrefix(got.Error, want) {
			t.Errorf("%s: error %q, want it to begin with %q", url, got.Error, want)
		}
		if found := jargon.FindString(got.Error); found != "" {
			t.Errorf("%s: error %q has %q, want words", url, got.Error, found)
		}
	}
}

// TestWords_Certification explains in the report of a source what its server did wrong.
func TestWords_Certification(t *testing.T) {
	t.Parallel()
	s := setup(t)
	raw := func(answer string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			conn, _, err := http.NewResponseController(w).Hijack()
			errtest.Must(t, err)
			_, _ = conn.Write([]byte(answer))
			_ = conn.Close()
		}
	}
	body := func(header, value, text string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.Header().Set(header, value)
			_, _ = w.Write([]byte(text))
		}
	}
	for name, answer := range map[string]func(http.ResponseWriter){
		"no answer":             raw(""),
		"no HTTP":               raw("SSH-2.0-OpenSSH_9.6\r\n"),
		"a cut body":            raw("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n[{"),
		"a cut chunk":           raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n40\r\n[{"),
		"a chunk of no size":    raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n"),
		"two lengths":           raw("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n[]"),
		"a status of no number": raw("HTTP/1.1 OK\r\n\r\n"),
		"a large header":        body("Big", strings.Repeat("x", 64<<10), "[]"),
		"no gzip":               body("Content-Encoding", "gzip", "[]"),
		"a cut gzip":            body("Content-Encoding", "gzip", "\x1f\x8b\x08\x00"),
		"brotli":                body("Content-Encoding", "br", "[]"),
		"a web page":            body("Content-Type", "text/html", "<!doctype html><html><body>Hello</body></html>"),
		"a cut list":            body("Content-Type", "application/json", `[{"id":1,"title":"a"},`),
		"another type":          body("Content-Type", "application/json", `"a"`),
		"no type":               body("Content-Type", "application/json", `{]`),
		"nothing":               body("Content-Type", "application/json", ""),
		"a redirect": func(w http.ResponseWriter) {
			w.Header().Set("Location", "http://%zz/")
			w.WriteHeader(http.StatusFound)
		},
		"an error": func(w http.ResponseWriter) { w.WriteHeader(http.StatusBadGateway) },
	} {
		url := receiveAny(t, answer)
		for _, provider := range []string{"http", "github", "feed"} {
			config, credentials := sourceOf(provider, url)
			if provider == "feed" {
				config = map[string]any{"url": url}
			}
			s.configured(provider, config, status(s, provider))
			if provider != "feed" {
				s.do("PUT", "/"+provider+"/credentials", map[string]any{"credentials": credentials}).Want(204)
			}
			got := s.do("POST", "/"+provider+"/certification", nil).Want(200)
			if found := jargon.Find(got.Body); found != nil {
				t.Errorf("%s of %s: the report %s has %q, want words", name, provider, got.Body, found)
			}
			if !strings.Contains(string(got.Body), `"fail"`) {
				t.Errorf("%s of %s: the report %s has no failure, want one", name, provider, got.Body)
			}
		}
	}
}

// status returns the status of a configuration: 201 for the first, 200 for a later one.
func status(s *service, provider string) int {
	if s.do("GET", "/"+provider, nil).Status == http.StatusNotFound {
		return http.StatusCreated
	}
	return http.StatusOK
}

// receiveAny starts an endpoint with an answer.
func receiveAny(t *testing.T, answer func(http.ResponseWriter)) (url string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { answer(w) }))
	t.Cleanup(server.Close)
	return server.URL
}
