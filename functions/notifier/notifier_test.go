package notifier_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"orgops/functions/notifier"
	"orgops/shared/domain/approval"
	"orgops/shared/domain/company"
	"orgops/shared/domain/delivery"
	"orgops/shared/domain/erasure"
	"orgops/shared/domain/integration"
	"orgops/shared/domain/notice"
	"orgops/shared/domain/policy"
	"orgops/shared/domain/timeline"
	"orgops/shared/domain/user"
	"orgops/shared/storage/mail"
	"orgops/shared/storage/queue"
	"orgops/shared/storage/store"
	"orgops/shared/testkit/errtest"
	"orgops/shared/testkit/worktest"
)

// post is a mail host that keeps what it takes, and fails as told.
type post struct {
	mu    sync.Mutex
	taken []mail.Message
	fails []error // of the next mails, after they were taken if lost
	lost  bool
}

func (p *post) Send(_ context.Context, m mail.Message) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.fails) > 0 {
		err := p.fails[0]
		p.fails = p.fails[1:]
		if p.lost {
			p.taken = append(p.taken, m)
		}
		return err
	}
	p.taken = append(p.taken, m)
	return nil
}

// desk is a notifier with one company.
type desk struct {
	*worktest.Harness
	notifier *notifier.Notifier
	post     *post
	company  store.Company
}

func setup(t *testing.T) *desk {
	t.Helper()
	h := worktest.New(t)
	h.Clock.Set(h.Clock.Now().Truncate(24 * time.Hour).Add(33 * time.Hour)) // 9:00, so that no test crosses a midnight by the hour at which it runs
	d := &desk{Harness: h, post: &post{}, company: store.For(h.Store, "acme")}
	d.notifier = &notifier.Notifier{
		Store: h.Store, Queue: h.Notices, Vault: h.Vault, Sender: d.post, Base: "https://orgops.test", Logger: slog.New(slog.DiscardHandler), Now: h.Clock.Now,
	}
	errtest.Must(t, d.company.Commit(t.Context(), d.company.Create(company.Key, company.Entity, company.Company{Name: "Acme", Plan: "pro"})))
	d.join("ada", user.Founder)
	return d
}

// join adds a user, whose address is the id at acme.test.
func (d *desk) join(id string, role user.Role) {
	d.T.Helper()
	u := user.User{ID: id, Email: id + "@acme.test", Role: role, State: user.Active, CreatedAt: d.Clock.Now().Add(-time.Hour)}
	errtest.Must(d.T, d.company.Commit(d.T.Context(), d.company.Create(user.Key(id), user.Entity, u)))
}

// prefer stores a user's preferences.
func (d *desk) prefer(id string, edit func(*notice.Preferences)) {
	d.T.Helper()
	p := notice.Defaults()
	edit(&p)
	errtest.Must(d.T, d.company.Commit(d.T.Context(), p.Save(d.company, id, 0)))
}

// do does a job until it asks for no other time. The clock goes on to each time that it asks for.
func (d *desk) do(j notice.Job) {
	d.T.Helper()
	for range 50 {
		due, err := d.once(j)
		errtest.Must(d.T, err)
		if due.IsZero() {
			return
		}
		d.Clock.Set(due)
	}
	d.T.Fatalf("job %+v does not end", j)
}

func (d *desk) once(j notice.Job) (time.Time, error) {
	d.T.Helper()
	j.Company = d.company.ID()
	return d.handle(j)
}

func (d *desk) handle(j notice.Job) (time.Time, error) {
	body, err := json.Marshal(j)
	if err != nil {
		return time.Time{}, err
	}
	return d.notifier.Handle(d.T.Context(), queue.Received{Message: queue.Message{Body: body}})
}

// tell does a matter and then sends all notices that are due, in their order.
func (d *desk) tell(m notice.Matter) {
	d.T.Helper()
	d.do(notice.Job{Matter: &m})
	d.sendAll()
}

