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
		"The caller's own preferences, or the defaults: those of the company (see put-notice-defaults), or mails at any time, with times in UTC. Of a caller who follows the defaults, a click in a mail ends one kind alone.", http.StatusOK, "")), getNoticePreferences)
	web.Register(api, own(noticeOperation(http.MethodPut, path, "put-notice-preferences", "Choose what you want to be told",
		"Replaces the caller's own preferences. Mails about the own access always come. The brief comes at its time of day in the time zone, once a day at most. A notice that already waits follows the new channels and quiet hours, but comes no sooner.",
		http.StatusOK, "")), d.putNoticePreferences)
	web.Register(api, own(noticeOperation(http.MethodDelete, path, "delete-notice-preferences", "Follow the company's defaults",
		"Removes what the caller has chosen, also by a click in a mail. The company's defaults count again, and their changes reach the caller.",
		http.StatusNoContent, "")), deleteNoticePreferences)
	const shared = "/notices/defaults"
	web.Register(api, noticeOperation(http.MethodGet, shared, "get-notice-defaults", "Get what people are told who have chosen nothing",
		"The company's defaults, or the service's: mails at any time, with times in UTC.", http.StatusOK, user.ScopeOperationsRead), getNoticeDefaults)
	web.Register(api, noticeOperation(http.MethodPut, shared, "put-notice-defaults", "Choose what people are told who have chosen nothing",
		"Replaces the company's defaults. A person's own preferences win, as a whole. The company's Slack channel follows them too: its alerts and approvals wait for the end of the quiet hours, unless half of an approval's time is over, "+
			"and it gets the brief at its time, if it takes briefs. Only a founder chooses.", http.StatusOK, user.ScopeOperationsWrite), d.putNoticeDefaults)
}

func getNoticePreferences(ctx context.Context, in *web.IfNoneMatch) (*web.Tagged[notice.Preferences], error) {
	p, err := preferred(ctx)
	if err != nil {
		return nil, err
	}
	tag := preferencesTag(p.Version)
	if p.Follows { // they change with the company's defaults
		if tag, err = web.ETagAt(strconv.FormatInt(p.Version, 10), p.Preferences); err != nil {
			return nil, err
		}
	}
	return web.Respond(*in, tag, web.Ready(p.Preferences))
}

// preferred returns what the caller wants to be told, without the brief for a role that does not read it.
func preferred(ctx context.Context) (notice.Chosen, error) {
	caller := web.CallerOf(ctx)
	p, err := notice.LoadChosen(ctx, web.Tenant(ctx), caller.UserID)
	if !caller.Has(user.ScopeIntelligenceRead) {
		p.Brief = nil
	}
	return p, store.Fault(err, "")
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
	was, err := preferred(ctx)
	if err != nil {
		return nil, err
	}
	if err := in.Check(strconv.FormatInt(was.Version, 10)); err != nil {
		return nil, err
	}
	if in.Body.Brief != nil && !web.CallerOf(ctx).Has(user.ScopeIntelligenceRead) {
		return nil, fault.Refuse([]fault.FieldError{{Pointer: "/brief", Detail: "your role does not read the brief; leave it out"}})
	}
	renewed, err := in.Body.Renew(ctx, c, userID, was.Preferences)
	if err != nil {
		return nil, store.Fault(err, "")
	}
	if err := c.Commit(ctx, append(in.Body.Store(c, userID, was.Version, d.Now()), renewed...)...); err != nil {
		return nil, store.Fault(in.Overtaken(err), "")
	}
	return &noticePreferencesOutput{ETag: preferencesTag(was.Version + 1), Body: in.Body}, nil
}

func deleteNoticePreferences(ctx context.Context, in *web.IfMatch) (*struct{}, error) {
	c, userID := web.Tenant(ctx), web.CallerOf(ctx).UserID
	was, err := preferred(ctx)
	if err != nil {
		return nil, err
	}
	if err := in.Check(strconv.FormatInt(was.Version, 10)); err != nil || was.Plain() {
		return nil, err
	}
	shared, _, err := notice.LoadPreferences(ctx, c, notice.Everyone)
	if err != nil {
		return nil, store.Fault(err, "")
	}
	renewed, err := shared.Renew(ctx, c, userID, was.Preferences)
	if err != nil {
		return nil, store.Fault(err, "")
	}
	return nil, store.Fault(in.Overtaken(c.Commit(ctx, append(renewed, was.Follow(c, userID))...)), "")
}

// preferencesTag returns the ETag of preferences. The defaults have the version 0.
func preferencesTag(version int64) string { return web.ETag(strconv.FormatInt(version, 10)) }
