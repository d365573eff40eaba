package web

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/base/fault"
)

// publish completes a document for its readers and for client generators. It does not change the schemas of request bodies,
// because requests are checked against them.
func publish(doc *huma.OpenAPI) {
	shared := sharedErrors()
	doc.Components.Headers, doc.Components.Responses = sharedHeaders(), map[string]*huma.Response{anyError: shared[anyError]}
	for _, op := range OperationsOf(doc) {
		shareErrors(op, shared, doc.Components.Responses)
	}
	openAnswers(doc)
}

// Names of shared headers in the document.
const (
	headerRequestID    = "RequestId"
	headerRetryAfter   = "RetryAfter"
	headerRateLimit    = "RateLimit"
	headerRatePolicy   = "RateLimitPolicy"
	headerAuthenticate = "Authenticate"
)

func sharedHeaders() map[string]*huma.Header {
	text := func(description, example string) *huma.Header {
		return &huma.Header{Description: description, Schema: &huma.Schema{Type: huma.TypeString}, Example: example}
	}
	return map[string]*huma.Header{
		headerRequestID:    text("The request's id, for the operator's log; the instance of a problem holds it too", "0198c5f2-7c1e-7d33-9a1b-2f6f0c0a9b11"),
		headerRetryAfter:   {Description: "Seconds to wait before the next try (RFC 9110)", Schema: &huma.Schema{Type: huma.TypeInteger, Format: "int32"}, Example: 2},
		headerRateLimit:    text("The requests that remain within the limit (IETF draft RateLimit header fields)", `"login";r=0;t=42`),
		headerRatePolicy:   text("The limit (IETF draft RateLimit header fields)", `"login";q=10;w=60`),
		headerAuthenticate: text("How to authenticate (RFC 6750)", `Bearer error="invalid_token"`),
	}
}

func headerRef(name string) *huma.Header { return &huma.Header{Ref: "#/components/headers/" + name} }

// headersOf lists the headers of every answer with a status.
func headersOf(status int) map[string]*huma.Header {
	headers := map[string]*huma.Header{"X-Request-Id": headerRef(headerRequestID)}
	switch status {
	case http.StatusUnauthorized:
		headers["WWW-Authenticate"] = headerRef(headerAuthenticate)
	case http.StatusTooManyRequests:
		headers["Retry-After"], headers["RateLimit"], headers["RateLimit-Policy"] = headerRef(headerRetryAfter), headerRef(headerRateLimit), headerRef(headerRatePolicy)
	case http.StatusServiceUnavailable:
		headers["Retry-After"] = headerRef(headerRetryAfter)
	}
	return headers
}

// anyError names the shared response for every error that an operation does not list.
const anyError = "Error"

// sharedErrors makes one response for each status of an error, with an example of the first problem kind that has the
// status.
func sharedErrors() map[string]*huma.Response {
	shared := map[string]*huma.Response{}
	for _, k := range problemKinds() {
		if shared[errorName(k.status)] == nil {
			shared[errorName(k.status)] = errorResponse(k)
		}
	}
	other := errorResponse(problemKindOf(fault.Internal))
	other.Description = "Any other error, such as one of a gateway in front"
	shared[anyError] = other
	return shared
}

func errorName(status int) string { return strings.ReplaceAll(http.StatusText(status), " ", "") }

func errorResponse(k problemKind) *huma.Response {
	p := &Problem{Type: k.typeURI(), Title: k.title, Status: k.status, Detail: k.example, Instance: "urn:uuid:0198c5f2-7c1e-7d33-9a1b-2f6f0c0a9b11"}
	if k.kind == fault.Invalid {
		p.Errors = []fault.FieldError{{Pointer: "/email", Detail: "is required"}}
	}
	media := &huma.MediaType{Schema: &huma.Schema{Ref: ComponentRef("Problem")}, Example: p}
	return &huma.Response{
		Description: k.meaning + " " + k.remedy, Content: map[string]*huma.MediaType{problemType: media}, Headers: headersOf(k.status),
	}
}

// shareErrors replaces an operation's error responses by references to shared responses, and adds these to used. It keeps a
// response that the operation describes itself. It gives every answer its headers.
func shareErrors(op *huma.Operation, shared, used map[string]*huma.Response) {
	for key, response := range op.Responses {
		status, err := strconv.Atoi(key)
		if err != nil {
			continue
		}
		if name := errorName(status); status >= http.StatusBadRequest && shared[name] != nil && response.Description == http.StatusText(status) {
			op.Responses[key], used[name] = &huma.Response{Ref: "#/components/responses/" + name}, shared[name]
			continue
		}
		if media := response.Content[problemType]; media != nil && shared[errorName(status)] != nil {
			response.Content = shared[errorName(status)].Content
		}
		if response.Headers == nil {
			response.Headers = map[string]*huma.Header{}
		}
		for name, header := range headersOf(status) {
			if response.Headers[name] == nil {
				response.Headers[name] = header
			}
		}
	}
	op.Responses["default"] = &huma.Response{Ref: "#/components/responses/" + anyError}
}

// openAnswers lets the objects of answers have more members than the document lists, because later versions add some.
// Objects of requests stay closed.
func openAnswers(doc *huma.OpenAPI) {
	asked := map[*huma.Schema]bool{}
	for _, op := range OperationsOf(doc) {
		if op.RequestBody == nil {
			continue
		}
		for _, media := range op.RequestBody.Content {
			reach(doc, media.Schema, asked)
		}
	}
	for _, schema := range doc.Components.Schemas.Map() {
		if !asked[schema] && schema.Type == huma.TypeObject && schema.AdditionalProperties == false {
			schema.AdditionalProperties = true
		}
	}
}

// reach adds to seen a schema and every schema below it.
func reach(doc *huma.OpenAPI, s *huma.Schema, seen map[*huma.Schema]bool) {
	if s == nil || seen[s] {
		return
	}
	seen[s] = true
	if s.Ref != "" {
		reach(doc, doc.Components.Schemas.SchemaFromRef(s.Ref), seen)
	}
	for _, below := range s.Properties {
		reach(doc, below, seen)
	}
	reach(doc, s.Items, seen)
	for _, list := range [][]*huma.Schema{s.OneOf, s.AnyOf, s.AllOf} {
		for _, below := range list {
			reach(doc, below, seen)
		}
	}
	if more, ok := s.AdditionalProperties.(*huma.Schema); ok {
		reach(doc, more, seen)
	}
}
