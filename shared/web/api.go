package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"

	"orgops/shared/base/fastjson"
	"orgops/shared/base/text"
)

// api wraps huma's API with the service's rules.
type api struct {
	huma.API
	config huma.Config
	server *Server
	bodies map[string]bodyOf // by operation
}

// newAPI makes an API. For each operation, the API puts the guard around the handler and passes both to mount.
func newAPI(s *Server, mount func(*huma.Operation, http.HandlerFunc)) *api {
	config := huma.Config{
		OpenAPI:                      newDocument(s.opts),
		Formats:                      map[string]huma.Format{"application/json": huma.DefaultJSONFormat},
		DefaultFormat:                "application/json",
		RejectUnknownQueryParameters: true,
	}
	a := &adapter{server: s, schemas: config.Components.Schemas, bodies: map[string]bodyOf{}, mount: mount}
	return &api{API: huma.NewAPI(config, a), config: config, server: s, bodies: a.bodies}
}

// Config gives huma the settings behind the wrapper.
func (a *api) Config() huma.Config { return a.config }

// Negotiate always returns JSON, the only format of the service.
func (a *api) Negotiate(string) (string, error) { return "application/json", nil }

// Marshal writes JSON for any content type.
func (a *api) Marshal(w io.Writer, _ string, v any) error {
	return huma.DefaultJSONFormat.Marshal(w, v)
}

// Unmarshal reads only JSON; takeBody has already checked the content type. In its place comes the operation: see humaContext. huma
// reads a body twice, and checks what it first reads into any.
func (a *api) Unmarshal(operation string, data []byte, v any) error {
	if err := decode(data, v); err != nil {
		return err
	}
	if value, checked := v.(*any); checked {
		*value = a.bodies[operation].fit(a.config.Components.Schemas, *value)
	}
	return nil
}

// bodyOf describes the JSON body of an operation.
type bodyOf struct {
	schema *huma.Schema
	nulls  bool // null stands for an optional member that is left out
}

// fit rewrites a body so that huma can check all of it.
func (b bodyOf) fit(schemas huma.Registry, value any) any {
	f := fitter{schemas: schemas, path: huma.NewPathBuffer(nil, 0)} // CheckBody alone uses the path
	f.members = func(s *huma.Schema, object map[string]any) map[string]any {
		for name, value := range object {
			if value != nil || !b.nulls {
				object[name] = f.fit(memberSchema(s, name), value)
			}
		}
		return object
	}
	return f.fit(b.schema, value)
}

// humaContext is huma's view of a request with a JSON body. huma passes the content type to Unmarshal, and nothing that says
// which operation the body is for. So the operation's id takes the place of the content type, which takeBody has checked.
type humaContext struct{ wrapped }

type wrapped huma.Context // a field of its own name: the interface has a method Context

// Unwrap implements what humachi.Unwrap looks for.
func (c humaContext) Unwrap() huma.Context { return c.wrapped }

// Header implements huma.Context.
func (c humaContext) Header(name string) string {
	if name == "Content-Type" {
		return c.Operation().OperationID
	}
	return c.wrapped.Header(name)
}

// errNotUnicode refuses a body. The place is found later, from the body: see malformed.
var errNotUnicode = errors.New("the body is not valid Unicode; see errors")

// decode reads JSON, behind a byte order mark if it has one (RFC 8259 §8.1). A whole number may have a fraction of zero or an exponent, as
// the schemas allow it. Clients may see its errors, because the errors quote nothing from the body.
func decode(data []byte, v any) error {
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	if !text.IsUnicode(data) {
		return errNotUnicode
	}
	err := json.Unmarshal(data, v)
	var syntax *json.SyntaxError
	var other *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &other) && strings.HasPrefix(other.Value, "number") && json.Unmarshal(fastjson.Whole(data), v) == nil:
		return nil
	case errors.As(err, &syntax):
		return fmt.Errorf("the body is not JSON: syntax error at byte %d", syntax.Offset)
	}
	return errors.New("the body holds a value that does not fit its field")
}

// DocumentOperation completes an operation's documentation. huma calls it before the route exists.
func (a *api) DocumentOperation(op *huma.Operation) {
	document(op, a.OpenAPI().Components.Schemas)
	if !op.Hidden {
		a.OpenAPI().AddOperation(op)
	}
}

