// Package sesevent reads what Amazon SES tells by EventBridge about a mail that it has taken.
package sesevent

import (
	"encoding/json"
	"errors"
)

// CompanyTag and UserTag name the tags of a mail that tell whose it is. SES shows them with each event of the mail.
const (
	CompanyTag = "company"
	UserTag    = "user"
)

// Outcome says what became of a mail.
type Outcome string

// The outcomes that Read tells apart. Any other event, such as a full mailbox, says nothing about later mails.
const (
	Other      Outcome = ""
	Bounced    Outcome = "bounced"    // it came back for good
	Complained Outcome = "complained" // the reader reported it as unwanted
)

// Returned tells what became of the mail of one user.
type Returned struct {
	Outcome         Outcome
	Company, UserID string
	Address         string // that the mail went to
}

// ErrForeign reports a text that is no event of a mail with our tags.
var ErrForeign = errors.New("not an event of SES about a mail of the service")

// event has the part of an event that decides.
type event struct {
	Source string `json:"source"`
	Detail struct {
		EventType string `json:"eventType"`
		Bounce    struct {
			BounceType string `json:"bounceType"`
		} `json:"bounce"`
		Complaint struct {
			ComplaintFeedbackType string `json:"complaintFeedbackType"`
		} `json:"complaint"`
		Mail struct {
			Destination []string            `json:"destination"`
			Tags        map[string][]string `json:"tags"`
		} `json:"mail"`
	} `json:"detail"`
}

// Read reads an event. Each mail of the service has one recipient, so the event names one.
func Read(text []byte) (Returned, error) {
	var e event
	if err := json.Unmarshal(text, &e); err != nil || e.Source != "aws.ses" {
		return Returned{}, ErrForeign
	}
	mail := e.Detail.Mail
	company, userID := mail.Tags[CompanyTag], mail.Tags[UserTag]
	if len(company) != 1 || len(userID) != 1 || len(mail.Destination) != 1 || company[0] == "" || userID[0] == "" {
		return Returned{}, ErrForeign
	}
	return Returned{Outcome: e.outcome(), Company: company[0], UserID: userID[0], Address: mail.Destination[0]}, nil
}

// outcome tells a bounce for good and a complaint from the rest. Mailbox providers also report mails that are no spam, and mails whose
// sender they could not prove: both are no wish of the reader.
func (e event) outcome() Outcome {
	feedback := e.Detail.Complaint.ComplaintFeedbackType
	switch {
	case e.Detail.EventType == "Bounce" && e.Detail.Bounce.BounceType == "Permanent":
		return Bounced
	case e.Detail.EventType == "Complaint" && feedback != "not-spam" && feedback != "auth-failure":
		return Complained
	}
	return Other
}
