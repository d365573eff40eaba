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
		"The caller's own preferences, or the defaults: mails at any time, with times in UTC.", http.StatusOK, "")), getNoticePreferences)
	web.Register(api, own(noticeOperation(http.MethodPut, path, "put-notice-preferences", "Choose what you want to be told",
		"Replaces the caller's own preferences. Mails about the own access always come. The brief comes at its time of day in the time zone, once a day at most. A notice that already waits follows the new channels, but keeps its time.",
		http.StatusOK, "")), d.putNoticePreferences)
}

func getNoticePreferences(ctx context.Context, in *web.IfNoneMatch) (*web.Tagged[notice.Preferences], error) {
	p, version, err := notice.LoadPreferences(ctx, web.Tenant(ctx), web.CallerOf(ctx).UserID)
	if err != nil {
		return nil, store.Fault(err, "")
	}
	return web.Respond(*in, preferencesTag(version), web.Ready(p))
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
	was, version, err := notice.LoadPreferences(ctx, c, userID)
	if err != nil {
		return nil, store.Fault(err, "")
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