func (d *desk) sendAll() {
	d.T.Helper()
	for _, n := range d.notices() {
		if n.State == notice.Waiting && !n.DueAt.After(d.Clock.Now()) {
			_, err := d.once(notice.Job{Notice: n.ID})
			errtest.Must(d.T, err)
		}
	}
}

func (d *desk) notices() (all []notice.Stored) {
	d.T.Helper()
	for item, err := range d.company.Items(d.T.Context(), store.Query{Prefix: notice.Prefix}) {
		errtest.Must(d.T, err)
		var n notice.Stored
		errtest.Must(d.T, item.Decode(&n))
		all = append(all, n)
	}
	return all
}

// sent lists the mails as "to: subject".
func (d *desk) sent() (all []string) {
	for _, m := range d.post.taken {
		all = append(all, strings.TrimSuffix(m.To, "@acme.test")+": "+m.Subject)
	}
	return all
}

func (d *desk) want(want ...string) {
	d.T.Helper()
	if diff := cmp.Diff(want, d.sent()); diff != "" {
		d.T.Errorf("mails differ (-want +got):\n%s", diff)
	}
}

// states lists the notices as "name user state".
func (d *desk) states(want ...string) {
	d.T.Helper()
	var got []string
	for _, n := range d.notices() {
		got = append(got, fmt.Sprintf("%s %s %s %s", n.Name, n.UserID, n.State, n.Reason))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		d.T.Errorf("notices differ (-want +got):\n%s", diff)
	}
}

func (d *desk) alert(about string, level int) notice.Matter {
	return notice.Matter{
		Kind: notice.Alert, Name: "endpoint-disabled", About: about, Level: level, Subject: about + " stopped", Why: "You may repair it.", To: notice.Deciders(),
		At: d.Clock.Now(), Content: notice.Content{Paragraphs: []string{"It stopped."}},
	}
}

// told does what a change of an item tells at once.
func (d *desk) told(entity string, was, is any) {
	d.T.Helper()
	image := func(v any) *store.Image {
		if v == nil {
			return nil
		}
		body, err := json.Marshal(v)
		errtest.Must(d.T, err)
		return &store.Image{Version: 1, Body: body}
	}
	due, err := notice.Due(store.Change{Company: d.company.ID(), Entity: entity, At: d.Clock.Now(), Old: image(was), New: image(is)})
	errtest.Must(d.T, err)
	for _, m := range due {
		if m.Due.IsZero() {
			_, err := d.notifier.Handle(d.T.Context(), queue.Received{Message: m})
			errtest.Must(d.T, err)
		}
	}
	d.sendAll()
}

// approval stores an approval that was asked for now, by a user or by "".
func (d *desk) approval(title, by string) approval.Approval {
	d.T.Helper()
	asks := timeline.Reference{Type: "integration", ID: "github"}
	if by != "" {
		asks = timeline.Reference{Type: user.Entity, ID: by}
	}
	a := approval.New(policy.Decision{ID: title, At: d.Clock.Now(), Action: "goal.update", Principal: asks, ActionDigest: title}, json.RawMessage(`{}`), title, asks)
	errtest.Must(d.T, d.company.Commit(d.T.Context(), a.Request(d.company, 0)...))
	return a
}

