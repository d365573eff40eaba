package slack

import (
	"strings"
	"unicode/utf8"

	"orgops/shared/domain/approval"
	"orgops/shared/domain/notice"
)

// Actions of the buttons.
const (
	Approve = "approve"
	Reject  = "reject"
)

// Button is an element of a message that a person presses.
type Button struct {
	Type   string `json:"type"`
	Text   *Text  `json:"text"`
	Action string `json:"action_id"`
	Value  string `json:"value"`
	Style  string `json:"style"`
}

// maxPayload limits the exact action in a message, in characters.
const maxPayload = 2500

// Value returns what a button carries: the company and the approval. Slack signs it with each press.
func Value(company, approvalID string) string { return company + "." + approvalID }

// Split returns the company and the approval of a button's value.
func Split(value string) (company, approvalID string) {
	company, approvalID, _ = strings.Cut(value, ".")
	return company, approvalID
}

// Ask completes the message of an approval that waits: the exact action, what follows from an answer, and a button for each. An action
// that Slack cannot show exactly has no button that approves it, because the person would approve what they do not see.
func Ask(m Message, base, company string, a approval.Approval) Message {
	approve, reject := "*Approve*: the action is carried out at once, if the policies still permit it.\n", "*Reject*: it is not carried out, and for the rest of the 24 hours it is not asked for again."
	button := func(action, label, style string) Button {
		return Button{"button", &Text{Type: "plain_text", Text: label}, action, Value(company, a.ID), style}
	}
	buttons := []any{button(Reject, "Reject", "danger")}
	if why := m.exact(a); why == "" {
		buttons = append([]any{button(Approve, "Approve", "primary")}, buttons...)
	} else {
		m.section(why + ": <" + notice.Asked(a, 0).Content.Link.Address(base, company) + "|sign in and decide>.")
		approve = ""
	}
	m.section(approve + reject)
	m.Blocks = append(m.Blocks, Block{Type: "actions", Elements: buttons})
	return m
}

// exact adds the exact action, or returns why Slack cannot show it. Nothing but a backtick ends the block of code, in which Slack shows
// every other character as it is.
func (m *Message) exact(a approval.Approval) (why string) {
	text := string(a.Payload)
	shown := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
	switch {
	case utf8.RuneCountInString(shown) > maxPayload:
		return "This action is too long to show here"
	case notice.Visible(text) != text || strings.Contains(text, "`"):
		return "This action has characters that Slack does not show"
	}
	m.section("*The exact action*\n```" + shown + "```")
	return ""
}

// Ended writes what stands in place of a message that asked for an approval. by names the person who ended it; "": none did.
func Ended(a approval.Approval, by, base, companyID string) Message {
	matter := notice.Asked(a, 0)
	matter.Content.Paragraphs = nil
	m, _ := Write(matter.Subject, "The approval has ended. Its message has no buttons any more.", matter.Content, base, companyID)
	m.exact(a)
	m.section("*" + Outcome(a, by) + "*")
	return m
}

// Outcome says how an approval ended, by whom and when.
func Outcome(a approval.Approval, by string) string {
	if a.Answer == nil {
		return "Expired: no one decided in time."
	}
	at := date(a.Answer.At)
	who := ""
	if by != "" {
		who = " by " + Escape(by, maxHeader)
	}
	switch {
	case a.State == approval.Expired:
		return "Expired, " + at + ": no one decided in time."
	case a.State == approval.Approved && a.Answer.Verdict != "permitted":
		return "Approved" + who + ", " + at + ". The policies of then did not permit it, so it was not carried out."
	case a.State == approval.Approved:
		return "Approved" + who + ", " + at + "."
	case a.State == approval.Withdrawn:
		return "Withdrawn" + who + ", " + at + "."
	}
	return "Rejected" + who + ", " + at + "."
}
