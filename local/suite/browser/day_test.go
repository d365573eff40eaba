package browser_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"orgops/shared/testkit/githubtest"
)

// internet leads the service from the hosts of providers to servers of the test. No other host can be reached.
type internet map[string]func(path string) (server, asked string)

// RoundTrip implements http.RoundTripper.
func (i internet) RoundTrip(r *http.Request) (*http.Response, error) {
	lead, ok := i[r.URL.Host]
	if !ok {
		return nil, fmt.Errorf("there is no host %s", r.URL.Host)
	}
	server, path := lead(r.URL.EscapedPath())
	to, err := url.Parse(server + path)
	if err != nil {
		return nil, err
	}
	to.RawQuery = r.URL.RawQuery
	other := r.Clone(r.Context())
	other.URL, other.Host = to, to.Host
	return http.DefaultTransport.RoundTrip(other)
}

// whole leads a host to a server that has all of its paths.
func whole(t *testing.T, answer http.HandlerFunc) func(path string) (server, asked string) {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	return func(path string) (string, string) { return server.URL, path }
}

// repositories leads api.github.com to a server for each of octo's repositories.
func repositories(t *testing.T, names ...string) func(path string) (server, asked string) {
	t.Helper()
	servers := map[string]string{}
	for _, name := range names {
		s := githubtest.New(t, time.Now)
		s.Put("issues", githubtest.Issue(1, "First of "+name, time.Now()))
		servers["octo/"+name] = s.URL
	}
	return func(path string) (string, string) {
		for name, server := range servers {
			if rest, ok := strings.CutPrefix(path, "/repos/"+name); ok {
				return server, "/repos/" + githubtest.Repository + rest
			}
		}
		return servers["octo/"+names[0]], path
	}
}

// news serves a feed with one entry.
func news(title string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/rss+xml; charset=utf-8")
		fmt.Fprintf(w, `<?xml version="1.0"?><rss version="2.0"><channel><title>Feed</title><item><guid>1</guid><title>%s</title></item></channel></rss>`, title)
	}
}

// TestConsole_Day connects three repositories, two feeds, a Stripe account and a sheet by what the page says alone, and sees money move a
// goal.
func TestConsole_Day(t *testing.T) {
	t.Parallel()
	env, s, _ := begin(t)
	var cents atomic.Int64
	cents.Store(3_000_000)
	s.Lead(internet{
		"api.github.com":     repositories(t, "app", "site", "docs"),
		"blog.example.com":   whole(t, news("We have launched")),
		"status.example.com": whole(t, news("All systems work")),
		"api.stripe.com": whole(t, func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.Header.Get("Authorization") != "Bearer rk_test_right":
				w.WriteHeader(http.StatusUnauthorized)
			case r.URL.Path == "/v1/invoices":
				fmt.Fprintf(w, `{"object":"list","data":[{"id":"in_2","object":"invoice","number":"A-2","status":"paid","amount_paid":%d,"currency":"eur"},`+
					`{"id":"in_1","object":"invoice","number":"A-1","status":"paid","amount_paid":1000000,"currency":"eur"}],"has_more":false}`, cents.Load())
			default:
				fmt.Fprint(w, `{"object":"list","data":[],"has_more":false}`)
			}
		}),
		"sheets.googleapis.com": whole(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("key") != "AIza-right" {
				w.WriteHeader(http.StatusForbidden)
				return
			}
			fmt.Fprint(w, `{"range":"Goals!A2:F50","majorDimension":"ROWS","values":[["Sign-ups",420,1000,"people","","2096-12-31"]]}`)
		}),
	})
	paid := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		cents.Add(120_000)
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(paid.Close)
	if *pictures != "" {
		env = append(env, "PICTURES="+*pictures)
	}
	run(t, "day.mjs", append(env, "PAID="+paid.URL)...)
}