func TestTell(t *testing.T) {
	t.Parallel()
	t.Run("all whom it concerns, once", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		d.join("bob", user.Operator)
		d.join("eve", user.Member)
		d.tell(d.alert("webhook", 1))
		d.tell(d.alert("webhook", 1))
		d.want("ada: webhook stopped", "bob: webhook stopped")
		m := d.post.taken[0]
		if m.FromName != "Acme" {
			t.Errorf("sender = %s, want the company", m.FromName)
		}
		if m.Thread == "" {
			t.Error("the mail of an alert belongs to no conversation")
		}
	})
	t.Run("again when it is worse or on the next day", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		for _, level := range []int{1, 1, 2, 1} {
			d.Clock.Advance(time.Minute)
			d.tell(d.alert("webhook", level))
		}
		d.want("ada: webhook stopped", "ada: webhook stopped")
		d.Clock.Advance(24 * time.Hour)
		d.tell(d.alert("webhook", 1))
		d.want("ada: webhook stopped", "ada: webhook stopped", "ada: webhook stopped")
	})
	t.Run("a pause each time that it stands otherwise than was told", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		turns := func(paused ...bool) {
			for _, p := range paused {
				d.Clock.Advance(time.Minute)
				d.tell(notice.Paused("webhook", delivery.Turn{Paused: p, Since: d.Clock.Now()}, d.Clock.Now()))
			}
		}
		turns(true, true, false, false, true)
		d.want("ada: webhook does not take deliveries", "ada: webhook takes deliveries again")
		d.Clock.Advance(time.Hour)
		d.sendAll()
		d.want("ada: webhook does not take deliveries", "ada: webhook takes deliveries again", "ada: webhook does not take deliveries")
		turns(false, true, false)
		d.Clock.Advance(time.Hour)
		d.sendAll()
		if diff := cmp.Diff([]string{"ada: webhook takes deliveries again"}, d.sent()[3:]); diff != "" {
			t.Errorf("later mails differ (-want +got):\n%s", diff)
		}
	})
	t.Run("a pause that begins and ends all day, twice an hour at most", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		const hours = 8
		for n := range hours * 60 {
			d.Clock.Advance(time.Minute)
			d.tell(notice.Paused("webhook", delivery.Turn{Paused: n%2 == 0, Since: d.Clock.Now()}, d.Clock.Now()))
		}
		if got := len(d.sent()); got > 2*hours {
			t.Errorf("mails in %d hours = %d, want %d at most", hours, got, 2*hours)
		}
		if got := d.sent()[len(d.sent())-1]; got != "ada: webhook takes deliveries again" {
			t.Errorf("the last mail is %q, want how the endpoint stands", got)
		}
	})
	t.Run("an endpoint that is disabled again", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		works := integration.Integration{Provider: "webhook", Enabled: true, State: integration.Certified}
		off := works
		off.Disable(integration.DisabledFailing, d.Clock.Now())
		for _, turn := range [][2]integration.Integration{{works, off}, {off, works}, {works, off}} {
			d.Clock.Advance(2 * time.Hour)
			d.told(integration.Entity, turn[0], turn[1])
		}
		d.want("ada: webhook was disabled", "ada: webhook is enabled again", "ada: webhook was disabled")
	})
	t.Run("two things that expire at one integration", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		now := d.Clock.Now()
		ends, sooner := now.Add(6*24*time.Hour), now.Add(5*24*time.Hour)
		i := integration.Integration{
			Provider: "github", State: integration.Certified, Certification: &integration.Certification{ExpiresAt: ends}, Credentials: &integration.CredentialNames{ExpiresAt: &sooner},
		}
		for _, end := range []time.Time{ends, sooner} {
			m, _ := notice.Expiring(i, end, now)
			d.tell(m)
		}
		d.want("ada: github: the certification soon expires", "ada: github: the credentials soon expire")
	})
	t.Run("not who wants none", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		d.prefer("ada", func(p *notice.Preferences) { p.Channels.Alert = nil })
		d.tell(d.alert("webhook", 1))
		d.states()
	})
	t.Run("quiet hours delay", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		d.Clock.Set(time.Date(2126, 3, 2, 22, 30, 0, 0, time.UTC))
		d.prefer("ada", func(p *notice.Preferences) { p.Quiet = &notice.Quiet{From: "22:00", To: "07:00"} })
		d.tell(d.alert("webhook", 1))
		d.want()
		d.do(notice.Job{Notice: d.notices()[0].ID})
		d.want("ada: webhook stopped")
		if got := d.Clock.Now().Format("15:04"); got != "07:00" {
			t.Errorf("sent at %s, want at the end of the quiet hours", got)
		}
	})
}

