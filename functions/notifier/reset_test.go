package notifier_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"orgops/shared/domain/company"
	"orgops/shared/domain/notice"
	"orgops/shared/domain/user"
	"orgops/shared/identity/password"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
)

// member adds a user with a password to the company, and returns the id.
func (d *desk) member(email string) string {
	d.T.Helper()
	u, _, err := company.AddUser(d.T.Context(), d.Store, password.New(), d.company.ID(), company.NewUser{
		Email: email, Role: user.Member, Password: "correct horse battery staple",
	}, d.Clock.Now())
	errtest.Must(d.T, err)
	return u.ID
}

// asks notes a reset as POST /auth/reset does, with its notice to a user.
func (d *desk) asks(email, companyID, userID string) {
	d.T.Helper()
	now := d.Clock.Now()
	p := store.Login(email)
	item, _ := d.Store.Get(d.T.Context(), p, company.ResetKey)
	c := store.For(d.Store, companyID)
	ops := append(notice.ResetOf(companyID, userID, item.Version, now).Create(c), company.Reset{}.Ask(p, item.Version, now))
	errtest.Must(d.T, d.Store.Commit(d.T.Context(), ops...))
}

var (
	codeForm = regexp.MustCompile(`(?m)^[A-Z2-7]{26}$`)
	linkForm = regexp.MustCompile(`href="[^"]*"`)
)

// The mail brings a code that sets a new password, once. A repeated try brings the same code, and no later one comes.
func TestReset(t *testing.T) {
	t.Parallel()
	d := setup(t)
	bob := d.member("bob@acme.test")
	d.asks("bob@acme.test", d.company.ID(), bob)
	d.post.fails, d.post.lost = []error{errors.New("the connection was lost after the last line")}, true
	d.do(notice.Job{Notice: d.notices()[0].ID})
	if len(d.post.taken) != 2 {
		t.Fatalf("mails = %v, want one and its repeat", d.sent())
	}
	first, again := d.post.taken[0], d.post.taken[1]
	code := codeForm.FindString(first.Text)
	if code == "" {
		t.Fatalf("the mail has no code:\n%s", first.Text)
	}
	if got := codeForm.FindString(again.Text); got != code {
		t.Errorf("codes = %q and %q, want one code", code, got)
	}
	if first.FromName != "" {
		t.Errorf("the mail comes from %q, want from the service", first.FromName)
	}
	for _, m := range d.post.taken {
		if links := linkForm.FindAllString(m.HTML, -1); strings.Contains(strings.Join(links, " "), code) {
			t.Errorf("a link holds the code: %q", links)
		}
	}
	reset, err := company.OpenReset(t.Context(), d.Store, code, d.Clock.Now())
	errtest.Must(t, err)
	errtest.Must(t, reset.Set(t.Context(), d.Store, password.New(), "nine quiet otters read maps", d.Clock.Now()))
	if _, err := company.OpenReset(t.Context(), d.Store, code, d.Clock.Now()); err == nil {
		t.Error("the code opens the reset twice")
	}
	item, err := d.company.Get(t.Context(), notice.Key(d.notices()[0].ID), nil)
	errtest.Must(t, err)
	if strings.Contains(string(item.Body), code) {
		t.Errorf("the stored notice keeps the code: %s", item.Body)
	}
}

// A worker that is lost before it has claimed the notice loses no code: the next one makes it.
func TestReset_Lost(t *testing.T) {
	t.Parallel()
	d := setup(t)
	bob := d.member("bob@acme.test")
	d.asks("bob@acme.test", d.company.ID(), bob)
	job := notice.Job{Notice: d.notices()[0].ID}
	whole, broken := d.notifier, *d.notifier
	broken.Store = unsaved{d.Store, func(ops []store.Op) bool { return ops[0].Entity == notice.Entity }}
	d.notifier = &broken
	if _, err := d.once(job); err == nil {
		t.Fatal("a worker whose claim fails reports no error")
	}
	d.want()
	d.notifier = whole
	d.do(job)
	d.want("bob: Set a new password")
}

// The code comes although an earlier mail of the company came back or was unwanted: the person may belong to other companies, too.
func TestReset_Unwanted(t *testing.T) {
	t.Parallel()
	for _, with := range []user.MailRefusal{user.MailRefused, user.MailBounced, user.MailComplained} {
		t.Run(string(with), func(t *testing.T) {
			t.Parallel()
			d := setup(t)
			bob := d.member("bob@acme.test")
			u, version, err := company.GetUser(t.Context(), d.company, bob)
			errtest.Must(t, err)
			u.MailRefusedAt, u.MailRefusedWith = new(d.Clock.Now()), with
			errtest.Must(t, d.company.Commit(t.Context(), d.company.Replace(user.Key(bob), user.Entity, version, u)))
			d.asks("bob@acme.test", d.company.ID(), bob)
			d.sendAll()
			d.want("bob: Set a new password")
		})
	}
}

func TestReset_Refused(t *testing.T) {
	t.Parallel()
	t.Run("asked too long ago", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		bob := d.member("bob@acme.test")
		d.asks("bob@acme.test", d.company.ID(), bob)
		d.Clock.Advance(31 * time.Minute)
		d.sendAll()
		d.states("password-reset " + bob + " omitted the reset was used, or was asked for too long ago")
	})
	t.Run("an address that no person has", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		d.asks("nobody@acme.test", notice.Nowhere, "0198c5f2-0000-7000-8000-000000000001")
		d.company = store.For(d.Store, notice.Nowhere)
		d.do(notice.Job{Notice: d.notices()[0].ID})
		d.want()
		if left := d.notices(); len(left) != 0 {
			t.Errorf("%d notices are left, want none", len(left))
		}
	})
}
