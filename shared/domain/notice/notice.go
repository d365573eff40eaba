// Package notice describes what the service tells people: notices, what each person wants to be told, and what a committed change
// tells. A notice is stored first and sent then, so none is lost.
package notice

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"orgops/shared/base/wait"
	"orgops/shared/domain/user"
	"orgops/shared/storage/store"
)

// Entity and Prefix name the entity of a notice's item and the prefix of its key.
const (
	Entity = "notice"
	Prefix = "NOTICE#"
)

// Kept is how long a notice is stored.
const Kept = 90 * 24 * time.Hour

// Kind groups notices for preferences.
type Kind string

// The kinds.
const (
	Security Kind = "security" // about the person's own access; always sent
	Approval Kind = "approval" // the person is asked to decide
	Alert    Kind = "alert"    // something does not work, or soon will not
	Brief    Kind = "brief"    // what happened, at the person's hour
)

// Channel names the way by which a notice goes.
type Channel string

// The channels.
const (
	Mail  Channel = "mail"  // an e-mail to one person
	Slack Channel = "slack" // a message in the company's Slack channel, to all who read it
)

// State says what became of a notice.
type State string

// The states. All but Waiting are final.
const (
	Waiting State = "waiting" // will be sent when it is due
	Sent    State = "sent"    // the mail host or Slack has taken it
	Failed  State = "failed"  // it could not be sent
	Omitted State = "omitted" // there was a reason not to send it
)

// Notice describes one notice as the API shows it.
type Notice struct {
	ID        string    `json:"id" format:"uuid" doc:"UUIDv8; notices sort by their time"`
	Kind      Kind      `json:"kind" enum:"security,approval,alert,brief" doc:"what the person's preferences decide by"`
	Name      string    `json:"name" doc:"what it tells" example:"approval-requested"`
	UserID    string    `json:"userId,omitempty" format:"uuid" doc:"who is told; absent for a message in the company's Slack channel"`
	Channel   Channel   `json:"channel" enum:"mail,slack" doc:"the way by which it goes"`
	About     string    `json:"about" doc:"the matter; mails about one matter are one conversation" example:"approval:0198c5f2-0000-7000-8000-000000000001"`
	Subject   string    `json:"subject" doc:"the subject of the mail"`
	Why       string    `json:"why" doc:"why this person is told" example:"You may decide on approvals."`
	State     State     `json:"state" enum:"waiting,sent,failed,omitted" doc:"waiting: goes when it is due; failed: could not be sent; omitted: there was a reason not to send it"`
	Reason    string    `json:"reason,omitempty" doc:"why it waits, failed or was omitted"`
	Attempts  int       `json:"attempts" format:"int32" doc:"how often sending it was begun"`
	CreatedAt time.Time `json:"createdAt" doc:"when it was stored"`
	DueAt     time.Time `json:"dueAt" doc:"when it may go at the earliest: quiet hours delay it"`
	SentAt    time.Time `json:"sentAt,omitzero" doc:"when the mail host or Slack took it"`
	Text      string    `json:"text,omitempty" doc:"the text that was sent, without single-use codes; absent until then"`
}

// For returns the notice as a reader of the list sees it: readers of the brief see what a brief says, and the person alone
// sees how and from where a login came.
func (n Notice) For(userID string, brief bool) Notice {
	switch {
	case n.Kind == Brief && !brief:
		n.Subject, n.Text = briefSubject, ""
	case slices.Contains([]string{newSignIn, recoveryUsed, passkeyCopied}, n.Name) && n.UserID != userID:
		n.Text = ""
	}
	return n
}

// Stored holds a notice with what sending it needs.
type Stored struct {
	Notice

	Content  Content   `json:"content"`
	Code     []byte    `json:"code,omitempty"`     // a single-use code, sealed under CodeLabel; removed once it is sent
	CodePath string    `json:"codePath,omitempty"` // where the code is typed, below the service's address
	Until    time.Time `json:"until,omitzero"`     // it is of no use later
	// ClaimedAt is when a worker began to send it. For ClaimTime no other worker does.
	ClaimedAt time.Time `json:"claimedAt,omitzero"`
	Joined    []string  `json:"joined,omitempty"`   // the ids of the notices that go in the same mail
	JoinedTo  string    `json:"joinedTo,omitempty"` // the id of the notice whose mail it goes with
	Always    bool      `json:"always,omitempty"`   // see Matter
	Turns     bool      `json:"turns,omitempty"`    // its matter turns
}

