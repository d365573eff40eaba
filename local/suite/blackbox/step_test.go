package blackbox_test

import (
	"net/http"
	"slices"
)

// step is one thing that a journey did, masked: a request with its answer, or the deliveries that a receiver got.
type step struct {
	Name     string     `json:"step"`
	Sent     *message   `json:"sent,omitempty"`
	Answered *message   `json:"answered,omitempty"`
	Received []*message `json:"received,omitempty"`
}

// message is a request, an answer or a delivery.
type message struct {
	Line    string            `json:"line,omitempty"`   // method and path of a request
	Status  int               `json:"status,omitempty"` // of an answer
	Headers map[string]string `json:"headers,omitempty"`
	Body    any               `json:"body,omitempty"`
}

// contract lists the headers of an answer that are compared.
var contract = []string{
	"Access-Control-Allow-Headers", "Access-Control-Allow-Methods", "Access-Control-Max-Age", "Allow", "Cache-Control",
	"Content-Type", "Etag", "Link", "Location", "Ratelimit", "Ratelimit-Policy", "Retry-After",
	"Vary", "Www-Authenticate", "X-Content-Type-Options", "X-Request-Id",
}

// sent masks a request.
func (m *mask) sent(r request) *message {
	content, _ := r.content() // it was sent: it encodes
	e := &message{Line: r.method + " " + m.text(r.path), Headers: map[string]string{}, Body: m.body(content)}
	if r.as != "" {
		e.Headers["Authorization"] = "Bearer <" + r.as + ">"
	}
	for name, value := range r.header {
		e.Headers[http.CanonicalHeaderKey(name)] = m.text(value)
	}
	return e
}

// answered masks an answer. The id of the request gets a name of its own, which shows whether the body of a problem
// holds the same id.
func (m *mask) answered(r request, a answer) *message {
	own := mask{base: m.base, asked: r.path, known: slices.Clone(m.known), ids: m.ids, recovered: m.recovered}
	if id := a.header.Get("X-Request-Id"); id != "" {
		own.alias(id, "request")
	}
	e := &message{Status: a.status, Headers: map[string]string{}}
	for _, name := range contract {
		values := a.header.Values(name)
		switch {
		case len(values) == 0:
		case name == "Etag":
			e.Headers[name] = "<etag>"
		case name == "Location":
			e.Headers[name] = own.reference(values[0])
		case name == "Link":
			e.Headers[name] = own.links(values[0])
		case name == "Retry-After":
			e.Headers[name] = "<n>"
		default:
			e.Headers[name] = own.text(values[0])
		}
		if len(values) > 1 {
			e.Headers[name] += " and more"
		}
	}
	e.Body = own.body(a.body)
	return e
}
