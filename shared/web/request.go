package web

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"time"

	"github.com/google/uuid"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/identity/token"
	"orgops/shared/storage/store"
)

type requestKey struct{}

// request holds the state of one request. ServeHTTP makes it, and the guard completes it before any handler runs.
type request struct {
	server    *Server
	id        string
	route     string // the pattern, never the path
	operation string
	url       *url.URL
	base      string // base path of references; see WithBasePath
	header    http.Header
	remote    string // the connection's address, or what the gateway says it is
	caller    Caller
	claims    token.Claims // of caller
	tenant    store.Company
	trail     *trail // nil: the operation is not audited
	challenge string // of a 401; "" asks for Bearer
	oauth     bool   // sends a form to an OAuth endpoint, so errors follow RFC 6749 §5.2
	cause     error  // of a 5xx
	reserved  Share
}

// Caller holds the identity that the guard has verified.
type Caller struct {
	UserID   string // the user, or the client or executive that acts by itself
	Company  string
	Plan     string
	Provider string // the only integration that the caller reaches; "": all
	Role     string // "": the token names none
	Scopes   []string
	Narrowed bool // the scopes are fewer than those of the role by request
	TokenID  string
	AuthTime time.Time // when the person proved to be one; zero: the token does not tell
	Methods  []string  // how the person did (RFC 8176)
	Expires  time.Time // of the token

	Generation int64 // of the token

	Client    string // the client that got the token; "": a user did
	Executive string // the executive that acts, by itself or for the user; "": none
}

// Person returns the id of the user who acts, or for whom an executive acts, and "" if a client or an executive acts by itself.
func (c Caller) Person() string {
	if c.UserID == c.Client || c.UserID == c.Executive {
		return ""
	}
	return c.UserID
}

// Reaches reports whether the caller may reach an integration and what it imported.
func (c Caller) Reaches(provider string) bool { return c.Provider == "" || c.Provider == provider }

// Reach returns fault.Forbidden unless the caller may reach an integration and what it imported.
func Reach(ctx context.Context, provider string) error { return CallerOf(ctx).reach(provider) }

func (c Caller) reach(provider string) error {
	if c.Reaches(provider) {
		return nil
	}
	return fault.Newf(fault.Forbidden, "the token is bound to the integration %s and reaches nothing else", c.Provider)
}

// Has reports whether the caller's token carries a scope.
func (c Caller) Has(scope string) bool { return slices.Contains(c.Scopes, scope) }

func requestOf(ctx context.Context) *request {
	req, _ := ctx.Value(requestKey{}).(*request)
	return req
}

// Tenant returns the store bound to the guarded company. Outside a company-scoped operation it returns the zero Company,
// which fails every call. Of an audited operation, the first commit also writes the record; see Audited.
func Tenant(ctx context.Context) store.Company {
	req := requestOf(ctx)
	switch {
	case req == nil:
		return store.Company{}
	case req.trail == nil:
		return req.tenant
	}
	return req.tenant.Through(func(st store.Store) store.Store { return recorded{st, req.trail} })
}

// CallerOf returns the caller that the guard has verified, or the zero Caller outside a company-scoped operation.
func CallerOf(ctx context.Context) Caller {
	if req := requestOf(ctx); req != nil {
		return req.caller
	}
	return Caller{}
}

// RequestID returns the id of the request under ctx, which no other request has. It returns "" outside a request.
func RequestID(ctx context.Context) string {
	if req := requestOf(ctx); req != nil {
		return req.id
	}
	return ""
}

// Source names the network that a request comes from: its IPv4 address, or the /64 of its IPv6 address, which is what one
// subscriber has. The address is the connection's, or behind a gateway the address that the gateway reports; no header counts,
// because the client chooses it. Source returns "" for an unknown address.
func Source(ctx context.Context) string {
	req := requestOf(ctx)
	if req == nil {
		return ""
	}
	addr, ok := req.address()
	if !ok {
		return ""
	}
	if addr.Is4() {
		return addr.String()
	}
	return netip.PrefixFrom(addr, 64).Masked().String()
}

// Agent returns the User-Agent of the request, which the client chooses, or "".
func Agent(ctx context.Context) string {
	if req := requestOf(ctx); req != nil {
		return req.header.Get("User-Agent")
	}
	return ""
}

// address returns the address that the request comes from.
func (req *request) address() (addr netip.Addr, ok bool) {
	if port, err := netip.ParseAddrPort(req.remote); err == nil {
		addr = port.Addr()
	} else if addr, err = netip.ParseAddr(req.remote); err != nil {
		return netip.Addr{}, false
	}
	return addr.Unmap().WithZone(""), true
}

// within reports whether the request comes from one of networks; without any, every network is one.
func (req *request) within(networks []netip.Prefix) bool {
	if len(networks) == 0 {
		return true
	}
	addr, ok := req.address()
	return ok && slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(addr) })
}

// Within reports whether the request under ctx comes from one of networks; without any, every network is one.
func Within(ctx context.Context, networks []netip.Prefix) bool {
	req := requestOf(ctx)
	return req != nil && req.within(networks)
}

// network returns the network that is recorded of the request: the /24 of its IPv4 address or the /48 of its IPv6 address. It
// tells an office from a stranger and does not single out a device.
func (req *request) network() string {
	addr, ok := req.address()
	if !ok {
		return ""
	}
	bits := 48
	if addr.Is4() {
		bits = 24
	}
	return netip.PrefixFrom(addr, bits).Masked().String()
}

type givenIDKey struct{}

// WithRequestID sets the id of a request under ctx to the id from a gateway, so that both logs use the same id. It ignores
// an id that is not a UUID, because such an id may come from the client.
func WithRequestID(ctx context.Context, given string) context.Context {
	if len(given) != len(uuid.UUID{}.String()) || uuid.Validate(given) != nil {
		return ctx
	}
	return context.WithValue(ctx, givenIDKey{}, given)
}

// newRequestID returns the gateway's id, or a new one.
func newRequestID(ctx context.Context) string {
	if given, ok := ctx.Value(givenIDKey{}).(string); ok {
		return given
	}
	return id.New()
}

// log writes the request's one log line, with the route's pattern instead of the path and without body, headers and query.
func (req *request) log(r *http.Request, status int, took time.Duration) {
	ctx, logger, level := r.Context(), req.server.opts.Logger, slog.LevelDebug
	switch {
	case status == http.StatusInternalServerError:
		level = slog.LevelError
	case status > http.StatusInternalServerError:
		level = slog.LevelWarn
	}
	if !logger.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("request", req.id), slog.String("method", r.Method), slog.String("route", req.route),
		slog.Int("status", status), slog.Duration("took", took),
	}
	if source := Source(ctx); source != "" {
		attrs = append(attrs, slog.String("source", source))
	}
	if req.caller.Company != "" {
		attrs = append(attrs, slog.String("company", req.caller.Company))
	}
	if req.cause != nil {
		attrs = append(attrs, slog.String("cause", req.cause.Error()))
	}
	logger.LogAttrs(ctx, level, "request", attrs...)
}
