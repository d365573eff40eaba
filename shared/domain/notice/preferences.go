package notice

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/base/wait"
	"orgops/shared/storage/store"
)

// PreferencesEntity and PreferencesPrefix name the entity of a person's preferences and the prefix of their key.
const (
	PreferencesEntity = "notice-preferences"
	PreferencesPrefix = "NOTICEPREFS#"
)

// Preferences say what one person is told, and when.
type Preferences struct {
	TimeZone string      `json:"timeZone" maxLength:"64" doc:"the person's IANA time zone; times of day are in it" example:"Europe/Berlin"`
	Quiet    *Quiet      `json:"quiet,omitempty" doc:"when no mail comes; it comes at their end. Those about the person's own access, about an erasure, and about an approval of which half the time is over come at any time"`
	Brief    *BriefTimes `json:"brief,omitempty" doc:"when the brief comes, for who may read it; absent: it does not come"`
	Channels Channels    `json:"channels" doc:"by which channels each kind of notice comes"`
}

// Quiet bounds the quiet hours of a day. They may go over midnight.
type Quiet struct {
	From string `json:"from" pattern:"^([01][0-9]|2[0-3]):[0-5][0-9]$" patternDescription:"a time of day, as 22:00" doc:"when they begin" example:"22:00"`
	To   string `json:"to" pattern:"^([01][0-9]|2[0-3]):[0-5][0-9]$" patternDescription:"a time of day, as 07:00" doc:"when they end" example:"07:00"`
}

// Channels lists the channels of each kind.
type Channels struct {
	Security []Channel `json:"security" nullable:"false" enum:"mail" minItems:"1" uniqueItems:"true" doc:"about the person's own access; always by mail"`
	Approval []Channel `json:"approval" nullable:"false" enum:"mail,slack" minItems:"1" uniqueItems:"true" doc:"approvals that the person may decide; at least one channel. slack: the person reads them in the company's Slack channel, and gets mails only while it does not work"`
	Alert    []Channel `json:"alert" nullable:"false" enum:"mail,slack" uniqueItems:"true" doc:"what does not work; none: no notices. slack: as for approvals"`
	Brief    []Channel `json:"brief,omitzero" enum:"mail" uniqueItems:"true" doc:"the brief; absent: by mail, if brief says when"`
}

// Defaults returns the preferences of a person who has chosen none.
func Defaults() Preferences {
	mail := []Channel{Mail}
	return Preferences{
		TimeZone: "UTC", Channels: Channels{Security: mail, Approval: mail, Alert: mail},
	}
}

// Everyone stands for a person's id in the company's defaults: the preferences of people who have chosen nothing. The company's Slack
// channel has the brief at their time, and their quiet hours.
const Everyone = ""

// PreferencesKey returns the sort key of a person's preferences.
func PreferencesKey(userID string) string { return PreferencesPrefix + userID }

// Check returns what is wrong about preferences. The schema has checked the rest.
func (p Preferences) Check() error {
	var problems []fault.FieldError
	if p.TimeZone == "" || p.TimeZone == "Local" || p.zone() == nil {
		problems = append(problems, fault.FieldError{Pointer: "/timeZone", Detail: "must be an IANA time zone, such as Europe/Berlin or UTC"})
	}
	if p.Quiet != nil && p.Quiet.From == p.Quiet.To {
		problems = append(problems, fault.FieldError{Pointer: "/quiet/to", Detail: "must differ from from; leave quiet out for no quiet hours"})
	}
	return fault.Refuse(problems)
}

func (p Preferences) zone() *time.Location {
	zone, err := time.LoadLocation(p.TimeZone)
	if err != nil {
		return nil
	}
	return zone
}

// Zone returns the person's time zone, UTC if it is not known.
func (p Preferences) Zone() *time.Location {
	if zone := p.zone(); zone != nil {
		return zone
	}
	return time.UTC
}

// Wants reports whether a kind of notice comes by a channel.
func (p Preferences) Wants(k Kind, c Channel) bool {
	return slices.Contains(map[Kind][]Channel{
		Security: {Mail}, Approval: p.Channels.Approval, Alert: p.Channels.Alert, Brief: p.briefBy(),
	}[k], c)
}

// briefBy lists the channels of the brief.
func (p Preferences) briefBy() []Channel {
	switch {
	case p.Brief == nil:
		return nil
	case p.Channels.Brief == nil:
		return []Channel{Mail}
	}
	return p.Channels.Brief
}