// What was to go before the quiet hours, but could not, waits for their end: behind ten others of the hour, or because the host was away.
func TestTell_Quiet(t *testing.T) {
	t.Parallel()
	d := setup(t)
	fake := d.channel()
	for _, of := range []string{"ada", notice.Everyone} {
		d.prefer(of, func(p *notice.Preferences) { p.Quiet = &notice.Quiet{From: "22:00", To: "07:00"} })
	}
	d.Clock.Set(time.Date(2126, 3, 2, 21, 59, 0, 0, time.UTC))
	d.fill()
	d.tell(d.alert("late", 1))
	d.post.fails = []error{errors.New("451")}
	escalated := d.alert("at any time", 1)
	escalated.Always = true
	for _, at := range []time.Time{time.Date(2126, 3, 2, 22, 1, 0, 0, time.UTC), time.Date(2126, 3, 2, 23, 30, 0, 0, time.UTC), time.Date(2126, 3, 3, 6, 59, 0, 0, time.UTC)} {
		d.Clock.Set(at)
		d.sendAll()
	}
	if got := []int{len(d.sent()), len(fake.Posted())}; !slices.Equal(got, []int{notice.PerHour, notice.PerHour}) {
		t.Errorf("mails and messages before the end of the quiet hours = %v, want %d each", got, notice.PerHour)
	}
	d.post.fails = nil
	d.tell(escalated)
	d.Clock.Set(time.Date(2126, 3, 3, 7, 0, 0, 0, time.UTC))
	d.later()
	if diff := cmp.Diff([]string{"ada: at any time stopped", "ada: late stopped"}, d.sent()[notice.PerHour:]); diff != "" {
		t.Errorf("later mails differ (-want +got):\n%s", diff)
	}
}

