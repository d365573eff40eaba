package notifier

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"orgops/shared/base/fault"
	"orgops/shared/domain/approval"
	"orgops/shared/domain/company"
	"orgops/shared/domain/notice"
	"orgops/shared/domain/user"
	"orgops/shared/storage/mail"
	"orgops/shared/storage/store"
)

// sending holds a notice on its way, with what decides about it.
type sending struct {
	*Notifier
	company store.Company
	now     time.Time

	notice  notice.Stored
	version int64
	joined  []joined // notices that go in the same mail

	person     user.User
	at         int64 // version of the person
	box        notice.Box
	boxAt      int64
	count      notice.Count
	countAt    int64
	invites    notice.Invites
	invitesAt  int64
	firm       company.Company
	preference notice.Preferences
	settings   notice.MailSettings
	also       []store.Op                 // of the claim
	stop       string                     // the link that ends mails of this kind
	unwanted   func(notice.Stored) string // says why the settings keep a notice back, "" if they do not
	approval   approval.Approval          // that the notice is about; zero: none
}

// joined holds a notice that goes with another one's mail.
type joined struct {
	notice.Stored
	version int64
}

// send sends a notice that is due. due tells when to look at it again; zero means never.
func (n *Notifier) send(ctx context.Context, c store.Company, id string) (due time.Time, err error) {
	s := &sending{Notifier: n, company: c, now: n.Now().UTC()}
	item, err := c.Get(ctx, notice.Key(id), &s.notice)
	if errors.Is(err, store.ErrNotFound) {
		return time.Time{}, nil
	}
	if err != nil {
		return time.Time{}, err
	}
	s.version = item.Version
	switch {
	case s.notice.State != notice.Waiting:
		return s.relock(ctx)
	case s.notice.JoinedTo != "":
		return time.Time{}, nil
	}
	if claimed := s.notice.ClaimedAt.Add(notice.ClaimTime); !s.notice.ClaimedAt.IsZero() && claimed.After(s.now) {
		return claimed, nil // another worker is at it, or was lost
	}
	if s.notice.DueAt.After(s.now) {
		return s.notice.DueAt, nil
	}
	if s.notice.Channel == notice.Slack {
		return s.post(ctx)
	}
	if c.ID() == notice.Nowhere {
		return time.Time{}, c.Commit(ctx, c.Delete(notice.Key(id), notice.Entity, s.version).Quietly())
	}
	if s.Sender == nil { // on AWS, until the operator sets one
		return time.Time{}, s.omit(ctx, "the service has no mail settings")
	}
	if err := s.load(ctx); err != nil {
		return time.Time{}, err
	}
	why, err := s.needless(ctx)
	if err != nil {
		return time.Time{}, err
	}
	if why != "" {
		return time.Time{}, s.omit(ctx, why)
	}
	if s.notice.Attempts >= maxAttempts {
		return time.Time{}, s.close(ctx, notice.Failed, "it was begun twelve times, and no try came to an end")
	}
	if quiet := s.quiet(); quiet.After(s.now) {
		return quiet, s.rest(ctx, quiet)
	}
	if s.notice.Name == notice.Invitation && s.notice.Attempts == 0 && !s.invites.Add(s.person.Email) {
		return time.Time{}, s.omit(ctx, "too many invitations were mailed today; give the person the token by another way")
	}
	if free := s.box.Free(s.now); free.After(s.now) && !s.notice.Alone() {
		return free, s.delay(ctx, s.notice.UserID, free, "the person got ten mails within an hour; the rest comes in one")
	}
	if why, err = s.complete(ctx); err != nil {
		return time.Time{}, err
	}
	if why != "" {
		return time.Time{}, s.omit(ctx, why)
	}
	if err := s.claim(ctx); err != nil {
		return time.Time{}, err
	}
	return s.attempt(ctx)
}

// omit ends the notice without a mail.
func (s *sending) omit(ctx context.Context, why string) error {
	return s.close(ctx, notice.Omitted, why)
}

// close ends the notice. Those that were to go with it are on their own again.
func (s *sending) close(ctx context.Context, state notice.State, why string) error {
	if err := s.loadJoined(ctx); err != nil {
		return err
	}
	s.notice.End(state, why)
	ops := []store.Op{s.notice.Replace(s.company, s.version)}
	for _, j := range s.joined {
		j.JoinedTo = ""
		ops = append(ops, j.Again(s.company, j.version))
	}
	return s.company.Commit(ctx, ops...)
}

// load reads what decides about the notice.
func (s *sending) load(ctx context.Context) (err error) {
	c, userID := s.company, s.notice.UserID
	person, err := c.Get(ctx, user.Key(userID), &s.person)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	s.at = person.Version
	if s.box, s.boxAt, err = s.Notifier.box(ctx, c, userID); err != nil {
		return err
	}
	s.box.Release(s.notice.ClaimedAt) // by a worker that was lost: this one takes its place
	count, err := c.Get(ctx, notice.CountKey(s.now), &s.count)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	s.countAt = count.Version
	if s.notice.Name == notice.Invitation {
		invites, err := c.Get(ctx, notice.InvitesKey(s.now), &s.invites)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		s.invitesAt = invites.Version
	}
	if s.preference, _, err = notice.LoadPreferences(ctx, c, userID); err != nil {
		return err
	}
	s.unwanted = func(n notice.Stored) string {
		if n.Hurries() || s.preference.Mailed(n.Kind, false) {
			return ""
		}
		return "the person no longer wants it"
	}
	if _, err = notice.LoadChannel(ctx, c, notice.Mail, &s.settings); err != nil {
		return err
	}
	if s.firm, _, err = company.Get(ctx, c); fault.KindOf(err) == fault.NotFound {
		return nil
	}
	return err
}

