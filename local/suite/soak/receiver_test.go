package soak_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"orgops/shared/webhook/standardwebhooks"
)

// receivers serves the endpoints of all companies, each at its own path, and verifies their deliveries.
type receivers struct {
	url string

	mu    sync.Mutex
	paths map[string]*receiver
}

// receiver is one endpoint.
type receiver struct {
	secret string
	picky  bool // refuses the first delivery of every third event with 503: fewer in a row than would open the breaker

	mu       sync.Mutex
	events   int
	refused  map[string]bool
	accepted map[string]int // deliveries answered 2xx, by the memory that the event is about
}

func newReceivers(t *testing.T) *receivers {
	r := &receivers{paths: map[string]*receiver{}}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	r.url = server.URL
	return r
}

// add opens a path.
func (r *receivers) add(path, secret string, picky bool) *receiver {
	one := &receiver{secret: secret, picky: picky, refused: map[string]bool{}, accepted: map[string]int{}}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.paths[path] = one
	return one
}

func (r *receivers) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	one := r.paths[req.URL.Path]
	r.mu.Unlock()
	body, err := io.ReadAll(req.Body)
	if err != nil || one == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	if _, err := standardwebhooks.Verify([]string{one.secret}, req.Header, body, time.Now()); err != nil {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	w.WriteHeader(one.answer(req.Header.Get(standardwebhooks.HeaderID), body))
}

func (r *receiver) answer(id string, body []byte) int {
	var event struct {
		Type string
		Data struct{ ID string }
	}
	if err := json.Unmarshal(body, &event); err != nil {
		return http.StatusBadRequest
	}
	if event.Type != "memory.created" {
		return http.StatusNoContent // a sample
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.refused[id]; !known {
		r.events++
		if r.refused[id] = r.picky && r.events%3 == 0; r.refused[id] {
			return http.StatusServiceUnavailable
		}
	}
	r.accepted[event.Data.ID]++
	return http.StatusNoContent
}

// missed returns how many of the memories the receiver has no event of, and how many deliveries came more than once.
func (r *receiver) missed(memories map[string][]string) (lost, doubled int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, ids := range memories {
		for _, id := range ids {
			if r.accepted[id] == 0 {
				lost++
			}
		}
	}
	for _, times := range r.accepted {
		doubled += times - 1
	}
	return lost, doubled, nil
}

// news serves the same RSS feed at each path.
func news(entries int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/rss+xml; charset=utf-8")
		fmt.Fprint(w, `<?xml version="1.0"?><rss version="2.0"><channel><title>News</title><link>https://example.com/</link><description>All of it</description>`)
		for i := range entries {
			fmt.Fprintf(w, `<item><guid isPermaLink="false">news-%d</guid><title>News %d</title><link>https://example.com/%d</link>`+
				`<description>Text</description><pubDate>Thu, 01 Jan 2026 00:00:00 GMT</pubDate></item>`, i, i, i)
		}
		fmt.Fprint(w, `</channel></rss>`)
	}
}
