// Package mail defines how the service sends one mail to one person. A driver implements Sender: smtpmail by SMTP, sesmail by
// Amazon SES, and the local process with a folder.
package mail

import (
	"context"
	"errors"
	"fmt"
	"net/mail"
	"strings"
	"time"
)

// Message carries one mail to one recipient.
type Message struct {
	ID         string // unique, and the same for every try; it becomes the left part of the Message-ID
	FromName   string // shown before the address of the sender; "": that of the sender's settings
	To         string // a bare address
	ReplyTo    string // a bare address; "": none
	Subject    string
	Text, HTML string
	Stop       string // the address that ends such mails by one click (RFC 8058); "": none
	Thread     string // mails of one thread are shown together; "": the mail stands alone
	At         time.Time

	Company, UserID string // the user to whom it goes; SES tells both again when the mail comes back
}

// Sender sends mails. Its methods are safe for concurrent use.
type Sender interface {
	// Send returns nil when the next host has taken over the mail. It returns a RefusedError if a repeat cannot succeed. After any
	// other error the caller repeats the mail later, with the same ID: the mail may have been taken.
	Send(ctx context.Context, m Message) error
}

// RefusedError reports a mail that was refused for good.
type RefusedError struct {
	Code     int    // of SMTP, such as 550; 0: the mail cannot be written
	Enhanced string // RFC 3463, such as 5.1.1; "": the host gave none
}

func (e *RefusedError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("the mail was refused for good: %d %s", e.Code, e.Enhanced))
}

// BadAddress reports whether the recipient's address leads to no mailbox, so that no mail can reach it.
func (e *RefusedError) BadAddress() bool {
	return e.Enhanced == "5.1.1" || e.Enhanced == "5.1.10" || e.Enhanced == "5.1.2"
}

// ErrFrom reports a sender's address that is no e-mail address.
var ErrFrom = errors.New("must be an e-mail address, such as Orgops <orgops@example.com>")

// ParseFrom reads the address from which the service sends.
func ParseFrom(text string) (*mail.Address, error) {
	from, err := mail.ParseAddress(text)
	if err != nil || !strings.Contains(from.Address, "@") {
		return nil, ErrFrom
	}
	return from, nil
}
