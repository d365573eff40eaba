package notice

import (
	"slices"
	"strings"
	"time"

	"orgops/shared/base/id"
	"orgops/shared/domain/approval"
	"orgops/shared/domain/user"
)

// Matter is something that people of a company are told.
type Matter struct {
	Kind    Kind        `json:"kind"`
	Name    string      `json:"name"`
	About   string      `json:"about"`
	Level   int         `json:"level,omitempty"` // a higher one of the same name is told again on the same day
	Turn    Turn        `json:"turn,omitempty"`  // "": the matter does not turn
	Subject string      `json:"subject"`
	Why     string      `json:"why"`
	To      []user.Role `json:"to"`
	Except  string      `json:"except,omitempty"` // the id of a user who is not told
	Only    string      `json:"only,omitempty"`   // the id of the one user who is told, not in Slack; "": all
	Always  bool        `json:"always,omitempty"` // no preference and no quiet hour keeps it back
	Asked   time.Time   `json:"asked,omitzero"`   // only those are told who may decide on what was asked for at this time
	At      time.Time   `json:"at"`
	Until   time.Time   `json:"until,omitzero"` // it is of no use later
	Content Content     `json:"content"`
}

// Turn says that a matter has begun or ended. People are told each time that it stands otherwise than they were told.
type Turn string

// The turns.
const (
	Begins Turn = "begins"
	Ends   Turn = "ends"
)

// Asks reports whether the matter is an approval that waits, before any reminder.
func (m Matter) Asks() bool { return !m.Asked.IsZero() && m.Level == 0 }

// AsksErasure reports whether the matter asks others for the erasure of the company, which its asker is told too.
func (m Matter) AsksErasure() bool { return m.Asks() && m.Name == erasureAsked }

// Approval returns the id of the approval that the matter is about, "" if it is about something else.
func (m Matter) Approval() string {
	id, _ := strings.CutPrefix(m.About, approval.Entity+":")
	return id
}

// of returns the matter of one incarnation of its integration. Of the next one of the name, people are told again.
func (m Matter) of(incarnation string) Matter {
	if incarnation != "" {
		m.About += "@" + incarnation
	}
	return m
}

// key names the matter in a box.
func (m Matter) key() string {
	if m.Turn != "" {
		return m.About
	}
	return m.About + " " + m.Name
}

// Concerns reports whether a user is told.
func (m Matter) Concerns(u user.User) bool {
	if u.State != user.Active || !slices.Contains(m.To, u.Role) || u.ID == m.Except || m.Only != "" && u.ID != m.Only {
		return false
	}
	return m.Asked.IsZero() || u.Decides(m.Asked)
}

// Notice returns the notice of a matter for one person. Its id follows from the matter and the person, so a repeat makes no second one.
func (m Matter) Notice(company, userID string, due time.Time) Stored {
	n := m.stored(Mail, due, company, userID, m.Name, m.About)
	n.UserID, n.Why = userID, m.Why
	return n
}

const inSlack = "The company's Slack channel gets notices of this kind."

// Post returns the notice of a matter for the company's Slack channel.
func (m Matter) Post(company string, due time.Time) Stored {
	n := m.stored(Slack, due, company, SlackBox, m.Name, m.About)
	n.Why = inSlack
	return n
}

func (m Matter) stored(c Channel, due time.Time, parts ...string) Stored {
	at := m.At.UTC()
	return Stored{Until: m.Until, Always: m.Always, Turns: m.Turn != "", Content: m.Content, Notice: Notice{
		ID: id.At(at, parts...), Kind: m.Kind, Name: m.Name, Channel: c, About: m.About, Subject: m.Subject,
		State: Waiting, CreatedAt: at.Truncate(time.Millisecond), DueAt: due.UTC(),
	}}
}
