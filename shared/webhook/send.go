package webhook

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"orgops/shared/outbound"
)

// Limits of an answer's body: how much is read, so that its connection can be used again, and how much is kept.
const (
	maxBody    = 16 << 10
	maxExcerpt = 1 << 10
)

// Timeouts of an attempt: the first keeps others waiting, the later ones do not.
const (
	FirstTimeout = 5 * time.Second
	RetryTimeout = 15 * time.Second
)

// Message is what is sent in one attempt.
type Message struct {
	ID      string // webhook-id: the same in every attempt
	Body    []byte // JSON, byte for byte; not changed, and not to be changed, while Send runs
	Timeout time.Duration
}

// Class says what an attempt means for the delivery.
type Class uint8

// The classes. The zero Class is Failed: what is not known to have arrived has not.
const (
	Failed    Class = iota // 3xx, 4xx, 5xx, or no answer: try again on schedule
	Delivered              // 2xx
	Gone                   // 410: disable the endpoint, do not try again
	Throttled              // 429, 502, 504: try again on schedule, and hold the endpoint's other deliveries back
	Aborted                // the caller's context ended: not an attempt, nothing to record
)

func (c Class) String() string {
	return [...]string{"failed", "delivered", "gone", "throttled", "aborted"}[c]
}

// Outcome is the result of one attempt.
type Outcome struct {
	Class      Class
	Status     int           // 0: no answer
	Latency    time.Duration // until the answer's header, or until it was given up
	Excerpt    string        // at most 1 kB of the answer's body, valid UTF-8
	Err        string        // why it does not count; empty when delivered
	RetryAfter time.Duration // what the endpoint asked for, at most 24 h; 0: nothing
}

// Healthy reports whether the endpoint took the delivery or refused this one in good order. It is what Breaker.Done
// wants: no answer, a server error or a throttle speaks of the endpoint, a client error or redirect of one delivery.
func (o Outcome) Healthy() bool {
	return o.Status != 0 && o.Status < 500 && o.Status != http.StatusTooManyRequests
}

// Send makes one attempt: it signs the message as of now, posts it and classifies the answer. The status decides; a body
// that breaks off or comes too late after a 2xx changes nothing. Send never returns later than the message's timeout.
func Send(ctx context.Context, c *outbound.Client, e *Endpoint, m Message, now func() time.Time) Outcome {
	attempt, cancel := context.WithTimeout(ctx, m.Timeout)
	defer cancel()
	start := now()
	resp, err := c.Do(e.request(attempt, m, start))
	latency := now().Sub(start)
	if err != nil {
		if ctx.Err() != nil {
			return Outcome{Class: Aborted, Latency: latency, Err: "given up: the sender is stopping"}
		}
		return Outcome{Latency: latency, Err: outbound.Explain(err)}
	}
	defer resp.Body.Close()
	o := Outcome{Status: resp.StatusCode, Latency: latency, Excerpt: excerpt(resp)}
	o.Class, o.Err = classify(resp)
	if o.Class != Delivered {
		o.RetryAfter = outbound.RetryAfter(resp.Header, now(), 0, maxWait)
	}
	return o
}

func classify(resp *http.Response) (Class, string) {
	switch s := resp.StatusCode; {
	case s >= 200 && s < 300:
		return Delivered, ""
	case s >= 300 && s < 400:
		return Failed, "redirects are not followed: configure the url that it leads to"
	case s == http.StatusGone:
		return Gone, "answered 410 Gone: the endpoint wants no more deliveries"
	case s == http.StatusTooManyRequests, s == http.StatusBadGateway, s == http.StatusGatewayTimeout:
		return Throttled, "answered " + statusText(s)
	default:
		return Failed, "answered " + statusText(s)
	}
}

func statusText(s int) string {
	return strings.TrimSpace(strconv.Itoa(s) + " " + http.StatusText(s))
}

// excerpt reads a body, so that its connection can be used again, and keeps its beginning. Past maxBody the connection
// is given up instead.
func excerpt(resp *http.Response) string {
	if resp.ContentLength == 0 {
		return ""
	}
	size := int64(maxExcerpt)
	if n := resp.ContentLength; n > 0 {
		size = min(size, n)
	}
	kept := make([]byte, size)
	n, err := io.ReadFull(resp.Body, kept)
	if err == nil {
		_, _ = io.CopyN(io.Discard, resp.Body, maxBody-size) // an error leaves the connection unused, which is all there is to do
	}
	return text(kept[:n])
}

// text is b as valid UTF-8 of at most maxExcerpt bytes.
func text(b []byte) string {
	s := strings.ToValidUTF8(string(b), "\uFFFD")
	if len(s) <= maxExcerpt {
		return s
	}
	n := maxExcerpt
	for !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