func TestApproval(t *testing.T) {
	t.Parallel()
	t.Run("reminded, then every founder from the half of its time", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		d.join("bob", user.Founder)
		d.join("kim", user.Operator)
		d.prefer("bob", func(p *notice.Preferences) {
			p.Channels.Approval = nil
			p.Quiet = &notice.Quiet{From: "00:00", To: "23:59"}
		})
		a := d.approval("Ship", "ada")
		d.tell(notice.Asked(a, 0))
		d.want(`kim: Approval asked: goal.update "Ship"`)
		d.Clock.Advance(6 * time.Hour)
		d.do(notice.Job{Approval: a.ID, Step: 1})
		d.sendAll()
		for step := 2; step <= len(notice.Reminders()); step++ {
			d.Clock.Advance(6 * time.Hour)
			d.do(notice.Job{Approval: a.ID, Step: step})
			d.sendAll()
		}
		d.want(`kim: Approval asked: goal.update "Ship"`, `kim: Approval still waits: goal.update "Ship"`, `bob: Approval still waits: goal.update "Ship"`,
			`bob: Approval soon expires: goal.update "Ship"`)
		d.do(notice.Job{Approval: a.ID, Step: len(notice.Reminders()) + 1})
	})
	t.Run("told when it has expired", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		a := d.approval("Ship", "")
		d.tell(notice.Asked(a, 0))
		d.Clock.Advance(approval.Waits + time.Minute)
		ops, err := approval.Expire(t.Context(), d.company, a.ID, d.Clock.Now())
		errtest.Must(t, err)
		errtest.Must(t, d.company.Commit(t.Context(), ops...))
		d.tell(notice.Expired(a))
		d.want(`ada: Approval asked: goal.update "Ship"`, `ada: Approval expired: goal.update "Ship"`)
	})
	t.Run("not once it is decided", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		a := d.approval("Ship", "")
		d.do(notice.Job{Matter: new(notice.Asked(a, 0))})
		ops, err := a.End(approval.Rejected, approval.Answer{At: d.Clock.Now()}).Settle(t.Context(), d.company, 1)
		errtest.Must(t, err)
		errtest.Must(t, d.company.Commit(t.Context(), ops...))
		d.sendAll()
		d.do(notice.Job{Approval: a.ID, Step: 1})
		d.want()
		d.states("approval-requested ada omitted it was decided meanwhile")
	})
	t.Run("an erasure, to those who decide and to the one who asked", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		fake := d.channel()
		d.join("bob", user.Founder)
		d.prefer("bob", func(p *notice.Preferences) { p.Quiet = &notice.Quiet{From: "00:00", To: "23:59"} })
		asks := timeline.Reference{Type: user.Entity, ID: "ada"}
		a := approval.New(policy.Decision{ID: "a1", At: d.Clock.Now(), Action: erasure.Action, Principal: asks, ActionDigest: "a1"}, json.RawMessage(`{}`), "Acme", asks)
		errtest.Must(t, d.company.Commit(t.Context(), a.Request(d.company, 0)...))
		d.told(approval.Entity, nil, a)
		got := d.sent() // their notices have one time
		slices.Sort(got)
		if diff := cmp.Diff([]string{"ada: You asked for the erasure of Acme", "bob: Erasure of Acme was asked for"}, got); diff != "" {
			t.Errorf("mails differ (-want +got):\n%s", diff)
		}
		wantPosted(t, fake, "Erasure of Acme was asked for")
	})
	t.Run("an erasure on which no other person may decide, once", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		asks := timeline.Reference{Type: user.Entity, ID: "ada"}
		a := approval.New(policy.Decision{ID: "a1", At: d.Clock.Now(), Action: erasure.Action, Principal: asks, ActionDigest: "a1"}, json.RawMessage(`{}`), "Acme", asks)
		errtest.Must(t, d.company.Commit(t.Context(), a.Request(d.company, 0)...))
		d.told(approval.Entity, nil, a)
		d.want("ada: No one may approve: " + erasure.Action)
		if text := d.post.taken[0].Text; !strings.Contains(text, "choose a new password") {
			t.Errorf("the mail does not say what to do about a request of another:\n%s", text)
		}
	})
	t.Run("nobody may decide", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		d.tell(notice.Asked(d.approval("Ship", "ada"), 0))
		d.want("ada: No one may approve: goal.update")
	})
}

// The founders are told of an export by a person, once a day: the person, and the others.
func TestExported(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.join("bob", user.Founder)
	d.join("kim", user.Operator)
	export := func(by string) {
		d.Clock.Advance(time.Minute)
		d.do(notice.Job{Exporter: by, At: d.Clock.Now()})
		d.sendAll()
	}
	const own, adas, bobs = "ada: Your export of Acme is ready", "ada: An export of Acme is complete", "bob: An export of Acme is complete"
	for _, tt := range []struct {
		by   string
		want []string
	}{
		{"ada", []string{own, bobs}}, {"ada", []string{own, bobs}}, {"eve, who has left since", []string{adas, own, bobs, bobs}},
	} {
		export(tt.by)
		if diff := cmp.Diff(tt.want, slices.Sorted(slices.Values(d.sent()))); diff != "" {
			t.Errorf("after an export by %s: mails differ (-want +got):\n%s", tt.by, diff)
		}
	}
}

// A notice whose tries never come to an end, because its worker is lost each time, is given up after twelve.
func TestSend_Endless(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.do(notice.Job{Matter: new(d.alert("webhook", 1))})
	whole, broken := d.notifier, *d.notifier
	broken.Store = unsaved{d.Store, func(ops []store.Op) bool { return len(ops) == 1 }}
	d.notifier = &broken
	for range 12 {
		if _, err := d.once(notice.Job{Notice: d.notices()[0].ID}); err == nil {
			t.Fatal("a worker whose write fails reports no error")
		}
		d.Clock.Advance(notice.ClaimTime)
	}
	d.notifier = whole
	d.sendAll()
	d.states("endpoint-disabled ada failed it was begun twelve times, and no try came to an end")
}

