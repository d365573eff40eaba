package blackbox_test

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The suite implements Standard Webhooks 1.0 itself, so that it does not test the code of the service with that code.

// newSecret returns a new signing secret.
func newSecret() string {
	key := make([]byte, 32)
	rand.Read(key)
	return "whsec_" + base64.StdEncoding.EncodeToString(key)
}

// sign returns the signature of a message.
func sign(secret, id, timestamp string, body []byte) string {
	key, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_")) // a text that is no secret signs what no receiver accepts
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", id, timestamp, body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

const tolerance = 5 * time.Minute

// verify reports whether a message is signed with a secret, at about this time.
func verify(secret string, h http.Header, body []byte) bool {
	timestamp := h.Get("Webhook-Timestamp")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	if age := time.Since(time.Unix(seconds, 0)); err != nil || age.Abs() > tolerance {
		return false
	}
	want := sign(secret, h.Get("Webhook-Id"), timestamp, body)
	return slices.ContainsFunc(strings.Fields(h.Get("Webhook-Signature")), func(given string) bool {
		return hmac.Equal([]byte(given), []byte(want))
	})
}

// sample is the type of the event that a certification or a test sends.
const sample = "orgops.sample"

// delivery is a verified message as it arrived.
type delivery struct {
	header http.Header
	body   []byte
	Type   string
}

// receiver is a subscriber. It accepts what is signed with its secret, and refuses everything else.
type receiver struct {
	url, secret string

	mu     sync.Mutex
	status func(try int) int // of the answer to a delivery that is not a sample; nil answers 204
	after  string            // the Retry-After header of these answers, if any
	tries  int
	got    []delivery
	seen   map[string]bool // ids that take has returned
}

// receive mounts a receiver.
func (j *journey) receive(name, secret string) *receiver {
	r := &receiver{secret: secret, seen: map[string]bool{}}
	r.url = j.serve(name, r)
	j.receivers = append(j.receivers, r)
	return r
}

// ServeHTTP implements http.Handler.
func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil || !verify(r.secret, req.Header, body) {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	d := decode[delivery](body)
	d.header, d.body = req.Header.Clone(), body
	if d.Type != sample {
		r.got, r.tries = append(r.got, d), r.tries+1
		if r.status != nil {
			if r.after != "" {
				w.Header().Set("Retry-After", r.after)
			}
			w.WriteHeader(r.status(r.tries))
			return
		}
	}
	w.WriteHeader(http.StatusNoContent)
}

// answer sets the status of the answers from now on, by the number of the delivery.
func (r *receiver) answer(status func(try int) int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status = status
}

// wait sets the Retry-After header, in seconds, of the answers that answer sets.
func (r *receiver) wait(seconds string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.after = seconds
}

// take returns the deliveries since the last call. It leaves out those whose id it has returned before, because the service
// delivers at least once. With again it keeps them.
func (r *receiver) take(again bool) []delivery {
	r.mu.Lock()
	defer r.mu.Unlock()
	var taken []delivery
	for _, d := range r.got {
		if id := d.header.Get("Webhook-Id"); again || !r.seen[id] {
			r.seen[id] = true
			taken = append(taken, d)
		}
	}
	r.got = nil
	return taken
}

// received waits for n deliveries and checks them, sorted by type and content, because the service promises no order.
func (j *journey) received(name string, r *receiver, n int, again bool) {
	j.t.Helper()
	var got []delivery
	err := poll(j.t.Context(), j.target.every, func() (bool, error) {
		got = append(got, r.take(again)...)
		return len(got) >= n, nil
	})
	if err != nil {
		j.t.Fatalf("%s: %d of %d deliveries came: %v", name, len(got), n, err)
	}
	blank := func(d delivery) string { return d.Type + show(newMask("").body(d.body)) }
	slices.SortStableFunc(got, func(a, b delivery) int { return strings.Compare(blank(a), blank(b)) })
	s := step{Name: name}
	for _, d := range got {
		headers := map[string]string{}
		for _, name := range []string{"Content-Type", "User-Agent", "Webhook-Id", "Webhook-Signature"} {
			headers[name] = j.mask.text(d.header.Get(name))
		}
		s.Received = append(s.Received, &message{Headers: headers, Body: j.mask.body(d.body)})
	}
	j.check(s)
}