// Mailed reports whether a kind of notice comes by mail: if the person chose mails, or Slack alone and the company's channel does not
// take the kind.
func (p Preferences) Mailed(k Kind, posted bool) bool {
	return p.Wants(k, Mail) || !posted && p.Wants(k, Slack)
}

// Due returns when a notice of a kind may go: at once, or at the end of the quiet hours.
func (p Preferences) Due(k Kind, now time.Time) time.Time {
	if k == Security || k == Brief || p.Quiet == nil { // the brief has an hour of its own
		return now
	}
	zone := p.Zone()
	local := now.In(zone)
	clock := local.Format("15:04")
	from, to := p.Quiet.From, p.Quiet.To
	overnight := from > to
	if !overnight && (clock < from || clock >= to) || overnight && clock < from && clock >= to {
		return now
	}
	end := at(local, to, zone)
	if overnight && clock >= from {
		end = at(local.AddDate(0, 0, 1), to, zone)
	}
	return wait.Later(now, end) // the clocks go back over the end: it has been
}

// at returns a time of day on the day of a local time. A time that the day leaves out, because the clocks go forward, is an hour later.
func at(day time.Time, clock string, zone *time.Location) time.Time {
	t, err := time.Parse("15:04", clock)
	if err != nil { // the schema refuses it
		return day
	}
	return time.Date(day.Year(), day.Month(), day.Day(), t.Hour(), t.Minute(), 0, 0, zone)
}

// Chosen holds what a person wants to be told, with what of it is the person's own.
type Chosen struct {
	Preferences

	Version int64 // of what is stored; 0: nothing
	Follows bool  // the preferences are the company's defaults, or the service's, without the kinds that one click has ended
	ended   []Kind
}

// follower is stored in place of preferences for a person who has chosen nothing, or no longer anything. It stays stored, because the timer
// of a brief names the version of the preferences: a version that came again would make an old timer count.
type follower struct {
	Ended []Kind `json:"ended"` // the kinds that one click has ended; never null
}

// LoadChosen returns what a person wants to be told.
func LoadChosen(ctx context.Context, c store.Company, userID string) (Chosen, error) {
	own := struct {
		Preferences
		follower
	}{Preferences: Defaults()}
	item, err := c.Get(ctx, PreferencesKey(userID), &own)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return Chosen{}, err
	}
	p := Chosen{Preferences: own.Preferences, Version: item.Version, Follows: err != nil || own.Ended != nil, ended: own.Ended}
	if !p.Follows || userID == Everyone {
		return p, nil
	}
	shared, err := LoadChosen(ctx, c, Everyone)
	p.Preferences = shared.Preferences
	for _, k := range p.ended {
		p.end(k)
	}
	return p, err
}

// end ends the notices of a kind that one click may end.
func (p *Preferences) end(k Kind) {
	if k == Alert {
		p.Channels.Alert = []Channel{}
	} else {
		p.Channels.Brief = []Channel{}
	}
}

// Follow returns the write that has a person follow the company's defaults, but for some kinds that one click has ended.
func (p Chosen) Follow(c store.Company, userID string, ended ...Kind) store.Op {
	return c.Save(PreferencesKey(userID), PreferencesEntity, p.Version, follower{append([]Kind{}, ended...)}).Quietly()
}

// Plain reports whether a person follows the company's defaults in everything.
func (p Chosen) Plain() bool { return p.Follows && len(p.ended) == 0 }

// LoadPreferences is LoadChosen for a caller that need not know whose choice it is.
func LoadPreferences(ctx context.Context, c store.Company, userID string) (p Preferences, version int64, err error) {
	chosen, err := LoadChosen(ctx, c, userID)
	return chosen.Preferences, chosen.Version, err
}

// Save returns the write of a person's preferences.
func (p Preferences) Save(c store.Company, userID string, version int64) store.Op {
	return c.Save(PreferencesKey(userID), PreferencesEntity, version, p).Quietly()
}

// Restored returns the timer of the next brief of what a person chose in another deployment, as it was stored there.
func Restored(c store.Company, body []byte, userID string, now time.Time) ([]store.Op, error) {
	var p Preferences // of a person who follows the company's defaults: without a brief
	err := json.Unmarshal(body, &p)
	return p.timer(c, userID, 1, now), err
}

// Store returns the writes of a person's preferences, with the timer of the next brief.
func (p Preferences) Store(c store.Company, userID string, version int64, now time.Time) []store.Op {
	return append([]store.Op{p.Save(c, userID, version)}, p.timer(c, userID, version+1, now)...)
}
