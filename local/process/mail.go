package process

import (
	"fmt"
	"path/filepath"

	"orgops/local/process/mailbox"
	"orgops/shared/run/config"
	"orgops/shared/storage/mail"
	"orgops/shared/storage/mail/smtpmail"
)

// Mails says where the process sends mails: the page or the folder that keeps them, or the mail host.
func (p *Process) Mails(c config.Config, base string) string {
	switch {
	case c.SMTP != "":
		return "sent to the host of ORGOPS_SMTP_URL"
	case p.backend.loopback:
		return "kept, not sent: " + base + mailbox.Path
	}
	return "kept, not sent: " + folder(c)
}

func folder(c config.Config) string { return filepath.Join(c.Data, "mails") }

// sender opens the way that mails go: the mail host of the settings, or the folder of a process without one. The page of the folder is
// served if only this machine reaches the process.
func sender(c config.Config) (mail.Sender, error) {
	if c.SMTP == "" {
		return mailbox.Open(folder(c))
	}
	from, err := mail.ParseFrom(c.MailFrom)
	if err != nil {
		return nil, fmt.Errorf("ORGOPS_MAIL_FROM: %w", err)
	}
	s, err := smtpmail.New(c.SMTP, *from, c.RootCAs)
	if err != nil {
		return nil, fmt.Errorf("ORGOPS_SMTP_URL: %w", err)
	}
	return s, nil
}
