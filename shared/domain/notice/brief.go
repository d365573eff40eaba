package notice

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"orgops/shared/base/id"
	"orgops/shared/base/wait"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
)

// BriefTimes says when a person's brief comes.
type BriefTimes struct {
	At        string   `json:"at" pattern:"^([01][0-9]|2[0-3]):[0-5][0-9]$" patternDescription:"a time of day, as 07:30" doc:"the time of day, in the person's time zone" example:"07:30"`
	Days      []string `json:"days" nullable:"false" enum:"monday,tuesday,wednesday,thursday,friday,saturday,sunday" minItems:"1" uniqueItems:"true" doc:"the days on which it comes: one for a weekly brief" example:"[\"monday\"]"`
	WhenEmpty string   `json:"whenEmpty,omitempty" enum:"skip,send" doc:"whether it comes when nothing has changed since the one before; absent: skip"`
}

// Send is the WhenEmpty of a brief that always comes.
const Send = "send"

// on reports whether a brief comes on the day of a local time.
func (s BriefTimes) on(day time.Time) bool {
	return slices.Contains(s.Days, strings.ToLower(day.Weekday().String()))
}

// Next returns when the first brief after a time is due. Each day has one time, also a day on which the clocks change.
func (s BriefTimes) Next(after time.Time, zone *time.Location) time.Time {
	local := after.In(zone)
	for n := range 9 {
		if due := s.onDay(local, n, zone); s.on(due) && due.After(after) {
			return due.UTC()
		}
	}
	return time.Time{} // without days; the schema refuses it
}

// Before returns when the last brief before a time was due.
func (s BriefTimes) Before(at time.Time, zone *time.Location) time.Time {
	local := at.In(zone)
	for n := range 9 {
		if due := s.onDay(local, -n, zone); s.on(due) && due.Before(at) {
			return due.UTC()
		}
	}
	return at.AddDate(0, 0, -1).UTC()
}

// onDay returns the brief's time on the day that is some days after that of a local time.
func (s BriefTimes) onDay(local time.Time, days int, zone *time.Location) time.Time {
	return at(time.Date(local.Year(), local.Month(), local.Day()+days, 12, 0, 0, 0, zone), s.At, zone)
}

// Reads reports whether a role may read the brief.
func Reads(r user.Role) bool { return slices.Contains(r.Scopes(), user.ScopeIntelligenceRead) }

// BriefTimer names the kind of the timer of a person's next brief. Its subject is the user's id with the version of the preferences, so a
// timer of former preferences has no effect. A person without a brief has no timer.
const BriefTimer = "notice-brief"

// planned ends the subject of a timer that brings no brief, and sets the timer of the next one. A function without the time zones sets it.
const planned = "@planned"

// timer returns the op that sets the timer of the next brief after a time, of preferences at a version.
func (p Preferences) timer(c store.Company, userID string, version int64, after time.Time) []store.Op {
	if p.Brief == nil || userID != Everyone && !p.Wants(Brief, Mail) { // the company's brief also goes to Slack
		return nil
	}
	return []store.Op{c.Timer(p.Brief.Next(after, p.Zone()), BriefTimer, briefTimer(userID, version))}
}

func briefTimer(userID string, version int64) string {
	return userID + "@" + strconv.FormatInt(version, 10)
}

// Briefed returns the writes of a timer of a brief: the notice, which is filled when it is sent, and the next timer.
func Briefed(ctx context.Context, c store.Company, t store.Timer, now time.Time) ([]store.Op, error) {
	if of, ok := strings.CutPrefix(t.Subject, Everyone+"@"); ok {
		return briefedEveryone(ctx, c, t.At, of, now)
	}
	subject, plans := strings.CutSuffix(t.Subject, planned)
	userID, of, _ := strings.Cut(subject, "@")
	p, err := LoadChosen(ctx, c, userID)
	if err != nil || p.Follows || strconv.FormatInt(p.Version, 10) != of {
		return nil, err
	}
	var u user.User
	_, err = c.Get(ctx, user.Key(userID), &u)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil // the person has left
	}
	if err != nil {
		return nil, err
	}
	next := p.timer(c, userID, p.Version, wait.Later(now, t.At))
	if plans || !u.Active() || !Reads(u.Role) { // such a person may be let in again
		return next, nil
	}
	ops, err := briefFor(c.ID(), userID, t.At).CreateOnce(ctx, c)
	return append(next, ops...), err
}