func TestSend_Limits(t *testing.T) {
	t.Parallel()
	t.Run("ten an hour, the rest in one", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		for n := range 14 {
			d.tell(d.alert(fmt.Sprintf("webhook-%02d", n), 1))
		}
		if got := len(d.post.taken); got != notice.PerHour {
			t.Fatalf("mails within the hour = %d, want %d", got, notice.PerHour)
		}
		d.Clock.Advance(time.Hour)
		d.sendAll()
		d.sendAll()
		if got := d.sent()[notice.PerHour:]; !slices.Equal(got, []string{"ada: 4 notices"}) {
			t.Fatalf("mails after the hour = %v, want one of 4 notices", got)
		}
		last := d.post.taken[notice.PerHour]
		for _, want := range []string{"webhook-10 stopped", "webhook-13 stopped"} {
			for _, text := range []string{last.Text, last.HTML} {
				if !strings.Contains(text, want) {
					t.Errorf("the mail lacks %q:\n%s", want, text)
				}
			}
		}
		for _, n := range d.notices() {
			if n.State != notice.Sent {
				t.Errorf("notice %s is %s, want sent", n.About, n.State)
			}
		}
	})
	t.Run("a month", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		used := notice.Count{Mails: notice.Monthly("pro")}
		errtest.Must(t, d.company.Commit(t.Context(), used.Save(d.company, 0, d.Clock.Now())))
		d.tell(d.alert("webhook", 1))
		d.states("endpoint-disabled ada omitted the company has used up the mails of the month")
	})
	t.Run("invitations of a day to one address", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		for n := range 4 {
			d.Clock.Advance(time.Minute)
			d.invite(fmt.Sprintf("eve%d", n), "eve@acme.test")
		}
		d.sendAll()
		d.want("eve: Invitation to Acme", "eve: Invitation to Acme", "eve: Invitation to Acme")
	})
}

// invite stores an invited user with the notice that brings the code "secret-<id>".
func (d *desk) invite(id, email string) {
	d.T.Helper()
	until := d.Clock.Now().Add(24 * time.Hour)
	u := user.User{ID: id, Email: email, Role: user.Member, State: user.Invited, CreatedAt: d.Clock.Now(), InvitedUntil: &until}
	n := notice.Invited(u, "Acme")
	var err error
	n.Code, err = d.Vault.Seal(d.T.Context(), d.company.ID(), notice.CodeLabel(n.ID), []byte("secret-"+id))
	errtest.Must(d.T, err)
	errtest.Must(d.T, d.company.Commit(d.T.Context(), append(n.Create(d.company), d.company.Create(user.Key(id), user.Entity, u).Until(until))...))
}

// The code reaches the invited person, and nothing that is kept holds it.
func TestSend_Code(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.invite("eve", "eve@acme.test")
	d.sendAll()
	if len(d.post.taken) != 1 {
		t.Fatalf("mails = %v, want one", d.sent())
	}
	m := d.post.taken[0]
	for _, text := range []string{m.Text, m.HTML} {
		if !strings.Contains(text, "secret-eve") {
			t.Errorf("the mail lacks the code:\n%s", text)
		}
		for _, not := range []string{"#/invitation/", "=secret-eve"} {
			if strings.Contains(text, not) {
				t.Errorf("a link holds the code:\n%s", text)
			}
		}
	}
	item, err := d.company.Get(t.Context(), notice.Key(d.notices()[0].ID), nil)
	errtest.Must(t, err)
	for _, not := range []string{"secret-eve", `"code":`} {
		if strings.Contains(string(item.Body), not) {
			t.Errorf("the stored notice keeps the code: %s", item.Body)
		}
	}
}