// needless says why the notice is not sent, "" if it is.
func (s *sending) needless(ctx context.Context) (why string, err error) {
	n := s.notice
	switch {
	case s.at == 0:
		return "the person has left", nil
	case s.person.State == user.Disabled:
		return "the person is disabled", nil
	case s.person.State == user.Invited && n.Name != notice.Invitation:
		return "the person has not accepted the invitation", nil
	case s.person.MailRefusedAt != nil && n.Name != notice.PasswordReset: // by mails of this company, and the code leads to all
		return "the person's address refuses mails", nil
	case n.Kind != notice.Security && n.Attempts == 0 && s.count.Mails >= notice.Monthly(s.firm.Plan):
		return "the company has used up the mails of the month", nil
	}
	s.approval, why, err = s.stale(ctx, n)
	return why, err
}

// stale says why a notice is of no use any more, "" if it is. a is the approval that it asks for.
func (s *sending) stale(ctx context.Context, n notice.Stored) (a approval.Approval, why string, err error) {
	unwanted := s.unwanted(n)
	switch {
	case !n.Until.IsZero() && !s.now.Before(n.Until):
		return a, "it came too late", nil
	case unwanted != "":
		return a, unwanted, nil
	case s.box.Turned(n):
		return a, "it has changed since", nil
	}
	approvalID, ok := strings.CutPrefix(n.About, approval.Entity+":")
	if !ok || !n.Overtaken() {
		return a, "", nil
	}
	a, waits, err := s.waiting(ctx, s.company, approvalID)
	if err != nil || waits {
		return a, "", err
	}
	return a, "it was decided meanwhile", nil
}

// delay keeps the notice until a time, when it goes with the others that wait in the box. A notice that others already wait for does not
// go with another one: theirs would wait for ever.
func (s *sending) delay(ctx context.Context, box string, free time.Time, why string) error {
	if len(s.notice.Joined) == 0 {
		s.box.Delay(s.notice.ID)
	}
	s.notice.DueAt, s.notice.Reason = free.UTC(), why
	return s.company.Commit(ctx, s.notice.Replace(s.company, s.version), s.box.Save(s.company, box, s.boxAt))
}

// quiet returns when the quiet hours end that have begun since the notice got its time, or now.
func (s *sending) quiet() time.Time {
	if s.notice.Hurries() || len(s.notice.Joined) > 0 { // some of those may hurry
		return s.now
	}
	return s.preference.Due(s.notice.Kind, s.now)
}

// rest keeps the notice until the end of the quiet hours.
func (s *sending) rest(ctx context.Context, quiet time.Time) error {
	s.notice.DueAt, s.notice.Reason = quiet.UTC(), "it waits for the end of the quiet hours"
	return s.company.Commit(ctx, s.notice.Replace(s.company, s.version))
}

// maxJoined limits the notices in one mail.
const maxJoined = 50

// claim notes that this worker sends the notice, and those that wait with it. A second worker conflicts.
func (s *sending) claim(ctx context.Context) error {
	c := s.company
	joined, err := s.join(ctx, s.notice.Alone())
	if err != nil {
		return err
	}
	s.notice.Attempts++
	s.notice.ClaimedAt, s.notice.Reason = s.now, ""
	s.tick()
	if notice.Stops(s.notice.Kind) {
		s.stop = s.Base + notice.StopPath + s.box.Token(notice.Stop{Company: c.ID(), UserID: s.notice.UserID, Kind: s.notice.Kind})
	}
	ops := []store.Op{s.notice.Replace(c, s.version), s.box.Save(c, s.notice.UserID, s.boxAt)}
	if s.notice.Attempts == 1 { // a mail counts once, however often it is tried
		s.count.Mails++
		ops = append(ops, s.count.Save(c, s.countAt, s.now))
		if s.notice.Name == notice.Invitation {
			ops = append(ops, s.invites.Save(c, s.invitesAt, s.now))
		}
	}
	s.version++
	return s.Store.Commit(ctx, append(append(ops, joined...), s.also...)...) // those of a code lie outside of the company
}

// tick notes in the box that its owner is told the notice now, and those that go with it.
func (s *sending) tick() {
	s.box.Sent = append(s.box.Sent, s.now)
	s.box.Say(s.notice, s.now)
	for _, j := range s.joined {
		s.box.Say(j.Stored, s.now)
	}
	if s.notice.Kind == notice.Brief {
		s.box.Briefed = s.notice.CreatedAt
	}
}

