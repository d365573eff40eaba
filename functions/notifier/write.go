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
		Company: s.signed(), CompanyID: s.company.ID(), Subject: s.notice.Subject, Why: s.notice.Why, Content: s.content(), Base: s.Base,
		Stop: s.stop, Zone: s.preference.Zone(),
	}
	if len(s.joined) > 0 {
		l.Subject = fmt.Sprintf("%d notices", len(s.joined)+1)
	}
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

// content returns what the mail says: that of the notice, or the subjects of all that go in it.
func (s *sending) content() notice.Content {
	if len(s.joined) == 0 {
		return s.notice.Content
	}
	all := notice.Section{Title: "What happened", Items: []string{s.notice.Subject}}
	for _, j := range s.joined {
		all.Items = append(all.Items, j.Subject)
	}
	return notice.Content{
		Paragraphs: []string{"More happened than ten messages an hour can tell. These notices come in one."},
		Sections:   []notice.Section{all}, Link: &notice.Link{Label: "Sign in and look", Path: "/console/#/"},
	}
}

// signed returns the name of the company that the mail comes from. A reset comes from the service: the password is that of all companies
// of the person, and any company can invite an address.
func (s *sending) signed() string {
	if s.notice.Name == notice.PasswordReset {
		return ""
	}
	return s.firm.Name
}
