// Package post sends one signed webhook and says what its answer means. It knows nothing of retries and limits: see package courier.
package post

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"orgops/shared/base/text"
	"orgops/shared/webhook/outbound"
)

// maxWait limits the wait that an endpoint may ask for.
const maxWait = 24 * time.Hour

// Limits of an answer's body, in bytes.
const (
	maxBody    = 16 << 10 // read, so that the connection can be reused
	maxExcerpt = 1 << 10  // kept
)

// Timeouts of an attempt. The first attempt gets less time, because other deliveries wait for it. No delivery waits for a
// retry.
const (
	FirstTimeout = 5 * time.Second
	RetryTimeout = 15 * time.Second
)

// Message holds what one attempt sends.
type Message struct {
	ID      string // webhook-id: the same in every attempt
	Body    []byte // JSON, sent unchanged; do not modify it while Send runs
	Timeout time.Duration
}

// Class says what an attempt means for the delivery.
type Class uint8

// The classes. The zero Class is Failed, because an unconfirmed delivery counts as not delivered.
const (
	Failed    Class = iota // 3xx, 4xx, 5xx, or no answer: retry on schedule
	Delivered              // 2xx
	Gone                   // 410: disable the endpoint, do not retry
	Throttled              // 429, 502, 504: retry on schedule, and hold back the endpoint's other deliveries
	Aborted                // the caller's context ended: not an attempt, record nothing
)

func (c Class) String() string {
	return [...]string{"failed", "delivered", "gone", "throttled", "aborted"}[c]
}

// Result holds the result of one attempt.
type Result struct {
	Class      Class
	Status     int           // 0: no answer
	Latency    time.Duration // until the answer's header, or until the attempt ended without one
	Excerpt    string        // at most 1 kB of the answer's body, valid UTF-8
	Err        string        // why the attempt failed; empty when delivered
	RetryAfter time.Duration // the wait that the endpoint asked for, at most 24 h; 0: none
	RetryAt    time.Time     // when that wait ends, to the millisecond, as a delivery is due; zero: none
}

// Healthy reports whether the endpoint works, for the breaker. No answer, a server error or a throttle is a problem of the
// endpoint; a client error or a redirect is a problem of this delivery only.
func (o Result) Healthy() bool {
	return o.Status != 0 && o.Status < 500 && o.Status != http.StatusTooManyRequests
}

// Asked reports whether the endpoint asked for a wait that holds for all of its deliveries (RFC 6585 §4, RFC 9110 §15.6.4).
func (o Result) Asked() bool {
	return o.RetryAfter > 0 && (o.Class == Throttled || o.Status == http.StatusServiceUnavailable)
}

// Send makes one attempt: it signs the message as of now, posts it and classifies the answer. Only the status decides: a
// truncated or late body after a 2xx changes nothing. Send returns within the message's timeout.
func Send(ctx context.Context, c *outbound.Client, e *Target, m Message, now func() time.Time) Result {
	attempt, cancel := context.WithTimeout(ctx, m.Timeout)
	defer cancel()
	start := now()
	resp, err := c.Do(e.request(attempt, m, start))
	latency := now().Sub(start)
	if err != nil {
		if ctx.Err() != nil {
			return Result{Class: Aborted, Latency: latency, Err: "aborted: the sender is stopping"}
		}
		return Result{Latency: latency, Err: e.redact(outbound.Explain(err))}
	}
	defer resp.Body.Close()
	o := Result{Status: resp.StatusCode, Latency: latency, Excerpt: e.excerpt(resp)}
	o.Class, o.Err = classify(resp)
	if o.Class != Delivered {
		answered := now()
		if o.RetryAfter = outbound.RetryAfter(resp.Header, answered, 0, maxWait); o.RetryAfter > 0 {
			o.RetryAt = answered.Add(o.RetryAfter).UTC().Truncate(time.Millisecond)
		}
	}
	return o
}

func classify(resp *http.Response) (Class, string) {
	switch s := resp.StatusCode; {
	case s >= 200 && s < 300:
		return Delivered, ""
	case s == http.StatusNotModified:
		return Failed, "answered 304 Not Modified, which no POST may have; answer 2xx"
	case s >= 300 && s < 400:
		return Failed, "redirects are not followed; configure the url that it redirects to"
	case s == http.StatusGone:
		return Gone, "answered 410 Gone: the endpoint accepts no more deliveries"
	case s == http.StatusTooManyRequests, s == http.StatusBadGateway, s == http.StatusGatewayTimeout:
		return Throttled, "answered " + statusText(s)
	default:
		return Failed, "answered " + statusText(s)
	}
}

func statusText(s int) string {
	return strings.TrimSpace(strconv.Itoa(s) + " " + http.StatusText(s))
}

// excerpt returns the beginning of a body. It reads at most maxBody bytes: the connection of a shorter body can be reused,
// that of a longer one is closed. U+FFFD stands for what is not text, and no secret header is shown.
func (e *Target) excerpt(resp *http.Response) string {
	if resp.ContentLength == 0 {
		return ""
	}
	size := int64(maxExcerpt + e.excess())
	if n := resp.ContentLength; n > 0 {
		size = min(size, n)
	}
	kept := make([]byte, size)
	n, err := io.ReadFull(resp.Body, kept)
	if err == nil && resp.ContentLength <= maxBody {
		_, _ = io.CopyN(io.Discard, resp.Body, maxBody-size) // after an error the connection is not reused
	}
	shown := kept[:n]
	if len(e.hidden) > 0 {
		shown = e.clean(shown, err == nil && resp.ContentLength != int64(n))
	}
	return text.Truncate(strings.ToValidUTF8(string(printable(shown)), "\uFFFD"), maxExcerpt) // U+FFFD takes three bytes
}

// printable replaces control characters, which take six bytes of JSON each, by bytes that UTF-8 does not have. It changes b.
func printable(b []byte) []byte {
	const invalid = 0xff
	for i, c := range b {
		switch {
		case c == '\t', c == '\n', c == '\r':
		case c < ' ', c == 0x7f:
			b[i] = invalid
		}
	}
	return b
}