// adapter puts operations on the router, each behind its guard. Every registration goes through it.
type adapter struct {
	server  *Server
	schemas huma.Registry
	bodies  map[string]bodyOf
	mount   func(*huma.Operation, http.HandlerFunc)
}

// Handle puts the guard around an operation and mounts it. It panics on an operation that is neither public nor
// company-scoped with a scope.
func (a *adapter) Handle(op *huma.Operation, handler func(huma.Context)) {
	rights, s := rightsOf(op), a.server
	limit := op.MaxBodyBytes
	if limit <= 0 {
		limit = MaxBody
	}
	op.MaxBodyBytes, op.BodyReadTimeout = -1, 0 // takeBody enforces both
	forHuma := func(ctx huma.Context) huma.Context { return ctx }
	if op.RequestBody != nil && !op.SkipValidateBody && op.RequestBody.Content["application/json"] != nil {
		// Many clients send null for what they do not set. A PATCH leaves alone what is left out, so a null that is not documented is
		// refused there: it may be meant to remove the member (RFC 7396).
		a.bodies[op.OperationID] = bodyOf{op.RequestBody.Content["application/json"].Schema, op.Method != http.MethodPatch}
		forHuma = func(ctx huma.Context) huma.Context { return humaContext{ctx} }
	}
	run := func(w http.ResponseWriter, r *http.Request) { handler(forHuma(humachi.NewContext(op, r, w))) }
	challenge, _ := op.Metadata[challengeMark].(string)
	lenient, limitOf, parameters := isLenient(op), limitOf(op, limit), parametersOf(op)
	ownKey := op.Metadata[ownKeyMark] == true
	takes, audited := takesKey(op), isAudited(op)
	secret := takes && answersSecret(op, a.schemas)
	serve := func(w http.ResponseWriter, r *http.Request) {
		req := requestOf(r.Context())
		req.route, req.operation, req.challenge, req.oauth = op.Path, op.OperationID, challenge, isForm(r, parameters)
		if audited {
			s.follow(op, req, r)
		}
		if rights.scopes != nil {
			if err := s.admit(w, r, req, rights); err != nil {
				s.refuse(w, r, err)
				return
			}
		}
		if lenient {
			r = withoutQuery(r)
		}
		if err := checkQuery(op, r); err != nil {
			s.refuse(w, r, err)
			return
		}
		if op.RequestBody != nil || !reads(r) && r.Method != http.MethodDelete { // the body of a DELETE has no meaning (RFC 9110 §9.3.5)
			if err := takeBody(op, limitOf(r), w, r); err != nil {
				unread(op, r, err)
				s.refuse(w, r, err)
				return
			}
			r = streamed(op, r)
			if b, ok := r.Body.(*body); ok && s.opts.Bodies != nil {
				b.share = s.opts.Bodies.Open(req.caller.Company, Source(r.Context()))
				defer b.release()
			}
			if op.RequestBody == nil {
				if err := takeNone(r); err != nil {
					s.refuse(w, r, err)
					return
				}
			}
			if req.oauth {
				if err := takeForm(r, parameters); err != nil {
					s.refuse(w, r, err)
					return
				}
			}
		}
		keys := r.Header.Values(idempotencyHeader)
		if !takes || len(keys) == 0 {
			run(w, r)
			return
		}
		if ownKey {
			if _, err := idempotencyKey(keys, req.caller); err != nil {
				s.refuse(w, r, err)
				return
			}
			run(w, r)
			return
		}
		if err := s.doOnce(w, r, req, secret, run); err != nil {
			s.refuse(w, r, err)
		}
	}
	a.mount(op, serve)
}

func (a *adapter) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.server.ServeHTTP(w, r) }

// headerOf returns the response's headers.
func headerOf(ctx huma.Context) http.Header {
	_, w := humachi.Unwrap(ctx)
	return w.Header()
}

// RequestTarget returns the path and the query of the current request as the client sent them, or "" outside a request.
func RequestTarget(ctx context.Context) string {
	if req := requestOf(ctx); req != nil {
		return req.url.RequestURI()
	}
	return ""
}

// RequestHeaders returns all headers of the current request, or nil outside a request. Handlers use it if they cannot
// declare their headers, such as the receiver of signed arrivals.
func RequestHeaders(ctx context.Context) http.Header {
	if req := requestOf(ctx); req != nil {
		return req.header
	}
	return nil
}