// ClaimTime is how long a worker has to send a notice. It is longer than any driver takes.
const ClaimTime = 2 * time.Minute

// CodeLabel is the label under which the vault seals the code of a notice.
func CodeLabel(noticeID string) string { return "notice/" + noticeID }

// Key returns the sort key of a notice. Notices sort by the time of their cause.
func Key(noticeID string) string { return Prefix + noticeID }

// Create returns the writes that store a new notice. The change feed then asks for it to be sent. The timer finds a notice whose
// message was lost.
func (n Stored) Create(c store.Company) []store.Op {
	return []store.Op{c.Create(Key(n.ID), Entity, n).Until(n.CreatedAt.Add(Kept)), n.lookout(c, n.DueAt)}
}

// OverdueTimer names the kind of the timer that looks for a notice that was not sent. Its subject is the notice's id, and patience is how
// long after its time it comes.
const (
	OverdueTimer = "notice-overdue"
	patience     = 30 * time.Minute
)

func (n Stored) lookout(c store.Company, after time.Time) store.Op {
	return c.Timer(after.Add(patience), OverdueTimer, n.ID)
}

// abandoned is how long after its time a notice that still waits has failed. Tries, quiet hours and full hours set a later time, so no worker
// has brought a try to its end since.
const abandoned = 3 * 24 * time.Hour

// Overlooked returns the writes that ask for a notice to be sent whose message was lost, or none if it has ended. As long as a notice waits,
// it has such a timer.
func Overlooked(ctx context.Context, c store.Company, noticeID string, now time.Time) ([]store.Op, error) {
	var n Stored
	item, err := c.Get(ctx, Key(noticeID), &n)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, nil
	case err != nil || n.State != Waiting:
		return nil, err
	}
	left, err := n.left(ctx, c)
	switch {
	case err != nil:
		return nil, err
	case n.JoinedTo != "" && !left, n.DueAt.After(now), n.ClaimedAt.Add(ClaimTime).After(now): // its time comes
		return []store.Op{n.lookout(c, wait.Later(n.DueAt, now))}, nil
	case now.Sub(n.DueAt) > abandoned && !left:
		n.End(Failed, "it could not be sent in three days")
		return []store.Op{n.Replace(c, item.Version)}, nil
	case left:
		n.JoinedTo, n.DueAt = "", now.UTC()
	}
	return []store.Op{n.Again(c, item.Version), n.lookout(c, now)}, nil
}

// left reports whether the notice was to go in the mail of another notice, which has ended without it.
func (n Stored) left(ctx context.Context, c store.Company) (bool, error) {
	if n.JoinedTo == "" {
		return false, nil
	}
	var leads Stored
	_, err := c.Get(ctx, Key(n.JoinedTo), &leads)
	if errors.Is(err, store.ErrNotFound) {
		return true, nil
	}
	return leads.State != Waiting || !slices.Contains(leads.Joined, n.ID), err
}

// Again returns the write that has the change feed ask once more for a notice to be sent.
func (n Stored) Again(c store.Company, version int64) store.Op {
	return c.Replace(Key(n.ID), Entity, version, n).Until(n.CreatedAt.Add(Kept))
}

// Replace returns the write that stores what became of a notice. It causes no message.
func (n Stored) Replace(c store.Company, version int64) store.Op {
	return n.Again(c, version).Quietly()
}

// Hurries reports whether no preference keeps the notice back.
func (n Stored) Hurries() bool { return n.Always || n.Kind == Security }

// Alone reports whether the notice comes in a mail of its own at its time, also when the person gets many.
func (n Stored) Alone() bool { return n.Hurries() || n.Kind == Brief }

