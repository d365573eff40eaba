package blackbox_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
)

// step is what a journey recorded of one thing that it did.
type step struct {
	Name     string    `json:"step"`
	Sent     *exchange `json:"sent,omitempty"`
	Answered *exchange `json:"answered,omitempty"`
	Received any       `json:"received,omitempty"` // by the journey's own servers
}

// exchange is one half of a request and its answer.
type exchange struct {
	Line    string            `json:"line,omitempty"`   // method and path
	Status  int               `json:"status,omitempty"` // of an answer
	Headers map[string]string `json:"headers,omitempty"`
	Body    any               `json:"body,omitempty"`
}

// contract is the headers that an answer is known by.
var contract = []string{
	"Access-Control-Allow-Headers", "Access-Control-Allow-Methods", "Access-Control-Max-Age", "Allow", "Cache-Control",
	"Content-Type", "Etag", "Link", "Location", "Ratelimit", "Ratelimit-Policy", "Retry-After",
	"Vary", "Www-Authenticate", "X-Content-Type-Options", "X-Request-Id",
}

func (m *mask) sent(r request) *exchange {
	content, _ := r.content() // it was sent: it encodes
	e := &exchange{Line: r.method + " " + m.text(r.path), Headers: map[string]string{}, Body: m.body(content)}
	if r.as != "" {
		e.Headers["Authorization"] = "Bearer <" + r.as + ">"
	}
	for name, value := range r.header {
		e.Headers[http.CanonicalHeaderKey(name)] = m.text(value)
	}
	return e
}

// answered masks an answer. The request's own id has a name of its own, so that a problem shows whether it tells it.
func (m *mask) answered(r request, a answer) *exchange {
	own := mask{base: m.base, asked: r.path, known: slices.Clone(m.known), ids: m.ids}
	if id := a.header.Get("X-Request-Id"); id != "" {
		own.call(id, "request")
	}
	e := &exchange{Status: a.status, Headers: map[string]string{}}
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

// plain is a value as JSON knows it, so that what was recorded and what was read compare.
func plain(v any) any {
	var out any
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	_ = decoder.Decode(&out) // it was encoded just now
	return out
}

// show is a value for people.
func show(v any) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(v); err != nil {
		return err.Error()
	}
	return out.String()
}
