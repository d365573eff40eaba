package notice

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"orgops/shared/storage/store"
)

// ChannelEntity and channelPrefix name the entity of the settings of a company's channel and the prefix of their key.
const (
	ChannelEntity = "notice-channel"
	channelPrefix = "NOTICECHANNEL#"
)

// SlackBox names the box of the company's Slack channel, as a user's id names that of a person.
const SlackBox = "slack"

// SlackLabel is the label under which the vault seals the address of the company's incoming webhook.
const SlackLabel = "notice/slack"

// TestsPerHour limits the test messages of a company's channel in an hour.
const TestsPerHour = PerHour

// ChannelKey returns the sort key of the settings of a channel.
func ChannelKey(c Channel) string { return channelPrefix + string(c) }

// TestBox names the box that counts the test messages of a channel.
func TestBox(c Channel) string { return "test-" + string(c) }

// MailSettings say how the company's mails appear. The address that they come from is the service's.
type MailSettings struct {
	Name      string    `json:"name,omitempty"`    // "": the company's name
	ReplyTo   string    `json:"replyTo,omitempty"` // "": answers reach no one
	UpdatedAt time.Time `json:"updatedAt"`
	UpdatedBy string    `json:"updatedBy"`
}

// Sender returns the name that a company's mails come from.
func (s MailSettings) Sender(company string) string {
	return Plain(cmp.Or(s.Name, company))
}

// SlackSettings say what goes to the company's Slack channel, and how.
type SlackSettings struct {
	Kinds     []Kind    `json:"kinds"`
	Webhook   []byte    `json:"webhook,omitempty"` // the address of the incoming webhook, sealed under SlackLabel
	App       *SlackApp `json:"app,omitempty"`
	Channel   string    `json:"channel,omitempty"` // the id of the channel to which the app posts; "": the webhook posts
	UpdatedAt time.Time `json:"updatedAt"`
	UpdatedBy string    `json:"updatedBy"`
	FailedAt  time.Time `json:"failedAt,omitzero"` // when Slack last refused a message for good; zero: the last one was taken
	Failure   string    `json:"failure,omitempty"` // what it said
}

// Takes reports whether a notice of a kind goes to the channel.
func (s SlackSettings) Takes(k Kind) bool { return s.Posts() && slices.Contains(s.Kinds, k) }

// Posts reports whether there is a channel to post to.
func (s SlackSettings) Posts() bool { return len(s.Webhook) > 0 || s.ByApp() }

// ByApp reports whether the app posts, and not a webhook.
func (s SlackSettings) ByApp() bool { return s.App != nil && s.Channel != "" }

// LoadChannel reads the settings of a channel into one of the types above. The version is 0 if the company has none.
func LoadChannel(ctx context.Context, c store.Company, ch Channel, into any) (version int64, err error) {
	item, err := c.Get(ctx, ChannelKey(ch), into)
	if errors.Is(err, store.ErrNotFound) {
		return 0, nil
	}
	return item.Version, err
}

// SaveChannel returns the write of the settings of a channel.
func SaveChannel(c store.Company, ch Channel, version int64, settings any) store.Op {
	return c.Save(ChannelKey(ch), ChannelEntity, version, settings).Quietly()
}