// A worker that is lost after the host took the mail sends it once more, under the same Message-ID, and not sooner than the claim ends.
func TestSend_Lost(t *testing.T) {
	t.Parallel()
	d := setup(t)
	d.do(notice.Job{Matter: new(d.alert("webhook", 1))})
	job := notice.Job{Notice: d.notices()[0].ID}
	d.post.fails, d.post.lost = []error{errors.New("connection lost")}, true
	broken := *d.notifier
	broken.Store = unsaved{d.Store, func(ops []store.Op) bool {
		return !slices.ContainsFunc(ops, func(op store.Op) bool { return op.Entity == notice.CountEntity }) // all but the claim
	}}
	whole := d.notifier
	d.notifier = &broken
	if _, err := d.once(job); err == nil {
		t.Fatal("a worker whose write fails reports no error")
	}
	d.notifier = whole
	due, err := d.once(job)
	errtest.Must(t, err)
	if want := d.Clock.Now().Add(notice.ClaimTime); !due.Equal(want) {
		t.Errorf("due = %s, want %s, when the claim ends", due, want)
	}
	d.do(job)
	if a, b := d.post.taken[0].ID, d.post.taken[len(d.post.taken)-1].ID; a != b {
		t.Errorf("ids of the mails = %s and %s, want one id", a, b)
	}
	d.do(job)
	d.want("ada: webhook stopped", "ada: webhook stopped")
}

// unsaved fails some writes, as a process that is killed before them does.
type unsaved struct {
	store.Store
	fails func([]store.Op) bool
}

func (s unsaved) Commit(ctx context.Context, ops ...store.Op) error {
	if s.fails(ops) {
		return store.ErrUnavailable
	}
	return s.Store.Commit(ctx, ops...)
}

func TestSend_Failures(t *testing.T) {
	t.Parallel()
	t.Run("tried again", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		d.post.fails = []error{errors.New("451"), errors.New("451")}
		d.do(notice.Job{Matter: new(d.alert("webhook", 1))})
		d.do(notice.Job{Notice: d.notices()[0].ID})
		d.want("ada: webhook stopped")
		if n := d.notices()[0]; n.Attempts != 3 {
			t.Errorf("attempts = %d, want 3", n.Attempts)
		}
		d.states("endpoint-disabled ada sent ")
	})
	t.Run("no mailbox", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		d.post.fails = []error{&mail.RefusedError{Code: 550, Enhanced: "5.1.1"}}
		d.tell(d.alert("webhook", 1))
		d.Clock.Advance(time.Minute)
		d.tell(d.alert("other", 1))
		d.want()
		d.states("endpoint-disabled ada failed the mail was refused for good: 550 5.1.1", "endpoint-disabled ada omitted the person's address refuses mails")
		u, _, err := company.GetUser(t.Context(), d.company, "ada")
		errtest.Must(t, err)
		if got := refusal(u); got != user.MailRefused {
			t.Errorf("mails are refused with %q, want refused", got)
		}
	})
	t.Run("no settings", func(t *testing.T) {
		t.Parallel()
		d := setup(t)
		d.notifier.Sender = nil
		d.tell(d.alert("webhook", 1))
		d.states("endpoint-disabled ada omitted the service has no mail settings")
	})
}

// Hostile titles reach no header and no markup.
func TestSend_Hostile(t *testing.T) {
	t.Parallel()
	d := setup(t)
	title := "Ship\r\nBcc: eve@evil.test <script>alert(1)</script> \u202Egnp.exe https://аррӏе.com/ www.evil.test"
	d.tell(notice.Asked(d.approval(title, ""), 0))
	if len(d.post.taken) != 1 {
		t.Fatalf("mails = %v, want one", d.sent())
	}
	m := d.post.taken[0]
	for _, not := range []string{"\r", "\n", "\u202E", "evil.test", "аррӏе"} {
		if strings.Contains(m.Subject, not) {
			t.Errorf("subject %q has %q", m.Subject, not)
		}
	}
	for _, not := range []string{"<script>", "\u202E", "evil.test", "аррӏе"} {
		if strings.Contains(m.HTML, not) {
			t.Errorf("the HTML has %q:\n%s", not, m.HTML)
		}
	}
}
