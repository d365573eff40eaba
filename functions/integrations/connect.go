package integrations

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/base/fault"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/roundtrip"
	"orgops/shared/domain/user"
	"orgops/shared/identity/authcode"
	"orgops/shared/provider/connect"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// cookieConnect ties a connection that is being made to the browser that began it. The provider leads back by a link, for which Lax
// suffices.
const cookieConnect = "__Host-orgops-connect"

// MaxFromSource bounds the answers of providers that one source brings in a minute.
const MaxFromSource = 60

func (d Deps) registerConnect(api huma.API) {
	web.Register(api, operation(http.MethodPost, "/integrations/{provider}/connect", "connect-integration", "Connect at the provider",
		"Returns an address at the provider, where the user gives access in place of a pasted token: by OAuth 2 with PKCE, or by the installation of a GitHub App. "+
			"Open it in the browser that got this answer, whose cookie the end demands, within ten minutes. It ends at the console. "+
			"Answers 409 if the operator of the service has registered no application with the provider. An integration that is connected already keeps its "+
			"syncs and mapping; another account is refused.", 200, user.ScopeIntegrationsWrite), d.connect)
	callback := web.Audited(web.Public(huma.Operation{
		OperationID: "finish-connection", Method: http.MethodGet, Path: "/auth/connect/callback", Tags: []string{"auth"}, DefaultStatus: http.StatusFound,
		Summary: "End a connection at a provider",
		Description: "The redirect URI that the operator registers with providers, which send the browser here. It leads to the console, which says what came of it. " +
			"Parameters that are not listed are ignored (RFC 6749 §4.1.2). One network, an IPv4 address or an IPv6 /64, may bring 60 answers a minute.",
		Errors: []int{http.StatusTooManyRequests},
	}))
	callback.SkipValidateParams = true // a provider may add parameters of its own
	web.Register(api, callback, d.finishConnection)
}

// access returns what gives and keeps the access of connections.
func (d Deps) access() connect.Access {
	return connect.Access{Vault: d.Vault, Client: d.Client, Applications: d.Applications, Logger: d.Logger, Now: d.Now}
}

// Connecting says where the user gives access.
type Connecting struct {
	URL       string    `json:"url" format:"uri" doc:"where the browser goes" example:"https://gitlab.com/oauth/authorize?client_id=3f1c0a7d"`
	ExpiresAt time.Time `json:"expiresAt" doc:"until when the user may come back"`
}

type connectOutput struct {
	SetCookie    []http.Cookie `header:"Set-Cookie" doc:"ties the connection to the browser"`
	CacheControl string        `header:"Cache-Control"`
	Body         Connecting
}

// connect stores a trip to the provider, and returns its address.
func (d Deps) connect(ctx context.Context, in *ProviderInput) (*connectOutput, error) {
	stored, err := d.load(ctx, in.Provider)
	if err != nil {
		return nil, err
	}
	conn, err := d.Connectors.Of(ctx, web.Tenant(ctx), stored.Integration)
	if err != nil {
		return nil, err
	}
	c, caller, base := web.Tenant(ctx), web.CallerOf(ctx), web.BaseOf(ctx, d.Base, d.Former)
	cookie := web.BrowserCookie(ctx, cookieConnect, roundtrip.Lifetime, http.SameSiteLaxMode)
	trip := connect.Trip{
		Bound: roundtrip.Bind(cookie.Value, d.Now()), Redirect: base + "/auth/connect/callback",
		Session: user.Session{UserID: caller.UserID, TokenID: caller.TokenID, Generation: caller.Generation},
	}
	address, op, err := d.access().Begin(ctx, c, conn, stored.Integration, trip)
	if err != nil {
		return nil, err
	}
	if err := c.Commit(ctx, op); err != nil {
		return nil, store.Fault(err, "")
	}
	return &connectOutput{SetCookie: []http.Cookie{cookie}, CacheControl: "no-store", Body: Connecting{address, trip.Until}}, nil
}

type connectCallback struct {
	State        string `query:"state" doc:"As this service sent it to the provider"`
	Code         string `query:"code" doc:"The provider's authorization code"`
	Issuer       string `query:"iss" doc:"The provider's issuer identifier (RFC 9207)"`
	Error        string `query:"error" doc:"Why the provider ended it (RFC 6749 §4.1.2.1)"`
	Installation string `query:"installation_id" doc:"The installation of a GitHub App"`
}

// connectedOutput leads the browser to the console.
type connectedOutput struct {
	Status         int
	Location       string `header:"Location" doc:"where the browser goes"`
	CacheControl   string `header:"Cache-Control"`
	ReferrerPolicy string `header:"Referrer-Policy"`
}

