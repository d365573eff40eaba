package notifier

import (
	"context"
	"fmt"

	"orgops/shared/domain/notice"
	"orgops/shared/insight/letter"
	"orgops/shared/storage/mail"
)

// write writes the mail of the notice. kept is its text without codes.
func (s *sending) write(ctx context.Context) (m mail.Message, kept string, err error) {
	l := letter.Letter{
		Company: s.signed(), CompanyID: s.company.ID(), Why: s.notice.Why, Base: s.Base, Stop: s.stop, Zone: s.preference.Zone(),
	}
	l.Subject, l.Content = s.says()
	if len(s.notice.Code) > 0 {
		code, err := s.Vault.Open(ctx, s.company.ID(), notice.CodeLabel(s.notice.ID), s.notice.Code)
		if err != nil {
			return m, "", fmt.Errorf("open the code of a notice: %w", err)
		}
		l.Code, l.CodePath = string(code), s.notice.CodePath
	}
	written, kept, err := letter.Write(l)
	if err != nil {
		return m, "", err
	}
	if s.signed() != "" {
		m.FromName, m.ReplyTo = s.settings.Sender(s.firm.Name), s.settings.ReplyTo
	}
	return mail.Message{
		ID: s.notice.ID, FromName: m.FromName, To: s.person.Email, ReplyTo: m.ReplyTo, Subject: written.Subject, Text: written.Text, HTML: written.HTML,
		Stop: s.stop, Thread: threadOf(s.company.ID(), s.notice.About), At: s.now,
		Company: s.company.ID(), UserID: s.person.ID,
	}, kept, nil
}

// says returns the subject and the content of the message: those of the notice, or of all that go in it.
func (s *sending) says() (subject string, content notice.Content) {
	if len(s.joined) == 0 {
		return s.notice.Subject, s.notice.Content
	}
	all := []string{s.notice.Subject}
	for _, j := range s.joined {
		all = append(all, j.Subject)
	}
	return notice.Together(all)
}

// signed returns the name of the company that the mail comes from. A reset comes from the service: the password is that of all companies
// of the person, and any company can invite an address.
func (s *sending) signed() string {
	if s.notice.Name == notice.PasswordReset {
		return ""
	}
	return s.firm.Name
}