// CreateOnce returns the writes of a notice that is not stored yet.
func (n Stored) CreateOnce(ctx context.Context, c store.Company) ([]store.Op, error) {
	_, err := c.Get(ctx, Key(n.ID), nil)
	if errors.Is(err, store.ErrNotFound) {
		return n.Create(c), nil
	}
	return nil, err
}

// atOnce limits the people whose briefs one timer of the company's defaults brings. Another one brings the next.
const atOnce = 25

// briefedEveryone is Briefed for a timer of the company's defaults: it brings the brief to the Slack channel, and to people who have chosen
// nothing. of is the version of the defaults, with the user after whom the timer goes on.
func briefedEveryone(ctx context.Context, c store.Company, due time.Time, of string, now time.Time) (ops []store.Op, err error) {
	of, after, goesOn := strings.Cut(of, "@")
	p, version, err := LoadPreferences(ctx, c, Everyone)
	if err != nil || !goesOn && strconv.FormatInt(version, 10) != of { // new defaults do not end a brief that has begun
		return nil, err
	}
	if !goesOn {
		if ops, err = briefedSlack(ctx, c, due); err != nil {
			return nil, err
		}
		ops = append(ops, p.timer(c, Everyone, version, wait.Later(now, due))...)
	}
	if !p.Wants(Brief, Mail) {
		return ops, nil
	}
	page, err := c.Query(ctx, store.Query{Prefix: user.Prefix, After: after, Limit: atOnce})
	if err != nil {
		return nil, err
	}
	for _, item := range page.Items {
		more, err := briefedFollower(ctx, c, item, due)
		if err != nil {
			return nil, err
		}
		ops = append(ops, more...)
	}
	if page.Next != "" {
		ops = append(ops, c.Timer(due, BriefTimer, briefTimer(Everyone, version)+"@"+page.Next))
	}
	return ops, nil
}

// briefedFollower returns the writes of the brief of a user who follows the company's defaults.
func briefedFollower(ctx context.Context, c store.Company, item store.Item, due time.Time) ([]store.Op, error) {
	var u user.User
	if err := item.Decode(&u); err != nil || !u.Active() || !Reads(u.Role) {
		return nil, err
	}
	p, err := LoadChosen(ctx, c, u.ID)
	if err != nil || !p.Follows || !p.Wants(Brief, Mail) {
		return nil, err
	}
	n := briefFor(c.ID(), u.ID, due)
	n.Why = "Your company's brief comes at this hour."
	return n.CreateOnce(ctx, c)
}

// briefedSlack returns the writes of the brief of the company's Slack channel.
func briefedSlack(ctx context.Context, c store.Company, due time.Time) ([]store.Op, error) {
	var to SlackSettings
	if _, err := LoadChannel(ctx, c, Slack, &to); err != nil || !to.Takes(Brief) {
		return nil, err
	}
	n := briefFor(c.ID(), SlackBox, due)
	n.UserID, n.Channel, n.Why = "", Slack, inSlack
	return n.CreateOnce(ctx, c)
}

// briefSubject is the subject of a brief until it is filled.
const briefSubject = "Your brief"

// briefFor returns the notice of the brief that is due to a person at a time.
func briefFor(companyID, userID string, due time.Time) Stored {
	due = due.UTC()
	return Stored{Notice: Notice{
		ID: id.At(due, companyID, userID, string(Brief)), Kind: Brief, Name: string(Brief), UserID: userID, Channel: Mail, About: "brief:" + userID,
		Subject: briefSubject, Why: "You chose to get the brief at this hour.", State: Waiting, CreatedAt: due, DueAt: due,
	}}
}

// Fill adds what a brief says.
func (n *Stored) Fill(headline string, sections []Section) {
	n.Subject = Sentence(headline)
	n.Content = Content{Sections: sections, Link: &Link{Label: "Sign in and look", Path: "/console/#/"}}
}