// miss takes back from the box what tick noted: its owner did not get the notice.
func (s *sending) miss(box *notice.Box) {
	box.Release(s.now)
	box.Unsay(s.notice)
	for _, j := range s.joined {
		box.Unsay(j.Stored)
	}
}

// owner returns whose box it is.
func (s *sending) owner() string {
	if s.notice.Channel == notice.Slack {
		return notice.SlackBox
	}
	return s.notice.UserID
}

// join returns the writes that take the notices that wait into this one's message. Those that are stale end instead.
func (s *sending) join(ctx context.Context, alone bool) (ops []store.Op, err error) {
	if s.notice.Attempts == 0 && !alone {
		s.gather()
	}
	if err := s.loadJoined(ctx); err != nil {
		return nil, err
	}
	useful := s.joined[:0]
	for _, j := range s.joined {
		_, why, err := s.stale(ctx, j.Stored)
		if err != nil {
			return nil, err
		}
		j.JoinedTo = s.notice.ID
		if why != "" {
			j.End(notice.Omitted, why)
		}
		ops = append(ops, j.Replace(s.company, j.version))
		if why == "" {
			j.version++
			useful = append(useful, j)
		}
	}
	s.joined = useful
	return ops, nil
}

// gather joins the other notices that wait for the end of the person's hour.
func (s *sending) gather() {
	rest := s.box.Delayed[:0:0]
	for _, id := range s.box.Delayed {
		switch {
		case id == s.notice.ID:
		case len(s.notice.Joined) < maxJoined:
			s.notice.Joined = append(s.notice.Joined, id)
		default:
			rest = append(rest, id)
		}
	}
	s.box.Delayed = rest
}

// loadJoined reads the notices that go in the same mail. Those that have ended meanwhile stay out.
func (s *sending) loadJoined(ctx context.Context) error {
	for _, id := range s.notice.Joined {
		var j joined
		item, err := s.company.Get(ctx, notice.Key(id), &j.Stored)
		if errors.Is(err, store.ErrNotFound) || err == nil && j.State != notice.Waiting {
			continue
		}
		if err != nil {
			return err
		}
		j.version = item.Version
		s.joined = append(s.joined, j)
	}
	return nil
}

// attempt sends the mail and stores what became of it.
func (s *sending) attempt(ctx context.Context) (due time.Time, err error) {
	m, kept, err := s.write(ctx)
	if err != nil {
		return time.Time{}, err
	}
	sendErr := s.Sender.Send(ctx, m)
	ctx = context.WithoutCancel(ctx) // what was sent is noted, also when the process ends
	var refused *mail.RefusedError
	switch {
	case sendErr == nil:
		s.end(notice.Sent, "")
		s.notice.SentAt, s.notice.Text = s.Now().UTC(), kept
		return time.Time{}, s.save(ctx, nil)
	case errors.As(sendErr, &refused):
		s.end(notice.Failed, refused.Error())
		if refused.BadAddress() {
			if err := s.refuse(ctx, s.company, s.person.ID, s.person.Email, user.MailRefused); err != nil {
				return time.Time{}, err
			}
		}
	case s.notice.Attempts >= maxAttempts:
		s.end(notice.Failed, "the mail host did not take it, in twelve tries")
	default:
		s.Logger.WarnContext(ctx, "mail not sent; it is tried again", "company", s.company.ID(), "notice", s.notice.ID, "error", sendErr)
		s.notice.ClaimedAt, s.notice.Reason = time.Time{}, "the mail host did not take it; it is tried again"
		s.notice.DueAt = s.Now().UTC().Add(backoff(s.notice.Attempts))
		due = s.notice.DueAt
	}
	return due, s.save(ctx, s.miss)
}

// Tries of one mail. They take about 20 hours.
const (
	maxAttempts = 12
	maxBackoff  = 4 * time.Hour
)

func backoff(attempts int) time.Duration {
	return min(time.Minute<<min(max(attempts-1, 0), 20), maxBackoff)
}

// end ends the notice, and those that went with it.
func (s *sending) end(state notice.State, reason string) {
	s.notice.End(state, reason)
	for i := range s.joined {
		j := &s.joined[i]
		j.End(state, reason)
		if state == notice.Sent {
			j.Reason, j.SentAt = "in one mail with others", s.Now().UTC()
		}
	}
}

// save stores the outcome. The notices that go with another one's mail are stored when that ends. edit changes the box; nil: it stays.
func (s *sending) save(ctx context.Context, edit func(*notice.Box)) error {
	ops := []store.Op{s.notice.Replace(s.company, s.version)}
	if s.notice.State != notice.Waiting {
		for _, j := range s.joined {
			ops = append(ops, j.Replace(s.company, j.version))
		}
	}
	for n := 0; edit != nil && n < tries; n++ {
		box, version, err := s.Notifier.box(ctx, s.company, s.owner())
		if err != nil {
			return err
		}
		edit(&box)
		err = s.company.Commit(ctx, append(slices.Clip(ops), box.Save(s.company, s.owner(), version))...)
		if !errors.Is(err, store.ErrConflict) { // another worker changed the box
			return err
		}
	}
	return s.company.Commit(ctx, ops...) // also when the box cannot be changed: the notice says more
}