// finishConnection takes the provider's answer, and leads to the console with a fixed code that says what came of it. No text of the
// provider or of the address is passed on.
func (d Deps) finishConnection(ctx context.Context, in *connectCallback) (*connectedOutput, error) {
	if err := d.answers.Take(ctx); err != nil {
		return nil, err
	}
	told := url.Values{}
	t, err := d.finish(ctx, in)
	if t.Provider != "" {
		told.Set("provider", t.Provider)
	}
	if err != nil {
		d.Logger.WarnContext(ctx, "connection refused", "provider", t.Provider, "error", err)
		web.Refused(ctx, err)
		told.Set("refused", whyRefused(err))
	}
	to := web.BaseOf(ctx, d.Base, d.Former) + "/console/index.html#/connected?" + told.Encode()
	return &connectedOutput{Status: http.StatusFound, Location: to, CacheControl: "no-store", ReferrerPolicy: "no-referrer"}, nil
}

// finish ends a trip and stores the connection. The trip is taken first, so that each answer counts once, even if the rest then fails.
func (d Deps) finish(ctx context.Context, in *connectCallback) (connect.Trip, error) {
	companyID, secret := roundtrip.Split(in.State)
	c := store.For(d.Store, companyID)
	t, err := connect.Take(ctx, c, secret, web.SentCookie(ctx, cookieConnect), d.Now())
	if err != nil {
		return t, err
	}
	if err := identify(ctx, c, t); err != nil {
		return t, err
	}
	if in.Error != "" || in.Code == "" {
		return t, errDenied
	}
	i, version, err := integration.Load(ctx, c, t.Provider)
	if err != nil {
		return t, err
	}
	if i.Incarnation != t.Incarnation {
		return t, fault.New(fault.NotFound, "the integration was deleted meanwhile")
	}
	conn, err := d.Connectors.Of(ctx, store.For(d.Store, companyID), i)
	if err != nil {
		return t, err
	}
	installation, _ := strconv.ParseInt(in.Installation, 10, 64) // what is no number is no installation: 0
	answer := connect.Answer{Answer: authcode.Answer{Code: in.Code, Issuer: in.Issuer}, Installation: installation}
	ops, err := d.access().Finish(ctx, c, conn, integration.Stored{Integration: i, Version: version}, t, answer)
	if err != nil {
		return t, err
	}
	return t, store.Fault(store.For(web.Recorded(ctx, d.Store), companyID).Commit(ctx, ops...), "")
}

// errDenied reports that the user did not give access.
var errDenied = errors.New("the provider gave no access")

// identify tells the record who connects what. It returns fault.Forbidden unless the user who began may still configure integrations.
func identify(ctx context.Context, c store.Company, t connect.Trip) error {
	var u user.User
	if _, err := c.Get(ctx, user.Key(t.UserID), &u); err != nil && !errors.Is(err, store.ErrNotFound) {
		return store.Fault(err, "")
	}
	web.Identify(ctx, c, web.Caller{UserID: t.UserID, TokenID: t.TokenID, Company: c.ID(), Role: string(u.Role)})
	web.Affects(ctx, "integrations/"+t.Provider)
	if err := t.Check(ctx, c); err != nil {
		return err
	}
	if u.ID == "" || !u.Active() || !slices.Contains(u.Role.Scopes(), user.ScopeIntegrationsWrite) {
		return fault.New(fault.Forbidden, "the user may no longer configure integrations")
	}
	return nil
}

// whyRefused returns the code by which the console says why a connection was not made.
func whyRefused(err error) string {
	switch {
	case errors.Is(err, roundtrip.ErrUnknown):
		return "again"
	case errors.Is(err, errDenied):
		return "denied"
	case errors.Is(err, connect.ErrAccount):
		return "account"
	case errors.Is(err, connect.ErrInstallation):
		return "installation"
	case errors.Is(err, connect.ErrSite):
		return "site"
	case errors.Is(err, authcode.ErrClient), errors.Is(err, connect.ErrChanged):
		return "operator"
	case errors.Is(err, authcode.ErrGrant):
		return "refused"
	}
	switch fault.KindOf(err) {
	case fault.Forbidden:
		return "forbidden"
	case fault.Suspended:
		return "suspended"
	case fault.NotFound, fault.Conflict:
		return "changed"
	}
	return "failed"
}

// disconnected returns the writes that let the tokens of a connection be revoked, for a commit that ends it. The commit does not wait for
// the provider.
func (d Deps) disconnected(ctx context.Context, i integration.Integration, was, is integration.Secrets) []store.Op {
	if len(is.Grant) > 0 {
		return nil
	}
	return d.access().Ended(ctx, web.Tenant(ctx), i, was)
}
