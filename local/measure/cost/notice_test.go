package main

import (
	"context"

	"orgops/functions/notifier"
	"orgops/shared/base/id"
	"orgops/shared/domain/notice"
	"orgops/shared/domain/user"
	"orgops/shared/storage/mail"
)

// taker is a mail host that takes each mail.
type taker struct{}

func (taker) Send(context.Context, mail.Message) error { return nil }

// matter returns an alert to the founders.
func (w *world) matter() notice.Matter {
	return notice.Matter{
		Kind: notice.Alert, Name: "endpoint-disabled", About: "integration:" + id.New(), Level: 1, Subject: "webhook was disabled", Why: "You may repair it.",
		To: []user.Role{user.Founder}, At: w.clock.Now(),
	}
}

func (w *world) tells() func() {
	m := w.matter()
	return w.settled(notifier.From(w.fresh()).Worker(), w.message("notices", notice.Job{Company: w.company, Matter: &m}))
}

func (w *world) mails() func() {
	w.tells()()
	m := w.matter()
	w.settled(notifier.From(w.fresh()).Worker(), w.message("notices", notice.Job{Company: w.company, Matter: &m}))()
	n := m.Notice(w.company, w.founder, w.clock.Now())
	return w.settled(notifier.From(w.fresh()).Worker(), w.message("notices", notice.Job{Company: w.company, Notice: n.ID}))
}
