package apiclient

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Problem is an answer that refuses a request (RFC 9457).
type Problem struct { //nolint:errname // the name of the thing in RFC 9457
	Status     int
	RetryAfter time.Duration // zero: the answer asks for no wait
	text       string
}

func (p *Problem) Error() string { return p.text }

// problem reads a refusal. An answer that is not problem+json, such as a proxy's page, is shown by its beginning.
func problem(resp *http.Response, body []byte) *Problem {
	p := &Problem{Status: resp.StatusCode}
	if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && seconds > 0 {
		p.RetryAfter = time.Duration(seconds) * time.Second
	}
	var read struct {
		Detail string `json:"detail"`
		Errors []struct {
			Pointer string `json:"pointer"`
			Detail  string `json:"detail"`
		} `json:"errors"`
	}
	if err := json.Unmarshal(body, &read); err != nil || read.Detail == "" {
		read.Detail = strings.TrimSpace(string(body[:min(len(body), maxExcerpt)]))
	}
	p.text = fmt.Sprintf("%s %s was answered %d: %s", resp.Request.Method, resp.Request.URL.Path, p.Status, read.Detail)
	for _, e := range read.Errors {
		p.text += fmt.Sprintf("; %s %s", e.Pointer, e.Detail)
	}
	return p
}

// StatusOf returns the status of a refusal, or 0 for any other error.
func StatusOf(err error) int {
	var p *Problem
	if errors.As(err, &p) {
		return p.Status
	}
	return 0
}

// Temporary reports whether the same request may succeed later: nothing answered, or the service was busy or failing. wait
// is the time that the answer asks for, or zero.
func Temporary(err error) (wait time.Duration, temporary bool) {
	var p *Problem
	if !errors.As(err, &p) {
		return 0, err != nil
	}
	return p.RetryAfter, p.Status == http.StatusTooManyRequests || p.Status >= http.StatusInternalServerError
}
