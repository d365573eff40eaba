package syncer_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"orgops/shared/domain/syncrun"
	"orgops/shared/provider/httplist"
	"orgops/shared/provider/webfeed"
	"orgops/shared/testkit/errtest"
)

// jargon finds what a person who connects a source cannot read: the errors of Go's packages.
var jargon = regexp.MustCompile(`net/http|http2:|x509|tls: |json: |xml: |XML syntax|EOF|gzip: |flate: |chunked encoding|malformed|invalid character|dial tcp|unmarshal|net: |parse "`)

// TestSyncer_Words tells in a run why it failed, in words.
func TestSyncer_Words(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{
		"no answer":      "",
		"no HTTP":        "SSH-2.0-OpenSSH_9.6\r\n",
		"a cut body":     "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n[{",
		"a cut chunk":    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n40\r\n[{",
		"a broken chunk": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
		"two lengths":    "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n[]",
		"a large header": "HTTP/1.1 200 OK\r\nBig: " + strings.Repeat("x", 64<<10) + "\r\n\r\n",
		"no gzip":        "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n[]",
		"a cut gzip":     "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x8b\x08\x00",
		"broken XML":     "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n<<<",
		"broken JSON":    "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n{]}",
		"no location":    "HTTP/1.1 302 Found\r\nLocation: http://%zz/\r\nContent-Length: 0\r\n\r\n",
	} {
		for _, kind := range []string{"http", "feed"} {
			t.Run(name+" of "+kind, func(t *testing.T) {
				t.Parallel()
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					conn, _, err := http.NewResponseController(w).Hijack()
					errtest.Must(t, err)
					_, _ = conn.Write([]byte(answer))
					_ = conn.Close()
				}))
				t.Cleanup(server.Close)
				r := setup(t)
				if kind == "feed" {
					r.connect(webfeed.New(r.Client, r.Clock.Now), fmt.Sprintf(`{"url":%q}`, server.URL), nil)
				} else {
					r.connect(httplist.New(r.Client, r.Clock.Now), fmt.Sprintf(`{"url":%q,"itemsPath":"","idPath":"/id","titlePath":"/title","target":"memory"}`, server.URL), nil)
				}
				rec := r.finishLate(r.request(syncrun.Live), syncrun.Failed)
				if rec.Error == "" {
					t.Error("the run tells no error, want one")
				}
				if found := jargon.FindString(rec.Error); found != "" {
					t.Errorf("the run's error %q has %q, want words", rec.Error, found)
				}
			})
		}
	}
}
