package operations

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/base/fault"
	"orgops/shared/base/id"
	"orgops/shared/domain/company"
	"orgops/shared/domain/notice"
	"orgops/shared/domain/roundtrip"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
	"orgops/shared/storage/vault"
	"orgops/shared/web"
	"orgops/shared/webhook/slack"
)

// slackCookie ties an installation to the browser that began it. Slack leads back by a link, for which Lax suffices.
const slackCookie = "__Host-orgops-slack"

func (d Deps) registerSlackInstall(api huma.API) {
	web.Register(api, web.Personal(operation(http.MethodPost, "/channels/slack/connect", "connect-slack", "Install the Slack app",
		"Answers the address at Slack to which the browser goes within ten minutes. The installation ends in this browser alone, for the caller. "+
			"409 if the operator of the service has not registered a Slack app.", http.StatusOK, user.ScopeOperationsWrite)), d.connectSlack)
	callback := web.Audited(web.Public(huma.Operation{
		OperationID: "finish-slack", Method: http.MethodGet, Path: "/auth/slack/callback", Tags: []string{"auth"}, DefaultStatus: http.StatusFound,
		Summary:     "End the installation of the Slack app",
		Description: "The redirect URL of the Slack app. It stores the app's token, sealed, and leads the browser to the console, with slack=installed or slack=refused. Parameters that are not listed are ignored (RFC 6749 §4.1.2).",
		Errors:      []int{http.StatusUnauthorized, http.StatusTooManyRequests},
	}))
	callback.SkipValidateParams = true // Slack may add parameters of its own
	web.Register(api, callback, d.finishSlack)
}

// SlackStart tells where the installation of the Slack app goes on.
type SlackStart struct {
	URL string `json:"url" format:"uri" doc:"where the browser goes" example:"https://slack.com/oauth/v2/authorize?client_id=1.2&scope=chat%3Awrite"`
}

type slackStartOutput struct {
	SetCookie http.Cookie `header:"Set-Cookie" doc:"ties the installation to the browser"`
	Body      SlackStart
}

func (d Deps) connectSlack(ctx context.Context, _ *struct{}) (*slackStartOutput, error) {
	app, err := d.app(ctx)
	if err != nil {
		return nil, err
	}
	c, caller := web.Tenant(ctx), web.CallerOf(ctx)
	cookie := web.BrowserCookie(ctx, slackCookie, roundtrip.Lifetime, http.SameSiteLaxMode)
	secret := roundtrip.Secret()
	trip := notice.SlackInstall{Bound: roundtrip.Bind(cookie.Value, d.Now()), Session: user.Session{UserID: caller.UserID, TokenID: caller.TokenID, Generation: caller.Generation}}
	if err := c.Commit(ctx, roundtrip.Begin(c, notice.SlackInstalls, secret, trip)); err != nil {
		return nil, store.Fault(err, "")
	}
	return &slackStartOutput{cookie, SlackStart{d.Slack.Authorize(app, d.slackRedirect(), roundtrip.State(c, secret))}}, nil
}

// app returns the operator's Slack app.
func (d Deps) app(ctx context.Context) (slack.App, error) {
	app := slack.App{}
	if d.SlackApp != nil {
		var err error
		if app, err = d.SlackApp(ctx); err != nil {
			return app, err
		}
	}
	if !app.IsSet() {
		return app, fault.New(fault.Conflict, "the operator of the service has not registered a Slack app; use an incoming webhook instead")
	}
	return app, nil
}

func (d Deps) slackRedirect() string { return d.Base + "/auth/slack/callback" }

type slackCallbackInput struct {
	State string `query:"state" doc:"As this service sent it to Slack"`
	Code  string `query:"code" doc:"Slack's authorization code"`
	Error string `query:"error" doc:"Why Slack ended the installation"`
}

// slackEndOutput leads the browser to the console.
type slackEndOutput struct {
	Status         int
	Location       string `header:"Location" doc:"where the browser goes"`
	CacheControl   string `header:"Cache-Control"`
	ReferrerPolicy string `header:"Referrer-Policy"`
}

// finishSlack takes Slack's answer. It takes the round trip first, so that each counts once.
func (d Deps) finishSlack(ctx context.Context, in *slackCallbackInput) (*slackEndOutput, error) {
	if err := d.installs.Take(ctx); err != nil {
		return nil, err
	}
	how := "installed"
	if err := d.install(ctx, in); err != nil {
		if fault.KindOf(err) == fault.Unavailable || fault.KindOf(err) == fault.Internal {
			return nil, err
		}
		web.Refused(ctx, err)
		how = "refused"
	}
	return &slackEndOutput{
		Status: http.StatusFound, Location: d.Base + "/console/index.html#/operations/channels?slack=" + how, CacheControl: "no-store", ReferrerPolicy: "no-referrer",
	}, nil
}

