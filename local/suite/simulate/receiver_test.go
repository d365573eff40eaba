package simulate_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"orgops/shared/domain/delivery"
	"orgops/shared/webhook/standardwebhooks"
)

// receiver is an endpoint of a company.
type receiver struct {
	company, provider string
	events            []string
	secret            string
	mood              mood
	ordered           bool
	requests          map[string][]*request // by event
	received          int
}

// mood says how a receiver answers while there are faults.
type mood int

const (
	well      mood = iota // 2xx
	moody                 // each answer by the seed
	leaving               // moody, and sometimes 410
	departed              // never 2xx, for ever
	slowly                // 2xx after a second
	stumbling             // 503 to the first attempt of each event of four, then 2xx
)

// request records one attempt at a receiver.
type request struct {
	number   int // in the order of arrival at the receiver
	env      *environment
	by       *invocation
	at       time.Time
	status   int
	recorded bool
	excused  string // why it does not count, "" if it does
}

func (r *receiver) host() string { return r.provider + "." + r.company + ".test" }

func secretOf(seed uint64, company, provider string) string {
	raw := fmt.Sprintf("%032d", seed) + company + provider
	return "whsec_" + base64.StdEncoding.EncodeToString([]byte(raw)[:min(len(raw), 64)])
}

// transport sends an environment's requests to the receivers.
type transport struct{ e *environment }

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host == slackHost {
		return t.slack(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	w := t.e.w
	to := w.receivers[r.URL.Host]
	if to == nil {
		to = w.moving[r.URL.Host]
	}
	if to == nil {
		return nil, fmt.Errorf("%s has no receiver", r.URL.Host)
	}
	event := r.Header.Get(standardwebhooks.HeaderID)
	c := &call{id: t.e.name + " posts " + event + " to " + r.URL.Host, kind: post, env: t.e}
	var got *request
	var answer reply
	c.do = func() error {
		if got != nil {
			return answer.err
		}
		got, answer = w.receive(t.e, to, event, r.Header, body)
		if answer.after == 0 {
			return answer.err
		}
		c.at = time.Now().Add(answer.after)
		if deadline, ok := r.Context().Deadline(); ok && !c.at.Before(deadline) { // one at a time, before the timer
			c.at, answer.err = deadline.Add(-time.Nanosecond), context.DeadlineExceeded
			got.status = 0
		}
		return errWait
	}
	if err := w.ask(r.Context(), c); err != nil {
		return nil, err
	}
	header := http.Header{}
	if answer.retryAfter > 0 {
		header.Set("Retry-After", strconv.Itoa(answer.retryAfter))
	}
	return &http.Response{StatusCode: answer.status, Header: header, Body: http.NoBody, Request: r}, nil
}

// reply is what a receiver answers.
type reply struct {
	status     int
	retryAfter int // seconds
	after      time.Duration
	err        error
}

// receive records a request, checks that it is for this receiver, and answers it.
func (w *world) receive(e *environment, to *receiver, event string, header http.Header, body []byte) (*request, reply) {
	a := w.reply(to, event)
	to.received++
	got := &request{number: to.received, env: e, by: e.current, at: time.Now(), status: a.status}
	w.checkRequest(to, event, header, body)
	if w.moving[to.host()] != nil {
		w.trace.add("%s receives %s by %s: %d", to.host(), event, e.name, a.status)
		w.checkMoved(to, event)
		return got, a
	}
	if w.live(to, event) > 1 && !w.plan.on[strictness] {
		got.excused = "the delivery has two messages"
	}
	w.checkRecorded(to, event, got)
	to.requests[event] = append(to.requests[event], got)
	w.trace.add("%s receives %s by %s: %d after %v", to.host(), event, e.name, a.status, a.after)
	return got, a
}

// live counts the messages of a delivery.
func (w *world) live(to *receiver, event string) int {
	n := 0
	job := []byte(`{"company":"` + to.company + `","delivery":"` + event + "#" + to.provider + `"`)
	for _, m := range w.retries.Messages() {
		if bytes.HasPrefix(m.Body, job) {
			n++
		}
	}
	return n
}

func (w *world) reply(to *receiver, event string) reply {
	ok := reply{status: http.StatusNoContent}
	switch {
	case to.mood == slowly:
		return reply{status: http.StatusNoContent, after: answerTakes}
	case to.mood == stumbling && len(to.requests[event]) == 0 && len(to.requests)%4 == 0:
		return reply{status: http.StatusServiceUnavailable}
	case to.mood == departed:
		return reply{status: http.StatusInternalServerError}
	case !w.faulty() || to.mood == well:
		return ok
	}
	switch n := w.random.IntN(20); {
	case n < 8:
		return ok
	case n < 11:
		return reply{status: http.StatusServiceUnavailable}
	case n < 13:
		return reply{status: http.StatusTooManyRequests, retryAfter: 1 + w.random.IntN(600)}
	case n < 15:
		return reply{status: http.StatusNoContent, after: w.between(time.Millisecond, 20*time.Second)}
	case n < 17:
		return reply{status: http.StatusBadRequest, after: w.between(time.Millisecond, time.Second)}
	case n < 18:
		return reply{err: io.ErrUnexpectedEOF}
	case n < 19 && to.mood == leaving:
		return reply{status: http.StatusGone}
	}
	return reply{after: time.Hour}
}

// checkRequest checks that a request is signed for this receiver and holds only bytes of its company.
func (w *world) checkRequest(to *receiver, event string, header http.Header, body []byte) {
	if _, err := standardwebhooks.Verify([]string{to.secret}, header, body, time.Now()); err != nil {
		w.violated("isolation", "%s got %s, which is not signed for it: %v", to.host(), event, err)
	}
	var got struct {
		CompanyID string `json:"companyId"`
	}
	if err := json.Unmarshal(body, &got); err != nil {
		w.violated("isolation", "%s got %q: %v", to.host(), body, err)
	}
	if got.CompanyID != to.company {
		w.violated("isolation", "%s got an event of %s", to.host(), got.CompanyID)
	}
	for _, other := range w.companies {
		if other != to.company && strings.Contains(string(body), other) {
			w.violated("isolation", "%s got bytes of %s: %s", to.host(), other, body)
		}
	}
}

// checkRecorded checks that an attempt is recorded before it is made again. A worker cannot know of an attempt whose
// environment or invocation has ended without recording it.
func (w *world) checkRecorded(to *receiver, event string, next *request) {
	for _, r := range to.requests[event] {
		switch {
		case r.recorded || r.excused != "":
		case r.env == next.env:
			w.violated("recorded", "%s gets %s from %s again, which has not recorded its attempt after %v", to.host(), event, r.env.name, r.at.Sub(w.trace.start))
		case r.by.over:
			r.excused = "its invocation ended before it was recorded"
		case next.excused == "":
			w.violated("recorded", "%s gets %s from %s, while %s has not recorded its attempt", to.host(), event, next.env.name, r.env.name)
		}
	}
}

// record marks an environment's requests of deliveries as recorded.
func (w *world) record(e *environment, deliveries []string) {
	w.eachRequest(e, deliveries, func(r *request) { r.recorded = true })
}

// excuse marks an environment's requests of deliveries that are not recorded: their attempts may be made again.
func (w *world) excuse(e *environment, deliveries []string, why string) {
	w.eachRequest(e, deliveries, func(r *request) {
		if !r.recorded {
			r.excused = why
		}
	})
}

// eachRequest calls f with an environment's requests of deliveries, each given as its company and key.
func (w *world) eachRequest(e *environment, deliveries []string, f func(*request)) {
	for _, key := range deliveries {
		company, sort, _ := strings.Cut(key, " ")
		event, provider, _ := strings.Cut(strings.TrimPrefix(sort, delivery.Prefix), "#")
		to := w.receivers[provider+"."+company+".test"]
		if to == nil {
			continue
		}
		for _, r := range to.requests[event] {
			if r.env == e {
				f(r)
			}
		}
	}
}

// excuseAll marks the requests of an environment that ends.
func (w *world) excuseAll(e *environment) {
	for _, host := range sortedKeys(w.receivers) {
		for _, requests := range w.receivers[host].requests {
			for _, r := range requests {
				if r.env == e && !r.recorded {
					r.excused = "its environment ended"
				}
			}
		}
	}
}
