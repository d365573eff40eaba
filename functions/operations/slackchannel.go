package operations

import (
	"context"
	"slices"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/domain/notice"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
	"orgops/shared/storage/vault"
	"orgops/shared/web"
)

// SlackChannel shows the company's Slack channel.
type SlackChannel struct {
	Kinds     []notice.Kind  `json:"kinds" nullable:"false" enum:"approval,alert,brief" doc:"the kinds of notices that go to it; brief: at the time of the company's defaults"`
	Webhook   bool           `json:"webhook" doc:"whether an incoming webhook is stored"`
	App       *SlackAppShown `json:"app,omitempty" doc:"the Slack app, once it is installed"`
	Channel   string         `json:"channel,omitempty" doc:"the id of the channel to which the app posts" example:"C0123456789"`
	FailedAt  *time.Time     `json:"failedAt,omitempty" doc:"when Slack refused a message for good; absent since it took one again. Meanwhile people who chose Slack alone get mails"`
	Failure   string         `json:"failure,omitempty" doc:"what Slack said then" example:"Slack refused it: 404 no_service"`
	UpdatedAt time.Time      `json:"updatedAt" doc:"when it was stored"`
	UpdatedBy string         `json:"updatedBy" doc:"the user who stored it"`
}

// SlackAppShown tells where the Slack app is installed.
type SlackAppShown struct {
	Team        string    `json:"team" doc:"the id of the workspace" example:"T0001"`
	Workspace   string    `json:"workspace" doc:"the name of the workspace" example:"Acme"`
	InstalledAt time.Time `json:"installedAt" doc:"when it was installed"`
	InstalledBy string    `json:"installedBy" doc:"the user who installed it"`
}

// SlackChannelRequest holds what goes to the company's Slack channel, and how.
type SlackChannelRequest struct {
	WebhookURL string        `json:"webhookUrl,omitempty" maxLength:"2048" format:"password" doc:"the address of an incoming webhook; write-only. Without it, the stored one stays. It posts until a channel is chosen for the app" example:"https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX"`
	Channel    string        `json:"channel,omitempty" pattern:"^[CG][A-Z0-9]{2,20}$" patternDescription:"the id of a channel, as C0123456789" doc:"the id of the channel to which the installed app posts; the app must be invited to it. It replaces the webhook" example:"C0123456789"`
	Kinds      []notice.Kind `json:"kinds,omitempty" enum:"approval,alert,brief" uniqueItems:"true" doc:"the kinds of notices that go to it; without it, all that the caller may read. brief: at the time that put-notice-defaults sets, if something has changed"`
}

type slackChannelOutput struct {
	ETag string `header:"ETag"`
	Body SlackChannel
}

func showSlack(s notice.SlackSettings) SlackChannel {
	out := SlackChannel{Kinds: s.Kinds, Webhook: len(s.Webhook) > 0, Channel: s.Channel, Failure: s.Failure, UpdatedAt: s.UpdatedAt, UpdatedBy: s.UpdatedBy}
	if !s.FailedAt.IsZero() {
		out.FailedAt = &s.FailedAt
	}
	if a := s.App; a != nil {
		out.App = &SlackAppShown{a.Team, a.TeamName, a.InstalledAt, a.InstalledBy}
	}
	return out
}

// kindsFor lists the kinds that a channel takes if no one chooses. reads reports whether the person who sets it up reads the brief.
func kindsFor(reads bool) []notice.Kind {
	if reads {
		return []notice.Kind{notice.Approval, notice.Alert, notice.Brief}
	}
	return []notice.Kind{notice.Approval, notice.Alert}
}

func (d Deps) getSlackChannel(ctx context.Context, in *web.IfNoneMatch) (*web.Tagged[SlackChannel], error) {
	var s notice.SlackSettings
	version, err := loadChannel(ctx, notice.Slack, &s)
	if err != nil {
		return nil, err
	}
	return web.Respond(*in, web.ETag(channelRevision(version, s.UpdatedAt)), web.Ready(showSlack(s)))
}

type slackChannelInput struct {
	web.Creation
	Body SlackChannelRequest
}