func (d Deps) install(ctx context.Context, in *slackCallbackInput) error {
	companyID, secret := roundtrip.Split(in.State)
	again := fault.New(fault.Unauthenticated, "the installation is unknown, was used, has expired or began in another browser; start it again")
	if !id.Valid(companyID) {
		return again
	}
	c := store.For(d.Store, companyID)
	trip, err := roundtrip.Take[notice.SlackInstall](ctx, c, notice.SlackInstalls, secret, web.SentCookie(ctx, slackCookie), d.Now())
	if errors.Is(err, roundtrip.ErrUnknown) {
		return again
	}
	if err != nil {
		return err
	}
	web.Identify(ctx, c, web.Caller{Company: companyID, UserID: trip.UserID, TokenID: trip.TokenID})
	u, err := d.installer(ctx, c, trip)
	if err != nil {
		return err
	}
	web.Identify(ctx, c, web.Caller{Company: companyID, UserID: u.ID, Role: string(u.Role), TokenID: trip.TokenID})
	if in.Error != "" || in.Code == "" {
		return fault.New(fault.Forbidden, "Slack ended the installation")
	}
	app, err := d.app(ctx)
	if err != nil {
		return err
	}
	got, err := d.Slack.Exchange(ctx, app, in.Code, d.slackRedirect())
	if err != nil {
		return fault.Wrap(fault.Forbidden, "Slack gave no token for the installation", err)
	}
	return d.keepInstallation(ctx, c, u, got)
}

// installer returns the user who began an installation, whose session must still hold and whose role must still allow it.
func (d Deps) installer(ctx context.Context, c store.Company, trip notice.SlackInstall) (user.User, error) {
	if err := trip.Check(ctx, c); err != nil {
		return user.User{}, err
	}
	u, _, err := company.GetUser(ctx, c, trip.UserID)
	if err != nil && fault.KindOf(err) != fault.NotFound {
		return u, err
	}
	if err != nil || u.State != user.Active || !slices.Contains(u.Role.Scopes(), user.ScopeOperationsWrite) {
		return u, fault.New(fault.Forbidden, "the user who began the installation may no longer do that")
	}
	return u, nil
}

// keepInstallation stores the app. The incoming webhook goes on until a channel is chosen for the app. The token for another workspace
// is revoked; another one for the same workspace is the same token.
func (d Deps) keepInstallation(ctx context.Context, c store.Company, u user.User, got slack.Installed) error {
	sealed, err := d.Vault.Seal(ctx, c.ID(), vault.LabelFor(notice.SlackTokenLabel, got.Team), []byte(got.Token))
	if err != nil {
		return err
	}
	now := d.Now().UTC().Truncate(time.Millisecond)
	app := notice.SlackApp{ID: got.AppID, Team: got.Team, TeamName: notice.Plain(got.TeamName), Token: sealed, InstalledAt: now, InstalledBy: u.ID}
	for range 3 { // another user may set the channel meanwhile
		err = d.storeApp(ctx, c, app, kindsFor(notice.Reads(u.Role)))
		if !errors.Is(err, store.ErrConflict) {
			break
		}
	}
	return store.Fault(err, "")
}

// storeApp puts the app into the channel's settings. A new channel gets the kinds.
func (d Deps) storeApp(ctx context.Context, c store.Company, app notice.SlackApp, kinds []notice.Kind) error {
	var s notice.SlackSettings
	version, err := notice.LoadChannel(ctx, c, notice.Slack, &s)
	if err != nil {
		return err
	}
	former := s.App
	moves := former != nil && former.Team != app.Team
	if moves {
		s.Channel = ""
	}
	if s.Kinds == nil {
		s.Kinds = kinds
	}
	s.App = &app
	s.UpdatedAt, s.UpdatedBy, s.FailedAt, s.Failure = app.InstalledAt, app.InstalledBy, time.Time{}, ""
	err = store.For(web.Recorded(ctx, d.Store), c.ID()).Commit(ctx, notice.SaveChannel(c, notice.Slack, version, s))
	if err == nil && moves {
		d.revoke(ctx, c.ID(), *former)
	}
	return err
}
