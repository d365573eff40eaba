package notice

import (
	"fmt"
	"time"

	"orgops/shared/domain/approval"
	"orgops/shared/domain/erasure"
	"orgops/shared/domain/user"
)

// Reminders lists after what times an approval that still waits is told again: after a quarter of its time, at the half, and before its
// end. From the half on every founder is told, also a founder who wants no mail about approvals.
func Reminders() []time.Duration {
	return []time.Duration{approval.Waits / 4, approval.Waits / half, approval.Waits - approval.Warns}
}

// half is the step of the reminder at the half-life, and its share of the time.
const half = 2

// Asked returns the matter of an approval that waits: the request for step 0, or a reminder.
func Asked(a approval.Approval, step int) Matter {
	title, action := Plain(a.Title), a.Action
	m := Matter{
		Kind: Approval, Name: "approval-requested", About: "approval:" + a.ID, Level: step, At: a.RequestedAt, Asked: a.RequestedAt, Until: a.ExpiresAt,
		Subject: fmt.Sprintf("Approval asked: %s %q", action, title), Why: "You may decide on approvals.", To: Deciders(),
		Content: Content{
			Paragraphs: []string{"An action waits for a person's decision. It is carried out only if it is approved in time."},
			Facts:      facts(a), Link: &Link{"Sign in and decide", "/console/#/operations/approvals"},
		},
	}
	if a.RequestedBy.Type == user.Entity {
		m.Except = a.RequestedBy.ID
	}
	if a.Action == erasure.Action {
		m.Name, m.Always, m.Subject = erasureAsked, true, fmt.Sprintf("Erasure of %s was asked for", title)
		m.Content.Paragraphs = []string{
			"A founder asks to erase " + title + ". If you approve, it is suspended for good. A minute later its key is destroyed, and then everything that it has is removed.",
			"No one can undo that. Export what you need before. If you do not approve, nothing happens.",
		}
	}
	if step > 0 {
		m.Name, m.At = "approval-waiting", a.RequestedAt.Add(Reminders()[step-1])
		m.Subject = fmt.Sprintf("Approval still waits: %s %q", action, title)
		m.Content.Paragraphs = []string{"An action still waits for a person's decision. Without one, it is not carried out."}
	}
	if step >= half {
		m.Name, m.To, m.Always, m.Why = "approval-escalated", []user.Role{user.Founder}, true, "You are a founder, and half of the approval's time is over."
	}
	if step == len(Reminders()) {
		m.Name, m.Why = "approval-expiring", "You are a founder, and the approval soon expires."
		m.Subject = fmt.Sprintf("Approval soon expires: %s %q", action, title)
	}
	return m
}

// erasureAsked names the notices of a request for the erasure of a company.
const erasureAsked = "erasure-asked"

// OwnErasure returns the matter that tells a user that the erasure of the company was asked for in their name.
func OwnErasure(a approval.Approval) Matter {
	m, title := Asked(a, 0), Plain(a.Title)
	m.To, m.Only, m.Except, m.Asked, m.Why = []user.Role{user.Founder}, a.RequestedBy.ID, "", time.Time{}, "The erasure was asked for in your name."
	m.Subject = fmt.Sprintf("You asked for the erasure of %s", title)
	m.Content.Paragraphs = []string{
		"You asked to erase " + title + ". Another founder or an operator decides within 24 hours. Then everything that it has is removed.",
		"If it was not you, reject the request and choose a new password.",
	}
	m.Content.Link = &Link{"Sign in and look", "/console/#/operations/approvals"}
	return m
}

// Undecidable returns the matter of an approval on which no person may decide, which its requester and the founders are told.
func Undecidable(a approval.Approval) Matter {
	m := Asked(a, 0)
	m.Name, m.Except, m.Asked, m.Why = "approval-undecidable", "", time.Time{}, "You are a founder, and no other person may decide."
	m.To = []user.Role{user.Founder}
	m.Subject = "No one may approve: " + a.Action
	m.Content.Paragraphs = []string{
		"An action waits for an approval, but no person but the one who asked may decide. It will expire.",
		"Invite a second founder or an operator. They decide on what is asked for after they have accepted.",
	}
	if a.Action == erasure.Action {
		m.Content.Paragraphs = append(m.Content.Paragraphs, "If it was not you who asked, reject the request and choose a new password.")
	}
	m.Content.Link = &Link{"Sign in and invite", "/console/#/operations/users"}
	return m
}

// expired names the notice of an approval that no one decided in time.
const expired = "approval-expired"

// Expired returns the matter of an approval that no one decided in time.
func Expired(a approval.Approval) Matter {
	m := Asked(a, 0)
	m.Name, m.Except, m.Asked, m.Until, m.At, m.Level = expired, "", time.Time{}, time.Time{}, a.ExpiresAt, len(Reminders())+1
	m.Subject = fmt.Sprintf("Approval expired: %s %q", a.Action, Plain(a.Title))
	m.Content.Paragraphs = []string{"No one decided in time, so the action is not carried out. If it is still needed, ask for it again."}
	m.Content.Link = &Link{"Sign in and look", "/console/#/operations/approvals"}
	return m
}

// Overtaken reports whether the notice is of no use once its approval no longer waits.
func (n Notice) Overtaken() bool { return n.Kind == Approval && n.Name != expired }

func facts(a approval.Approval) []Fact {
	asks := Plain(a.PrincipalName)
	if asks == "" {
		asks = Plain(a.Principal.ID)
	}
	all := []Fact{{Name: "Action", Value: a.Action}, {Name: "About", Value: Plain(a.Title)}, {Name: "Asked by", Value: asks}}
	for _, r := range a.Reasons {
		all = append(all, Fact{Name: "Why it needs a person", Value: Plain(r)})
	}
	return append(all, Fact{Name: "Asked", At: a.RequestedAt}, Fact{Name: "Expires", At: a.ExpiresAt})
}
