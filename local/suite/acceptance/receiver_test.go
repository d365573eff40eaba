package acceptance_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"orgops/shared/webhook/standardwebhooks"
)

// received holds a delivery as it arrived.
type received struct {
	header http.Header
	body   []byte
	at     time.Time
	Type   string          `json:"type"`
	ID     string          `json:"id"`
	Data   json.RawMessage `json:"data"`
}

// receiver subscribes on this machine. It verifies its deliveries, checks them against the document, and keeps them.
type receiver struct {
	t   *testing.T
	url string

	mu      sync.Mutex
	secrets []string
	answer  func(received) int // returns the status for a verified delivery except samples; nil: 204
	got     []received
	refused int
}

// receive starts a receiver that verifies with a secret.
func receive(t *testing.T, secret string) *receiver {
	t.Helper()
	r := &receiver{t: t, secrets: []string{secret}}
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	r.url = server.URL + "/hook"
	return r
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return // the sender was killed during the request
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, err := standardwebhooks.Verify(r.secrets, req.Header, body, time.Now()); err != nil {
		r.refused++
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	d := received{header: req.Header.Clone(), body: body, at: time.Now()}
	if err := json.Unmarshal(body, &d); err != nil {
		r.t.Errorf("a delivery is not JSON: %v: %s", err, body)
	}
	asDocumented(r.t, d)
	status := http.StatusNoContent
	if r.answer != nil && d.Type != "orgops.sample" {
		status = r.answer(d)
	}
	r.got = append(r.got, d)
	w.WriteHeader(status)
}

// respond sets the status of the answers from now on.
func (r *receiver) respond(answer func(received) int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

// deliveries returns the deliveries of the given types; without a type, all except samples.
func (r *receiver) deliveries(types ...string) []received {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []received
	for _, d := range r.got {
		if d.Type != "orgops.sample" && (len(types) == 0 || slices.Contains(types, d.Type)) {
			out = append(out, d)
		}
	}
	return out
}

// about returns the deliveries of a type whose data has the given id.
func (r *receiver) about(kind, id string) []received {
	return slices.DeleteFunc(r.deliveries(kind), func(d received) bool {
		var data struct{ ID string }
		return json.Unmarshal(d.Data, &data) != nil || data.ID != id
	})
}

// serve runs a handler until the test ends, and returns its url.
func serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}