// End sets a final state.
func (n *Stored) End(s State, reason string) {
	n.State, n.Reason, n.Code, n.ClaimedAt = s, reason, nil, time.Time{}
}

// Content holds what a mail says. Each text is plain: see Plain.
type Content struct {
	Paragraphs []string  `json:"paragraphs,omitempty"`
	Facts      []Fact    `json:"facts,omitempty"`
	Sections   []Section `json:"sections,omitempty"`
	Link       *Link     `json:"link,omitempty"`
}

// Fact names one value. At is shown in the reader's time zone, instead of Value.
type Fact struct {
	Name  string    `json:"name"`
	Value string    `json:"value,omitempty"`
	At    time.Time `json:"at,omitzero"`
}

// Section lists sentences under a title.
type Section struct {
	Title string   `json:"title"`
	Items []string `json:"items"`
}

// Link leads to a page of the console, where the reader signs in. No link acts by itself.
type Link struct {
	Label string `json:"label"`
	Path  string `json:"path"` // below the service's address, such as /console/#/approvals; without a query
}

// Address returns the address of the link below the service's. It names the company, because the reader may be in another one.
func (l Link) Address(base, companyID string) string { return base + l.Path + "?company=" + companyID }

// Together returns the subject and the content of a message that brings several notices, by their subjects.
func Together(subjects []string) (subject string, c Content) {
	return fmt.Sprintf("%d notices", len(subjects)), Content{
		Paragraphs: []string{"More happened than ten messages an hour can tell. These notices come in one."},
		Sections:   []Section{{Title: "What happened", Items: subjects}}, Link: &Link{Label: "Sign in and look", Path: "/console/#/"},
	}
}

// Limits of a text that people or providers wrote, and of a sentence that names some, in characters.
const (
	maxPlain    = 200
	maxSentence = 500
)

// Plain returns a text of others for one line of a mail: see line.
func Plain(text string) string { return line(text, maxPlain) }

// Sentence returns a sentence of ours that names texts of others: see line.
func Sentence(text string) string { return line(text, maxSentence) }

// line returns at most some characters of a text of others: without line breaks, characters that change the direction or are invisible,
// and without addresses that a mail program would turn into links, which could look like ours.
func line(text string, most int) string {
	words := strings.Fields(Visible(text))
	for i, w := range words {
		if linkish(w) {
			words[i] = "[link]"
		}
	}
	runes := []rune(strings.Join(words, " "))
	if len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return string(runes)
}

// Visible returns a text without line breaks and without characters that change the direction or are invisible.
func Visible(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\u200b' || r == '\u200c' || r == '\u200d' || r == '\u2060' || r == '\ufeff' || r == '\u00ad' || r == '\ufffd':
			return -1
		case r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069' || r == '\u200e' || r == '\u200f' || r == '\u061c':
			return -1
		case r < ' ' || r == '\u007f' || r >= '\u0080' && r <= '\u009f' || r == '\u2028' || r == '\u2029':
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, ""))
}

// linkish reports whether a mail program may turn a word into a link: one with a scheme or an at sign, or one with a dot between letters.
func linkish(word string) bool {
	if strings.ContainsAny(word, "@:") && (strings.Contains(word, "@") || strings.Contains(word, "://") || strings.HasPrefix(strings.ToLower(word), "mailto:")) {
		return true
	}
	host, _, _ := strings.Cut(word, "/")
	host = strings.Trim(host, ".,;:!?()[]{}\"'“”<>")
	labels := strings.FieldsFunc(host, func(r rune) bool { return r == '.' || r == '\u3002' || r == '\uff0e' || r == '\uff61' })
	last := ""
	if len(labels) > 1 {
		last = labels[len(labels)-1]
	}
	return len([]rune(last)) >= 2 && strings.IndexFunc(last, func(r rune) bool { return r >= '0' && r <= '9' }) < 0
}

// Deciders lists the roles whose users decide on approvals and repair integrations.
func Deciders() []user.Role { return []user.Role{user.Founder, user.Operator} }
