package operations

import (
	"context"
	"net/http"
	"strconv"
	_ "time/tzdata" // a Lambda has no zones of its own

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/base/fault"
	"orgops/shared/domain/notice"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// registerNoticePreferences registers what each person does about the own preferences, with any role.
func (d Deps) registerNoticePreferences(api huma.API) {
	const path = "/notices/preferences"
	own := func(op huma.Operation) huma.Operation {
		op.Security = web.NeedsOne(user.Founder.Scopes()...)
		return web.Personal(web.Bound(op))
	}
	web.Register(api, own(noticeOperation(http.MethodGet, path, "get-notice-preferences", "Get what you want to be told",
		"The caller's own preferences, or the defaults: those of the company (see put-notice-defaults), or mails at any time, with times in UTC.", http.StatusOK, "")), getNoticePreferences)
	web.Register(api, own(noticeOperation(http.MethodPut, path, "put-notice-preferences", "Choose what you want to be told",
		"Replaces the caller's own preferences. Mails about the own access always come. The brief comes at its time of day in the time zone, once a day at most. A notice that already waits follows the new channels, but keeps its time.",
		http.StatusOK, "")), d.putNoticePreferences)
	const shared = "/notices/defaults"
	web.Register(api, noticeOperation(http.MethodGet, shared, "get-notice-defaults", "Get what people are told who have chosen nothing",
		"The company's defaults, or the service's: mails at any time, with times in UTC.", http.StatusOK, user.ScopeOperationsRead), getNoticeDefaults)
	web.Register(api, noticeOperation(http.MethodPut, shared, "put-notice-defaults", "Choose what people are told who have chosen nothing",
		"Replaces the company's defaults. A person's own preferences win, as a whole. The company's Slack channel follows them too: its alerts and approvals wait for the end of the quiet hours, unless half of an approval's time is over, "+
			"and it gets the brief at its time, if it takes briefs. Only a founder chooses.", http.StatusOK, user.ScopeOperationsWrite), d.putNoticeDefaults)
}

func getNoticePreferences(ctx context.Context, in *web.IfNoneMatch) (*web.Tagged[notice.Preferences], error) {
	p, version, err := preferred(ctx)
	if err != nil {
		return nil, err
	}
	tag := preferencesTag(version)
	if version == 0 { // they change with the company's defaults
		if tag, err = web.ETagAt("0", p); err != nil {
			return nil, err
		}
	}
	return web.Respond(*in, tag, web.Ready(p))
}

// preferred returns what the caller wants to be told, with the version, without the brief for a role that does not read it.
func preferred(ctx context.Context) (notice.Preferences, int64, error) {
	caller := web.CallerOf(ctx)
	p, version, err := notice.LoadPreferences(ctx, web.Tenant(ctx), caller.UserID)
	if !caller.Has(user.ScopeIntelligenceRead) {
		p.Brief = nil
	}
	return p, version, store.Fault(err, "")
}

func getNoticeDefaults(ctx context.Context, in *web.IfNoneMatch) (*web.Tagged[notice.Preferences], error) {
	p, version, err := notice.LoadPreferences(ctx, web.Tenant(ctx), notice.Everyone)
	if err != nil {
		return nil, store.Fault(err, "")
	}
	return web.Respond(*in, preferencesTag(version), web.Ready(p))
}

func (d Deps) putNoticeDefaults(ctx context.Context, in *noticePreferencesInput) (*noticePreferencesOutput, error) {
	if !founds(ctx) {
		return nil, fault.New(fault.InsufficientScope, "only a user with all scopes, a founder, chooses the company's defaults")
	}
	if err := in.Body.Check(); err != nil {
		return nil, err
	}
	c := web.Tenant(ctx)
	_, version, err := notice.LoadPreferences(ctx, c, notice.Everyone)
	if err != nil {
		return nil, store.Fault(err, "")
	}
	if err := in.Check(strconv.FormatInt(version, 10)); err != nil {
		return nil, err
	}
	if err := c.Commit(ctx, in.Body.Store(c, notice.Everyone, version, d.Now())...); err != nil {
		return nil, store.Fault(in.Overtaken(err), "")
	}
	return &noticePreferencesOutput{ETag: preferencesTag(version + 1), Body: in.Body}, nil
}

type noticePreferencesInput struct {
	web.IfMatch
	Body notice.Preferences
}

type noticePreferencesOutput struct {
	ETag string `header:"ETag"`
	Body notice.Preferences
}

func (d Deps) putNoticePreferences(ctx context.Context, in *noticePreferencesInput) (*noticePreferencesOutput, error) {
	if err := in.Body.Check(); err != nil {
		return nil, err
	}
	c, userID := web.Tenant(ctx), web.CallerOf(ctx).UserID
	was, version, err := preferred(ctx)
	if err != nil {
		return nil, err
	}
	if err := in.Check(strconv.FormatInt(version, 10)); err != nil {
		return nil, err
	}
	if in.Body.Brief != nil && !web.CallerOf(ctx).Has(user.ScopeIntelligenceRead) {
		return nil, fault.Refuse([]fault.FieldError{{Pointer: "/brief", Detail: "your role does not read the brief; leave it out"}})
	}
	renewed, err := in.Body.Renew(ctx, c, userID, was)
	if err != nil {
		return nil, store.Fault(err, "")
	}
	if err := c.Commit(ctx, append(in.Body.Store(c, userID, version, d.Now()), renewed...)...); err != nil {
		return nil, store.Fault(in.Overtaken(err), "")
	}
	return &noticePreferencesOutput{ETag: preferencesTag(version + 1), Body: in.Body}, nil
}

// preferencesTag returns the ETag of preferences. The defaults have the version 0.
func preferencesTag(version int64) string { return web.ETag(strconv.FormatInt(version, 10)) }
