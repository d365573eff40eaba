package notifier

import (
	"context"

	"orgops/shared/base/fault"
	"orgops/shared/domain/company"
	"orgops/shared/domain/notice"
	"orgops/shared/insight/assessment"
	"orgops/shared/insight/projection"
)

// complete makes what a notice lacks until it is sent. It returns why the notice is not sent, "" if it is.
func (s *sending) complete(ctx context.Context) (why string, err error) {
	if s.notice.Awaits() {
		return s.resetCode(ctx)
	}
	if s.notice.Kind == notice.Brief && s.notice.Attempts == 0 {
		return s.brief(ctx)
	}
	return "", nil
}

// brief fills a brief with what happened since the one before. It is that of the company's page.
func (s *sending) brief(ctx context.Context) (why string, err error) {
	plan, due := s.preference.Brief, s.notice.CreatedAt
	switch {
	case plan == nil:
		return "the brief has no time any more", nil
	case s.notice.Channel == notice.Mail && !notice.Reads(s.person.Role):
		return "the person's role does not read the brief", nil
	case s.box.HasBrief(due, s.preference.Zone()): // at another hour, before that was changed
		return "the brief of the day has come", nil
	}
	p, _, err := projection.Load(ctx, s.company)
	if err != nil {
		return "", err
	}
	asOf := assessment.AsOf(s.now)
	since := plan.Before(due, s.preference.Zone())
	entries, err := assessment.Entries(ctx, s.company, p, since)
	if err != nil {
		return "", err
	}
	b := assessment.BriefOf(p, asOf, since, entries, "/companies/"+s.company.ID())
	if b.Quiet() && plan.WhenEmpty != notice.Send {
		return "nothing changed", nil
	}
	s.notice.Fill(b.Headline, sections(b))
	return "", nil
}

// sections returns what a brief says, as a mail says it.
func sections(b assessment.Brief) (all []notice.Section) {
	for _, part := range b.Sections {
		section := notice.Section{Title: part.Title}
		for _, item := range part.Items {
			section.Items = append(section.Items, notice.Sentence(item.Text))
		}
		if len(section.Items) > 0 {
			all = append(all, section)
		}
	}
	return all
}

// resetCode makes the code of a reset. The claim stores it: a code without its notice would be lost.
func (s *sending) resetCode(ctx context.Context) (why string, err error) {
	code, ops, err := company.MakeResetCode(ctx, s.Store, s.person.Email, s.now)
	if fault.KindOf(err) == fault.NotFound {
		return "the reset was used, or was asked for too long ago", nil
	}
	if err != nil {
		return "", err
	}
	sealed, err := s.Vault.Seal(ctx, s.company.ID(), notice.CodeLabel(s.notice.ID), []byte(code.Code))
	s.also = append(s.also, ops...)
	s.notice.Bring(sealed, code.ExpiresAt)
	return "", err
}