func (d Deps) putSlackChannel(ctx context.Context, in *slackChannelInput) (*slackChannelOutput, error) {
	c := web.Tenant(ctx)
	var s notice.SlackSettings
	version, err := notice.LoadChannel(ctx, c, notice.Slack, &s)
	if err != nil {
		return nil, store.Fault(err, "")
	}
	if err := in.Check(channelRevision(version, s.UpdatedAt)); err != nil {
		return nil, err
	}
	if err := choose(ctx, in.Body, &s); err != nil {
		return nil, err
	}
	if err := d.direct(ctx, c, in.Body, &s); err != nil {
		return nil, err
	}
	s.UpdatedAt, s.UpdatedBy = d.Now().UTC().Truncate(time.Millisecond), web.CallerOf(ctx).UserID
	if err := saveChannel(ctx, in.Creation, notice.Slack, version, s); err != nil {
		return nil, err
	}
	return &slackChannelOutput{web.ETag(channelRevision(version+1, s.UpdatedAt)), showSlack(s)}, nil
}

// choose sets what goes to the channel. A person who does not read the brief neither adds it nor leads it elsewhere.
func choose(ctx context.Context, in SlackChannelRequest, s *notice.SlackSettings) error {
	stays := slices.Contains(s.Kinds, notice.Brief) && in.WebhookURL == "" && (in.Channel == "" || in.Channel == s.Channel)
	reads := web.CallerOf(ctx).Has(user.ScopeIntelligenceRead) || stays
	if !reads && slices.Contains(in.Kinds, notice.Brief) {
		return fault.RefuseAt("/kinds", "must leave out the brief, which your role does not read")
	}
	if s.Kinds = in.Kinds; s.Kinds == nil {
		s.Kinds = kindsFor(reads)
	}
	return nil
}

// direct sets where messages go: by the webhook or by the app.
func (d Deps) direct(ctx context.Context, c store.Company, in SlackChannelRequest, s *notice.SlackSettings) (err error) {
	switch {
	case in.WebhookURL != "" && in.Channel != "":
		return fault.RefuseAt("/channel", "must not stand next to webhookUrl; the app or the webhook posts")
	case in.Channel != "" && s.App == nil:
		return fault.RefuseAt("/channel", "needs the Slack app; install it first")
	case in.WebhookURL == "" && in.Channel == "" && !s.Posts() && s.App == nil:
		return fault.RefuseAt("/webhookUrl", "is needed, because the company has no Slack channel yet")
	case in.Channel != "":
		s.Webhook, s.Channel = nil, in.Channel
	case in.WebhookURL != "":
		if detail := d.Slack.CheckWebhook(in.WebhookURL); detail != "" {
			return fault.RefuseAt("/webhookUrl", detail)
		}
		if s.Webhook, err = d.Vault.Seal(ctx, c.ID(), notice.SlackLabel, []byte(in.WebhookURL)); err != nil {
			return err
		}
		s.Channel = ""
	default:
		return nil
	}
	s.FailedAt, s.Failure = time.Time{}, ""
	return nil
}

// deleteSlackChannel removes the channel, and then has Slack revoke the app's token. Slack's answer decides nothing: the token is no
// longer stored, and a person who manages the workspace can remove the app there.
func (d Deps) deleteSlackChannel(ctx context.Context, in *web.IfMatch) (*struct{}, error) {
	var s notice.SlackSettings
	version, err := loadChannel(ctx, notice.Slack, &s)
	if err == nil {
		err = deleteChannel(ctx, in, notice.Slack, version, s.UpdatedAt)
	}
	if err == nil && s.App != nil {
		d.revoke(ctx, web.Tenant(ctx).ID(), *s.App)
	}
	return nil, err
}

// revoke has Slack revoke the token of an app that is no longer used.
func (d Deps) revoke(ctx context.Context, companyID string, app notice.SlackApp) {
	token, err := d.Vault.Open(ctx, companyID, vault.LabelFor(notice.SlackTokenLabel, app.Team), app.Token)
	if err == nil {
		err = d.Slack.Revoke(ctx, string(token))
	}
	if err != nil {
		d.Logger.WarnContext(ctx, "token of a Slack app not revoked", "company", companyID, "team", app.Team, "error", err)
	}
}
