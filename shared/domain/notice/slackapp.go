package notice

import (
	"context"
	"errors"
	"slices"
	"time"

	"orgops/shared/base/id"
	"orgops/shared/domain/roundtrip"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
)

// SlackTokenLabel is the label under which the vault seals the token of the Slack app, for its workspace.
const SlackTokenLabel = "notice/slackToken"

// SlackApp holds the installation of the operator's Slack app in a workspace.
type SlackApp struct {
	ID          string    `json:"id"` // of the app
	Team        string    `json:"team"`
	TeamName    string    `json:"teamName"`
	Token       []byte    `json:"token"` // sealed under SlackTokenLabel, for the workspace
	InstalledAt time.Time `json:"installedAt"`
	InstalledBy string    `json:"installedBy"`
}

// SlackInstalls is the kind of the round trips that install the app.
var SlackInstalls = roundtrip.Kind{Entity: "slack-install", Prefix: "SLACKINSTALL#"} //nolint:gochecknoglobals // never changed

// SlackInstall holds an installation under way.
type SlackInstall struct {
	roundtrip.Bound

	user.Session // that began it
}

// SlackUser names a user of a Slack workspace.
type SlackUser struct {
	Team string `json:"team"`
	ID   string `json:"id"`
	Name string `json:"name"` // as Slack sent it
}

// SlackLink leads from a user of Slack to the user of the company who acts there.
type SlackLink struct {
	SlackUser

	UserID     string    `json:"userId"`
	At         time.Time `json:"at"`
	Generation int64     `json:"generation,omitempty"` // of the session that made it; the link ends when that ends
	Strong     bool      `json:"strong,omitempty"`     // the session that made it had proved a second factor, or the company's identity provider had proved the person
}

// The entities of links, of the codes that make one, of the presses of buttons, and of the copies of approvals; and the prefixes of
// their keys.
const (
	SlackLinkEntity   = "slack-link"
	slackLinkPrefix   = "SLACKLINK#"
	SlackCodeEntity   = "slack-code"
	slackCodePrefix   = "SLACKCODE#"
	SlackPressEntity  = "slack-press"
	slackPressPrefix  = "SLACKPRESS#"
	SlackCopiesEntity = "slack-copies"
	slackCopiesPrefix = "SLACKCOPIES#"
)

// LoadSlackLink returns the link of a user of Slack, or version 0 without one.
func LoadSlackLink(ctx context.Context, c store.Company, u SlackUser) (SlackLink, int64, error) {
	var l SlackLink
	item, err := c.Get(ctx, slackLinkKey(u), &l)
	if errors.Is(err, store.ErrNotFound) {
		return SlackLink{}, 0, nil
	}
	return l, item.Version, err
}

func slackLinkKey(u SlackUser) string { return slackLinkPrefix + u.Team + "#" + u.ID }

// Save returns the write of a link.
func (l SlackLink) Save(c store.Company, version int64) store.Op {
	return c.Save(slackLinkKey(l.SlackUser), SlackLinkEntity, version, l).Quietly()
}

// Unlink returns the writes that remove the links to a user of the company.
func Unlink(ctx context.Context, c store.Company, userID string) (ops []store.Op, err error) {
	for item, err := range c.Items(ctx, store.Query{Prefix: slackLinkPrefix}) {
		if err != nil {
			return nil, err
		}
		var l SlackLink
		if err := item.Decode(&l); err != nil {
			return nil, err
		}
		if l.UserID == userID && len(ops) < store.MaxOps-1 {
			ops = append(ops, c.Delete(item.Key, SlackLinkEntity, item.Version).Quietly())
		}
	}
	return ops, nil
}

// SlackCodeLifetime is how long a code that links a user of Slack can be used.
const SlackCodeLifetime = 10 * time.Minute

// SlackCode holds the user of Slack whom a code links. The code went to that user alone.
type SlackCode struct {
	SlackUser

	Workspace string    `json:"workspace"`
	Until     time.Time `json:"until"`
}

// NewSlackCode returns the write that stores a code, and its text.
func NewSlackCode(c store.Company, code SlackCode) (text string, op store.Op) {
	secret := roundtrip.Secret()
	return secret, c.Create(slackCodePrefix+roundtrip.Hash(secret), SlackCodeEntity, code).Quietly().Until(code.Until)
}

// FindSlackCode returns what a code stands for, and the write that uses it up. ok is false for a code that is unknown, was used or has
// expired.
func FindSlackCode(ctx context.Context, c store.Company, text string, now time.Time) (code SlackCode, use store.Op, ok bool, err error) {
	if !id.Valid(text) {
		return code, use, false, nil
	}
	item, err := c.Get(ctx, slackCodePrefix+roundtrip.Hash(text), &code)
	if errors.Is(err, store.ErrNotFound) || err == nil && !now.Before(code.Until) {
		return code, use, false, nil
	}
	return code, c.Delete(item.Key, SlackCodeEntity, item.Version).Quietly(), err == nil, err
}

// Pressed returns the write that fails if a request of Slack was received before. A copy of a request has its signature.
func Pressed(c store.Company, signature string, until time.Time) store.Op {
	return c.Create(slackPressPrefix+roundtrip.Hash(signature), SlackPressEntity, struct{}{}).Quietly().Until(until)
}

// SlackCopies lists the messages that ask for an approval.
type SlackCopies struct {
	Team   string      `json:"team"`
	Copies []SlackCopy `json:"copies"`
}

// SlackCopy names one message. Locked says that it shows how the approval ended.
type SlackCopy struct {
	Channel string `json:"channel"`
	TS      string `json:"ts"`
	Locked  bool   `json:"locked,omitempty"`
}

// LoadSlackCopies returns the messages that ask for an approval, or version 0 without any.
func LoadSlackCopies(ctx context.Context, c store.Company, approvalID string) (SlackCopies, int64, error) {
	var all SlackCopies
	item, err := c.Get(ctx, slackCopiesPrefix+approvalID, &all)
	if errors.Is(err, store.ErrNotFound) {
		return SlackCopies{}, 0, nil
	}
	return all, item.Version, err
}

// Open reports whether a message does not show yet how the approval ended.
func (all SlackCopies) Open() bool {
	return slices.ContainsFunc(all.Copies, func(c SlackCopy) bool { return !c.Locked })
}

// Save returns the write of the messages. They are kept while a decision may come and its job is tried.
func (all SlackCopies) Save(c store.Company, approvalID string, version int64, now time.Time) store.Op {
	return c.Save(slackCopiesPrefix+approvalID, SlackCopiesEntity, version, all).Quietly().Until(now.Add(7 * 24 * time.Hour))
}
