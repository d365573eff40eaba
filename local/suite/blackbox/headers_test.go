package blackbox_test

import (
	"maps"
	"net/http"
)

// The golden files leave out the headers that most messages have. A message without such a header has the value absent there.
// The journeys compare whole messages: readGolden adds the usual headers again.
var (
	usuallySent     = map[string]string{"Authorization": "Bearer <founder>"}
	usuallyReceived = map[string]string{
		"Content-Type": "application/json", "User-Agent": "orgops-webhooks", "Webhook-Signature": "v1,<signature>",
	}
	usuallyAnswered = map[string]string{
		"Cache-Control": "no-store", "Content-Type": "application/json", "X-Content-Type-Options": "nosniff", "X-Request-Id": "<request>",
	}
	usuallyRefused = map[string]string{
		"Cache-Control": "no-store", "Content-Type": "application/problem+json", "X-Content-Type-Options": "nosniff", "X-Request-Id": "<request>",
	}
)

const absent = "<absent>"

// answeredWith returns the usual headers of an answer with a status.
func answeredWith(status int) map[string]string {
	if status >= http.StatusBadRequest {
		return usuallyRefused
	}
	return usuallyAnswered
}

// short returns the headers that a golden file holds for a message with these headers.
func short(headers, usual map[string]string) map[string]string {
	kept := map[string]string{}
	maps.Copy(kept, headers)
	for name, value := range usual {
		switch got, has := headers[name]; {
		case !has:
			kept[name] = absent
		case got == value:
			delete(kept, name)
		}
	}
	return kept
}

// whole returns the headers of a message that a golden file holds with written. It reverses short.
func whole(written, usual map[string]string) map[string]string {
	headers := maps.Clone(usual)
	for name, value := range written {
		if headers[name] = value; value == absent {
			delete(headers, name)
		}
	}
	return headers
}

// withHeaders returns the steps with the headers that change makes of each message's own and of the usual ones.
func withHeaders(steps []step, change func(headers, usual map[string]string) map[string]string) []step {
	changed := func(m *message, usual map[string]string) *message {
		if m == nil {
			return nil
		}
		out := *m
		out.Headers = change(m.Headers, usual)
		return &out
	}
	all := make([]step, 0, len(steps))
	for _, s := range steps {
		s.Sent = changed(s.Sent, usuallySent)
		if s.Answered != nil {
			s.Answered = changed(s.Answered, answeredWith(s.Answered.Status))
		}
		received := make([]*message, 0, len(s.Received))
		for _, m := range s.Received {
			received = append(received, changed(m, usuallyReceived))
		}
		s.Received = received
		all = append(all, s)
	}
	return all
}
