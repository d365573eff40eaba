package operations

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"orgops/shared/base/fault"
	"orgops/shared/domain/notice"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
	"orgops/shared/web"
)

func (d Deps) registerChannels(api huma.API) {
	const mails, slacks, test = "/channels/mail", "/channels/slack", "/channels/{channel}/test"
	write := user.ScopeOperationsWrite
	web.Register(api, operation(http.MethodGet, mails, "get-mail-channel", "Get how the company's mails appear",
		"404 if the company has chosen nothing: then the mails have its name, and no answer reaches it.", http.StatusOK, write), d.getMailChannel)
	web.Register(api, operation(http.MethodPut, mails, "put-mail-channel", "Choose how the company's mails appear",
		"Mails come from the service's address, because the mail host vouches for it alone.", http.StatusOK, write), d.putMailChannel)
	web.Register(api, operation(http.MethodDelete, mails, "delete-mail-channel", "Give the company's mails their usual form",
		"Mails still go out, with the company's name.", http.StatusNoContent, write), d.deleteMailChannel)
	web.Register(api, operation(http.MethodGet, slacks, "get-slack-channel", "Get the company's Slack channel",
		"What goes to it, and whether Slack took the last message. The address is never shown.", http.StatusOK, write), d.getSlackChannel)
	web.Register(api, operation(http.MethodPut, slacks, "put-slack-channel", "Configure the company's Slack channel",
		"By the address of an incoming webhook, which posts to one channel of a workspace. The address is write-only; without it, the stored one stays.",
		http.StatusOK, write), d.putSlackChannel)
	web.Register(api, operation(http.MethodDelete, slacks, "delete-slack-channel", "Remove the company's Slack channel",
		"Destroys the address and the token of the app, which Slack is asked to revoke: the app can no longer post. What waits for the channel is not sent.",
		http.StatusNoContent, write), d.deleteSlackChannel)
	web.Register(api, web.Personal(operation(http.MethodPost, test, "test-channel", "Send a test message",
		"Sends one message now and answers what came of it: a mail to the caller's own address, or a message to the Slack channel. "+
			"At most ten an hour for each channel.", http.StatusOK, write)), d.testChannel)
}

// MailChannel shows how the company's mails appear.
type MailChannel struct {
	MailChannelRequest
	UpdatedAt time.Time `json:"updatedAt" doc:"when it was stored"`
	UpdatedBy string    `json:"updatedBy" doc:"the user who stored it"`
}

// MailChannelRequest holds how the company's mails appear.
type MailChannelRequest struct {
	Name    string `json:"name,omitempty" maxLength:"100" doc:"the name that mails come from; without it, the company's" example:"Acme operations"`
	ReplyTo string `json:"replyTo,omitempty" maxLength:"254" doc:"the address that answers go to; without it, none" example:"ops@acme.example"`
}

type mailChannelOutput struct {
	ETag string `header:"ETag"`
	Body MailChannel
}

func showMail(s notice.MailSettings) MailChannel {
	return MailChannel{MailChannelRequest{s.Name, s.ReplyTo}, s.UpdatedAt, s.UpdatedBy}
}

func (d Deps) getMailChannel(ctx context.Context, in *web.IfNoneMatch) (*web.Tagged[MailChannel], error) {
	var s notice.MailSettings
	version, err := loadChannel(ctx, notice.Mail, &s)
	if err != nil {
		return nil, err
	}
	return web.Respond(*in, web.ETag(channelRevision(version, s.UpdatedAt)), web.Ready(showMail(s)))
}

// loadChannel reads the settings of a channel that the company has configured.
func loadChannel(ctx context.Context, ch notice.Channel, into any) (int64, error) {
	version, err := notice.LoadChannel(ctx, web.Tenant(ctx), ch, into)
	if err == nil && version == 0 {
		err = fault.New(fault.NotFound, "the company has not configured this channel")
	}
	return version, store.Fault(err, "")
}

type mailChannelInput struct {
	web.Creation
	Body MailChannelRequest
}

func (d Deps) putMailChannel(ctx context.Context, in *mailChannelInput) (*mailChannelOutput, error) {
	if in.Body.ReplyTo != "" {
		if err := fault.Refuse(user.CheckEmail(in.Body.ReplyTo, "/replyTo")); err != nil {
			return nil, err
		}
	}
	if in.Body.Name != notice.Plain(in.Body.Name) {
		return nil, fault.Refuse([]fault.FieldError{{Pointer: "/name", Detail: "must be one line without invisible characters and addresses"}})
	}
	var was notice.MailSettings
	version, err := notice.LoadChannel(ctx, web.Tenant(ctx), notice.Mail, &was)
	if err != nil {
		return nil, store.Fault(err, "")
	}
	if err := in.Check(channelRevision(version, was.UpdatedAt)); err != nil {
		return nil, err
	}
	s := notice.MailSettings{Name: in.Body.Name, ReplyTo: in.Body.ReplyTo, UpdatedAt: d.Now().UTC().Truncate(time.Millisecond), UpdatedBy: web.CallerOf(ctx).UserID}
	if err := saveChannel(ctx, in.Creation, notice.Mail, version, s); err != nil {
		return nil, err
	}
	return &mailChannelOutput{web.ETag(channelRevision(version+1, s.UpdatedAt)), showMail(s)}, nil
}

// saveChannel stores the settings of a channel.
func saveChannel(ctx context.Context, in web.Creation, ch notice.Channel, version int64, settings any) error {
	c := web.Tenant(ctx)
	return store.Fault(in.Overtaken(c.Commit(ctx, notice.SaveChannel(c, ch, version, settings))), "")
}

// channelRevision identifies one version of the settings of a channel; "" without settings. It includes the time of their last change,
// because settings that are stored after a deletion count their versions from 1 again.
func channelRevision(version int64, at time.Time) string {
	if version == 0 {
		return ""
	}
	return fmt.Sprintf("%d-%x", version, at.UnixMilli())
}

func (d Deps) deleteMailChannel(ctx context.Context, in *web.IfMatch) (*struct{}, error) {
	var s notice.MailSettings
	version, err := loadChannel(ctx, notice.Mail, &s)
	if err != nil {
		return nil, err
	}
	return nil, deleteChannel(ctx, in, notice.Mail, version, s.UpdatedAt)
}

// deleteChannel removes the settings of a channel, of a version that was stored at a time.
func deleteChannel(ctx context.Context, in *web.IfMatch, ch notice.Channel, version int64, at time.Time) error {
	if err := in.Check(channelRevision(version, at)); err != nil {
		return err
	}
	c := web.Tenant(ctx)
	return store.Fault(in.Overtaken(c.Commit(ctx, c.Delete(notice.ChannelKey(ch), notice.ChannelEntity, version).Quietly())), "")
}
