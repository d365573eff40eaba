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

	"orgops/shared/webhook"
)

// received is a delivery as it arrived.
type received struct {
	header http.Header
	body   []byte
	at     time.Time
	Type   string          `json:"type"`
	ID     string          `json:"id"`
	Data   json.RawMessage `json:"data"`
}

// receiver is a subscriber on this machine that verifies what it is sent and keeps it.
type receiver struct {
	t   *testing.T
	url string

	mu      sync.Mutex
	secrets []string
	answer  func(received) int // status for a verified delivery that is no sample; nil: 204
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
		return // the sender was killed while it sent
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, err := webhook.Verify(r.secrets, req.Header, body, time.Now()); err != nil {
		r.refused++
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	d := received{header: req.Header.Clone(), body: body, at: time.Now()}
	if err := json.Unmarshal(body, &d); err != nil {
		r.t.Errorf("a delivery is no JSON: %v: %s", err, body)
	}
	status := http.StatusNoContent
	if r.answer != nil && d.Type != "orgops.sample" {
		status = r.answer(d)
	}
	r.got = append(r.got, d)
	w.WriteHeader(status)
}

// respond sets what is answered from now on.
func (r *receiver) respond(answer func(received) int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

// deliveries are those of the given types, all but samples where none is given.
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

// about are the deliveries of a type whose data has an id.
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
