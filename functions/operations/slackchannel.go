package operations

import (
	"context"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/domain/notice"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

// SlackChannel shows the company's Slack channel.
type SlackChannel struct {
	Kinds     []notice.Kind `json:"kinds" nullable:"false" enum:"approval,alert" doc:"the kinds of notices that go to it"`
	FailedAt  *time.Time    `json:"failedAt,omitempty" doc:"when Slack refused a message for good; absent since it took one again. Meanwhile people who chose Slack alone get mails"`
	Failure   string        `json:"failure,omitempty" doc:"what Slack said then" example:"Slack refused it: 404 no_service"`
	UpdatedAt time.Time     `json:"updatedAt" doc:"when it was stored"`
	UpdatedBy string        `json:"updatedBy" doc:"the user who stored it"`
}

// SlackChannelRequest holds what goes to the company's Slack channel, and how.
type SlackChannelRequest struct {
	WebhookURL string        `json:"webhookUrl,omitempty" maxLength:"2048" format:"password" doc:"the address of an incoming webhook; write-only. Without it, the stored one stays" example:"https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX"`
	Kinds      []notice.Kind `json:"kinds,omitempty" enum:"approval,alert" uniqueItems:"true" doc:"the kinds of notices that go to it; without it, all"`
}

type slackChannelOutput struct {
	ETag string `header:"ETag"`
	Body SlackChannel
}

func showSlack(s notice.SlackSettings) SlackChannel {
	out := SlackChannel{Kinds: s.Kinds, Failure: s.Failure, UpdatedAt: s.UpdatedAt, UpdatedBy: s.UpdatedBy}
	if !s.FailedAt.IsZero() {
		out.FailedAt = &s.FailedAt
	}
	return out
}

func (d Deps) getSlackChannel(ctx context.Context, in *web.IfNoneMatch) (*web.Tagged[SlackChannel], error) {
	var s notice.SlackSettings
	version, err := loadChannel(ctx, notice.Slack, &s)
	if err != nil {
		return nil, err
	}
	return web.Respond(*in, preferencesTag(version), web.Ready(showSlack(s)))
}

type slackChannelInput struct {
	web.IfMatch
	Body SlackChannelRequest
}

func (d Deps) putSlackChannel(ctx context.Context, in *slackChannelInput) (*slackChannelOutput, error) {
	c := web.Tenant(ctx)
	var s notice.SlackSettings
	version, err := notice.LoadChannel(ctx, c, notice.Slack, &s)
	if err != nil {
		return nil, store.Fault(err, "")
	}
	s.Kinds = in.Body.Kinds
	if s.Kinds == nil {
		s.Kinds = []notice.Kind{notice.Approval, notice.Alert}
	}
	if in.Body.WebhookURL == "" && version == 0 {
		return nil, fault.Refuse([]fault.FieldError{{Pointer: "/webhookUrl", Detail: "is needed, because the company has no Slack channel yet"}})
	}
	if in.Body.WebhookURL != "" {
		if detail := d.Slack.CheckWebhook(in.Body.WebhookURL); detail != "" {
			return nil, fault.Refuse([]fault.FieldError{{Pointer: "/webhookUrl", Detail: detail}})
		}
		if s.Webhook, err = d.Vault.Seal(ctx, c.ID(), notice.SlackLabel, []byte(in.Body.WebhookURL)); err != nil {
			return nil, err
		}
		s.FailedAt, s.Failure = time.Time{}, ""
	}
	s.UpdatedAt, s.UpdatedBy = d.Now().UTC().Truncate(time.Millisecond), web.CallerOf(ctx).UserID
	tag, err := saveChannel(ctx, in.IfMatch, notice.Slack, version, s)
	return &slackChannelOutput{tag, showSlack(s)}, err
}
