package operations

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/base/fault"
	"orgops/shared/domain/notice"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// registerSlackLink registers what each person does about the own user of Slack, with any role.
func (d Deps) registerSlackLink(api huma.API) {
	own := func(op huma.Operation) huma.Operation {
		op.Security = web.NeedsOne(user.Founder.Scopes()...)
		return web.Personal(web.Bound(op))
	}
	web.Register(api, own(noticeOperation(http.MethodPost, "/notices/slack", "link-slack-user", "Link your user of Slack",
		"Takes the code that Slack showed to that user alone. Without confirm it tells whom the code links, and changes nothing; with confirm it links that user of Slack to the caller, once. "+
			"From then on the presses of that user count as the caller's, until the caller signs out everywhere, or gets a new password or other rights.", http.StatusOK, "")), d.linkSlack)
	web.Register(api, own(noticeOperation(http.MethodDelete, "/notices/slack", "unlink-slack-user", "Unlink your users of Slack",
		"Their presses no longer count as the caller's.", http.StatusNoContent, "")), unlinkSlack)
}

// SlackLinkRequest holds the code that links a user of Slack.
type SlackLinkRequest struct {
	Code    string `json:"code" minLength:"1" maxLength:"64" doc:"the code at the end of the address that Slack showed" example:"ABCDEFGHIJKLMNOPQRSTUVWXYZ"`
	Confirm bool   `json:"confirm,omitempty" doc:"true: link the user; false: only tell whom"`
}

// SlackUserLink tells which user of Slack is linked to the caller.
type SlackUserLink struct {
	Workspace string `json:"workspace" doc:"the workspace" example:"Acme"`
	UserID    string `json:"slackUserId" doc:"the user's id there" example:"U0001"`
	Name      string `json:"name" doc:"the user's name there, which that user chooses" example:"ada"`
	Linked    bool   `json:"linked" doc:"whether the user is linked to the caller now"`
}

type slackLinkOutput struct{ Body SlackUserLink }

func (d Deps) linkSlack(ctx context.Context, in *struct{ Body SlackLinkRequest }) (*slackLinkOutput, error) {
	c, now := web.Tenant(ctx), d.Now()
	code, use, ok, err := notice.FindSlackCode(ctx, c, in.Body.Code, now)
	if err != nil {
		return nil, store.Fault(err, "")
	}
	unknown := fault.Refuse([]fault.FieldError{{Pointer: "/code", Detail: "is unknown, was used or has expired; press a button in Slack again"}})
	if !ok {
		return nil, unknown
	}
	out := &slackLinkOutput{SlackUserLink{Workspace: code.Workspace, UserID: code.ID, Name: code.Name}}
	if !in.Body.Confirm {
		return out, nil
	}
	caller := web.CallerOf(ctx)
	if slices.ContainsFunc(user.Role(caller.Role).Scopes(), func(scope string) bool { return !caller.Has(scope) }) {
		return nil, fault.New(fault.InsufficientScope, "the user of Slack would act with all scopes of your role, and the token has fewer; log in, and link with that token")
	}
	own := user.Session{UserID: caller.UserID, TokenID: caller.TokenID, Generation: caller.Generation}
	if err := own.GoesOn(ctx, c); err != nil {
		return nil, err
	}
	_, version, err := notice.LoadSlackLink(ctx, c, code.SlackUser)
	if err != nil {
		return nil, store.Fault(err, "")
	}
	strong, err := proven(ctx, c)
	if err != nil {
		return nil, err
	}
	link := notice.SlackLink{SlackUser: code.SlackUser, UserID: caller.UserID, At: now.UTC().Truncate(time.Millisecond), Generation: caller.Generation, Strong: strong}
	err = c.Commit(ctx, append(notice.SlackLinked(link, code.Workspace, now).Create(c), use, link.Save(c, version))...)
	if errors.Is(err, store.ErrConflict) {
		return nil, unknown
	}
	out.Body.Linked = true
	return out, store.Fault(err, "")
}

func unlinkSlack(ctx context.Context, _ *struct{}) (*struct{}, error) {
	c := web.Tenant(ctx)
	ops, err := notice.Unlink(ctx, c, web.CallerOf(ctx).UserID)
	if err != nil || len(ops) == 0 {
		return nil, store.Fault(err, "")
	}
	return nil, store.Fault(c.Commit(ctx, ops...), "")
}
