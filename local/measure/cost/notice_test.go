package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"orgops/functions/notifier"
	"orgops/shared/base/id"
	"orgops/shared/domain/company"
	"orgops/shared/domain/notice"
	"orgops/shared/domain/user"
	"orgops/shared/storage/mail"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
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

// sends returns the work on a notice that is due.
func (w *world) sends(n notice.Stored) func() {
	return w.settled(notifier.From(w.fresh()).Worker(), w.message("notices", notice.Job{Company: w.company, Notice: n.ID}))
}

// resets asks for a reset of a new user, and returns the work on its mail.
func (w *world) resets() func() {
	u, c := w.addUser(), w.tenant()
	p := store.Login(u.Email)
	n := notice.ResetOf(w.company, u.ID, 0, w.clock.Now())
	errtest.Must(w.t, w.table(mainTable).Commit(w.t.Context(), append(n.Create(c), company.Reset{}.Ask(p, 0, w.clock.Now()))...))
	return w.sends(n)
}

// schedules stores that a new member gets a brief soon, and returns the member's id.
func (w *world) schedules() (userID string) {
	u := w.addUser()
	p, now := notice.Defaults(), w.clock.Now()
	due := now.Add(time.Minute)
	p.Brief = &notice.BriefTimes{At: due.UTC().Format("15:04"), Days: []string{strings.ToLower(due.UTC().Weekday().String())}}
	errtest.Must(w.t, w.tenant().Commit(w.t.Context(), p.Store(w.tenant(), u.ID, 0, now)...))
	return u.ID
}

// briefsOne prepares a person's brief that is due within a minute, and returns the tick after that.
func (w *world) briefsOne() func() {
	t := w.ticked()
	w.schedules()
	w.clock.Advance(time.Minute)
	return func() { errtest.Must(w.t, t.Tick(w.t.Context())) }
}

// mailsBrief lets a brief become due, and returns the work on its mail.
func (w *world) mailsBrief() func() {
	t := w.ticked()
	userID := w.schedules()
	w.clock.Advance(time.Minute)
	errtest.Must(w.t, t.Tick(w.t.Context()))
	for item, err := range w.tenant().Items(w.t.Context(), store.Query{Prefix: notice.Prefix}) {
		var n notice.Stored
		errtest.Must(w.t, errors.Join(err, item.Decode(&n)))
		if n.UserID == userID {
			return w.sends(n)
		}
	}
	w.t.Fatal("there is no notice of the brief")
	return nil
}

// stops returns the path that ends the alerts of a new user, who has got a mail.
func (w *world) stops() string {
	u, box := w.addUser(), notice.Box{}
	token := box.Token(notice.Stop{Company: w.company, UserID: u.ID, Kind: notice.Alert})
	errtest.Must(w.t, w.tenant().Commit(w.t.Context(), box.Save(w.tenant(), u.ID, 0)))
	return notice.StopPath + token
}
