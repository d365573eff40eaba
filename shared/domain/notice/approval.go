package notice

import (
	"fmt"
	"time"

	"orgops/shared/domain/approval"
	"orgops/shared/domain/user"
)

// Reminders lists after what times an approval that still waits is told again. At the last one every founder is told, also a founder who
// wants no mail about approvals. An approval expires after 24 hours.
func Reminders() []time.Duration {
	return []time.Duration{6 * time.Hour, approval.Waits - approval.Warns}
}

// Requested names the notice of an approval that waits.
const Requested = "approval-requested"

// Asked returns the matter of an approval that waits: the request for step 0, or a reminder.
func Asked(a approval.Approval, step int) Matter {
	title, action := Plain(a.Title), a.Action
	m := Matter{
		Kind: Approval, Name: Requested, About: "approval:" + a.ID, Level: step, At: a.RequestedAt, Asked: a.RequestedAt, Until: a.ExpiresAt,
		Subject: fmt.Sprintf("Approval asked: %s %q", action, title), Why: "You may decide on approvals.", To: Deciders(),
		Content: Content{
			Paragraphs: []string{"An action waits for a person's decision. It is carried out only if it is approved in time."},
			Facts:      facts(a), Link: &Link{"Sign in and decide", "/console/#/operations/approvals"},
		},
	}
	if a.RequestedBy.Type == user.Entity {
		m.Except = a.RequestedBy.ID
	}
	if step > 0 {
		m.Name, m.At = "approval-expiring", a.RequestedAt.Add(Reminders()[step-1])
		m.Subject = fmt.Sprintf("Approval still waits: %s %q", action, title)
		m.Content.Paragraphs = []string{"An action still waits for a person's decision. Without one, it is not carried out."}
	}
	if step == len(Reminders()) {
		m.To, m.Always, m.Why = []user.Role{user.Founder}, true, "You are a founder, and the approval soon expires."
	}
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
